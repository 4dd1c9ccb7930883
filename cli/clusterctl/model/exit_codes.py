"""The exit codes: a public table, never a count. docs/reference/exit-codes.md is generated from it."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the exit status of every clusterctl command means."""

    OK = 0
    UNEXPECTED = 1
    USAGE = 2
    CONFIG = 3
    UNREACHABLE = 4
    ROLE_FAILED = 5
    VALIDATOR_FAILED = 6
    GATE_FAILED = 7
    CHANGES_PENDING = 8
    INTERRUPTED = 9


MEANINGS: dict[ExitCode, str] = {
    ExitCode.OK: "the command did what was requested, and everything is as declared",
    ExitCode.UNEXPECTED: "the record (database, state directory) cannot be used, output was lost, or an unexpected error in clusterctl itself",
    ExitCode.USAGE: "the command line is wrong",
    ExitCode.CONFIG: "inventory, profile or configuration is invalid, a path cannot be used, or the target is empty",
    ExitCode.UNREACHABLE: "a node could not be reached",
    ExitCode.ROLE_FAILED: "a role failed on a node",
    ExitCode.VALIDATOR_FAILED: "a validator failed, or could not run, on a node",
    ExitCode.GATE_FAILED: "a burn-in gate failed, or could not run, on a node",
    ExitCode.CHANGES_PENDING: "drift, or changes pending",
    ExitCode.INTERRUPTED: "interrupted or timed out; the state of the nodes is recorded",
}

PRECEDENCE = (
    ExitCode.UNEXPECTED,
    ExitCode.INTERRUPTED,
    ExitCode.USAGE,
    ExitCode.CONFIG,
    ExitCode.UNREACHABLE,
    ExitCode.ROLE_FAILED,
    ExitCode.VALIDATOR_FAILED,
    ExitCode.GATE_FAILED,
    ExitCode.CHANGES_PENDING,
    ExitCode.OK,
)


def worst(codes: list[ExitCode]) -> ExitCode:
    """The exit code for several outcomes: the first in the documented precedence that occurs."""
    return min(codes, key=PRECEDENCE.index, default=ExitCode.OK)
