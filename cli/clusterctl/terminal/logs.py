"""The logs of nodes: a line per entry, each with the name of its node, or the document `logs`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from clusterctl.model.documents import LogsDocument
from clusterctl.model.node_log import LogOutcome
from clusterctl.terminal import out
from clusterctl.terminal.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterctl.model.node_log import HostLogEntry, LogWindow, NodeLog

_TOO_LONG = "(longer than 4,096 bytes, so journald does not print it)"


def show_node_logs(logs: Sequence[NodeLog], window: LogWindow, output: str) -> None:
    """Print them."""
    if output != "table":
        out.emit(output, "logs", asdict(LogsDocument(window.journal, window.since_s, window.until_s, window.entries, tuple(logs))))
        return
    width = max((len(log.name) for log in logs), default=0)
    out.print_lines(f"{log.name:<{width}}  {printable(line)}\n" for log in logs for line in _lines_of(log, window))


def _lines_of(log: NodeLog, window: LogWindow) -> Iterator[str]:
    if log.outcome is not LogOutcome.READ:
        yield f"{'not reached' if log.outcome is LogOutcome.UNREACHABLE else 'not read'}: {log.problem}"
        return
    if log.truncated:
        yield f"older entries are left out: these are the newest {window.entries} {_when(window)} (--lines)"
    if log.problem:
        yield f"not read to the end, older entries may be missing: {log.problem}"
    if log.unreadable:
        yield f"lines that are not entries, and are not shown: {log.unreadable}"
    if not log.entries:
        yield f"no entries {_when(window)} ({log.source})"
    boot = log.entries[0].boot if log.entries else ""
    for entry in log.entries:
        if entry.boot and entry.boot != boot:
            boot = entry.boot
            yield f"another boot: {boot}"
        yield _line(entry)


def _line(entry: HostLogEntry) -> str:
    return f"{entry.at}  {entry.level or '-':<7} {entry.program or '-'}: {_TOO_LONG if entry.message is None else entry.message}"


def _when(window: LogWindow) -> str:
    if window.until_s:
        return f"from {_span(window.since_s)} to {_span(window.until_s)} ago"
    return f"in the last {_span(window.since_s)}"


def _span(seconds: int) -> str:
    size, unit = next((s, u) for s, u in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")) if seconds % s == 0)
    return f"{seconds // size} {unit}"
