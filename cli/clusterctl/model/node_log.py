"""The log of a node: what its journal or its kernel has kept, within a time and a number of entries."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class LogOutcome(StrEnum):
    """How reading it ended: `unreachable`, no SSH; `not_read`, the node has no log that could be read."""

    READ = "read"
    UNREACHABLE = "unreachable"
    NOT_READ = "not_read"


class LogSource(StrEnum):
    """What keeps the entries."""

    JOURNAL = "journal"
    DMESG = "dmesg"


@dataclass(frozen=True, slots=True)
class LogWindow:
    """What is wanted of each node: the newest `entries` from `since_s` to `until_s` seconds before now; of the kernel, or with `journal` of all programs."""

    since_s: int
    entries: int
    journal: bool = False
    until_s: int = 0


@dataclass(frozen=True, slots=True)
class HostLogEntry:
    """One entry.

    Attributes:
        at: when it was logged, by the clock of the node, in UTC.
        boot: id of the boot; empty if the log has none.
        level: emerg, alert, crit, err, warn, notice, info or debug; empty if the log has none.
        program: `kernel`, or the name of the program.
        message: without secrets; null if journald did not print it because it is longer than 4,096 bytes.
    """

    at: str
    boot: str
    level: str
    program: str
    message: str | None


@dataclass(frozen=True, slots=True)
class NodeLog:
    """The log of one node.

    Attributes:
        outcome: `read`, `unreachable` or `not_read`.
        problem: why it was not read, or not to its end.
        source: what the entries are from: `journal` or `dmesg`; null if it was not read.
        truncated: older entries of this span of time are left out.
        unreadable: lines of the output that are not entries, for one because they were cut off.
        entries: oldest first.
    """

    name: str
    outcome: LogOutcome
    problem: str = ""
    source: LogSource | None = None
    truncated: bool = False
    unreadable: int = 0
    entries: tuple[HostLogEntry, ...] = ()
