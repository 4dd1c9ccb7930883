"""Read the log of a node: one SSH exec of journalctl, and one of dmesg where the journal has nothing of the kernel. Both only read."""

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

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterctl.adapters.ssh.ssh import SshClient, SshSession
    from clusterctl.model.node import Node

# 2,000 messages of 4,096 printable bytes; a message of other bytes is printed as numbers and takes four times as much
_LIMIT_BYTES = 16 * 1024 * 1024
_WHY_LIMIT = 300
_ENVIRONMENT = ("env", "LC_ALL=C", "TZ=UTC")
# --reverse: with --since, journalctl of systemd 252 takes the oldest and not the newest of --lines. Without -q it states what it may not read.
_JOURNAL = ("journalctl", "--no-pager", "--reverse", "-o", "json", "--output-fields=MESSAGE,PRIORITY,SYSLOG_IDENTIFIER,_COMM")
# What the kernel logged in any boot, and journald's notes that it missed some of it (SD_MESSAGE_JOURNAL_MISSED).
_KERNEL = ("_TRANSPORT=kernel", "+", "_TRANSPORT=driver", "MESSAGE_ID=e9bf28e6e834481bb6f48f548ad13606")
# The time of the node: dmesg has --since only from util-linux 2.37 on.
_DMESG = ("sh", "-c", "date +%s; exec dmesg --decode --time-format iso")


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
    wanted = (f"--since=-{window.since_s}s", f"--lines={window.entries + 1}", *(() if window.journal else _KERNEL))
    result = await session.run((*_ENVIRONMENT, *_JOURNAL, *wanted), b"", _LIMIT_BYTES)
    journal = _from_journal(name, window, result)
    if window.journal or journal.entries:
        return journal
    # journald may be missing, or not collect what the kernel logs: the kernel's own buffer has it then
    second = await session.run((*_ENVIRONMENT, *_DMESG), b"", _LIMIT_BYTES)
    if second.rc == 0:
        return _from_dmesg(name, window, second.stdout.decode("utf-8", "replace"))
    if journal.outcome is LogOutcome.READ:
        return journal
    return replace(journal, problem=f"{journal.problem}; {_why('dmesg', second)}")


def _from_journal(name: str, window: LogWindow, result: RemoteResult) -> NodeLog:
    newest_first, unreadable = journal_entries(result.stdout.decode("utf-8", "replace"))
    # A journal that may not be read is an exit status of 1, or a message beside an output without entries.
    if not newest_first and (result.rc != 0 or result.stderr.strip()):
        return NodeLog(name, LogOutcome.NOT_READ, _why("journalctl", result), unreadable=unreadable)
    return NodeLog(
        name,
        LogOutcome.READ,
        problem=_why("journalctl", result) if result.rc != 0 else "",
        source=LogSource.JOURNAL,
        truncated=len(newest_first) > window.entries,
        unreadable=unreadable,
        entries=newest_first[: window.entries][::-1],
    )


def _from_dmesg(name: str, window: LogWindow, text: str) -> NodeLog:
    now, _, log = text.partition("\n")
    entries, unreadable = dmesg_entries(log)
    now_at = of_microseconds(f"{now.strip()}000000")
    if not now_at:
        return NodeLog(name, LogOutcome.NOT_READ, f"dmesg: the node prints no time: {now[:_WHY_LIMIT]!r}", unreadable=unreadable)
    begin = after(now_at, -window.since_s)
    within = tuple(entry for entry in entries if entry.at >= begin)
    return NodeLog(
        name,
        LogOutcome.READ,
        source=LogSource.DMESG,
        truncated=len(within) > window.entries,
        unreadable=unreadable,
        entries=within[-window.entries :],
    )


def _why(tool: str, result: RemoteResult) -> str:
    said = " ".join(result.stderr.decode("utf-8", "replace").split())[:_WHY_LIMIT]
    return f"{tool}: {said or 'it printed nothing'} (exit status {result.rc})"
