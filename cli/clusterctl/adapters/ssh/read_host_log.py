"""Read the log of a node: one SSH exec of journalctl; more, and dmesg, only where that has no entries. All of them only read."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.adapters.ssh.remote_result import RemoteResult, TransportError, TransportFailure
from clusterctl.core.parsers.host_log import dmesg_entries, journal_entries
from clusterctl.core.redact import Redactor
from clusterctl.core.timestamps import after, of_microseconds
from clusterctl.model.errors import ConfigError
from clusterctl.model.node_log import HostLogEntry, LogOutcome, LogSource, LogWindow, NodeLog
from clusterctl_tools.log_commands import dmesg_argv, newest_entries_argv

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clusterctl.adapters.ssh.ssh import SshClient, SshSession
    from clusterctl.model.node import Node

# 2,000 messages of 4,096 printable bytes; a message of other bytes is printed as numbers and takes four times as much
_LIMIT_BYTES = 16 * 1024 * 1024
_WHY_LIMIT = 300
_EMPTY = {True: "journalctl: the journal keeps no entry of the kernel", False: "journalctl: the journal keeps no entry"}


async def read_host_log(client: SshClient, node: Node, window: LogWindow, limit_s: float, become_password: str = "") -> NodeLog:
    """The log of a node, or why there is none."""
    try:
        async with asyncio.timeout(limit_s):
            session = await client.connect(node.connection, become_password)
            try:
                found = await _read(session, node.name, window)
            finally:
                session.close()
    except TimeoutError:
        return NodeLog(node.name, LogOutcome.UNREACHABLE, f"no answer within {limit_s:g} s")
    except TransportError as e:
        outcome = LogOutcome.NOT_READ if e.failure is TransportFailure.TOO_MUCH_OUTPUT else LogOutcome.UNREACHABLE
        return NodeLog(node.name, outcome, e.detail)
    except ConfigError as e:
        return NodeLog(node.name, LogOutcome.UNREACHABLE, str(e))
    masked = Redactor((become_password,) if become_password else ())
    return replace(found, problem=masked(found.problem), entries=tuple(_redacted(entry, masked) for entry in found.entries))


def _redacted(entry: HostLogEntry, masked: Callable[[str], str]) -> HostLogEntry:
    return replace(entry, message=entry.message and masked(entry.message), program=masked(entry.program))


async def _read(session: SshSession, name: str, window: LogWindow) -> NodeLog:
    kernel = not window.journal
    journal = _from_journal(name, window, await _run(session, _journal_argv(window)))
    if journal.entries:
        return journal
    why = journal.problem
    if kernel:
        # journald may be missing, or not collect what the kernel logs: the kernel's own buffer has it then
        log = _from_dmesg(name, window, await _run(session, dmesg_argv()))
        if log.outcome is LogOutcome.READ:
            return log
        why = "; ".join(filter(None, (why, log.problem)))
    if journal.outcome is LogOutcome.READ and not await _keeps_anything(session, kernel=kernel):
        return NodeLog(name, LogOutcome.NOT_READ, "; ".join(filter(None, (_EMPTY[kernel], why))), unreadable=journal.unreadable)
    return replace(journal, problem=why) if journal.problem else journal


def _journal_argv(window: LogWindow) -> list[str]:
    return newest_entries_argv(window.entries + 1, window.since_s, window.until_s, kernel=not window.journal)


async def _keeps_anything(session: SshSession, *, kernel: bool) -> bool:
    """Whether the journal has an entry of any time: one without is not a node that logged nothing."""
    result = await _run(session, newest_entries_argv(1, kernel=kernel))
    return bool(journal_entries(result.stdout.decode("utf-8", "replace"))[0])


async def _run(session: SshSession, argv: Sequence[str]) -> RemoteResult:
    return await session.run(argv, b"", _LIMIT_BYTES)


def _from_journal(name: str, window: LogWindow, result: RemoteResult) -> NodeLog:
    newest_first, unreadable = journal_entries(result.stdout.decode("utf-8", "replace"))
    # A journal that may not be read is an exit status of 1, or a message beside an output without entries.
    if not newest_first and (result.rc != 0 or result.stderr.strip()):
        return NodeLog(name, LogOutcome.NOT_READ, _why("journalctl", result), unreadable=unreadable)
    return NodeLog(
        name,
        LogOutcome.READ,
        problem=_why("journalctl", result, "it ended early") if result.rc != 0 else "",
        source=LogSource.JOURNAL,
        truncated=len(newest_first) > window.entries,
        unreadable=unreadable,
        entries=newest_first[: window.entries][::-1],
    )


def _from_dmesg(name: str, window: LogWindow, result: RemoteResult) -> NodeLog:
    now, _, log = result.stdout.decode("utf-8", "replace").partition("\n")
    entries, unreadable = dmesg_entries(log)
    now_at = of_microseconds(f"{now.strip()}000000")
    # A kernel that runs has logged something: an empty buffer was cleared, or is not that of the node.
    if result.rc != 0 or not entries or not now_at:
        return NodeLog(name, LogOutcome.NOT_READ, _why("dmesg", result), unreadable=unreadable)
    begin, end = after(now_at, -window.since_s), after(now_at, -window.until_s) if window.until_s else ""
    within = tuple(entry for entry in entries if entry.at >= begin and not (end and entry.at > end))
    return NodeLog(
        name,
        LogOutcome.READ,
        source=LogSource.DMESG,
        truncated=len(within) > window.entries,
        unreadable=unreadable,
        entries=within[-window.entries :],
    )


def _why(tool: str, result: RemoteResult, otherwise: str = "no entries that can be read") -> str:
    printed = " ".join(result.stderr.decode("utf-8", "replace").split())[:_WHY_LIMIT]
    return f"{tool}: {printed or otherwise} (exit status {result.rc})"
