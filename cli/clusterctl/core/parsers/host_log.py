"""Entries of a node's log: `journalctl -o json` as systemd's Journal JSON Format has it, and `dmesg --time-format iso` of util-linux.

Any text is read: a line that is not an entry is counted.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from clusterctl.core.timestamps import in_utc, of_microseconds
from clusterctl.model.node_log import HostLogEntry

LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")
_LARGEST_BYTE = 255
# `kern  :warn  : ` is there with --decode; `,123456` is the comma of util-linux.
_DMESG = re.compile(
    r"(?:(?P<facility>[a-z0-9]+)\s*:(?P<level>[a-z]+)\s*:\s)?(?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{6}[+-]\d\d:\d\d) (?P<message>.*)",
    re.ASCII,
)


def journal_entries(text: str) -> tuple[tuple[HostLogEntry, ...], int]:
    """Entries in the order of the output, and the number of lines that are none."""
    entries: list[HostLogEntry] = []
    unreadable = 0
    # Not splitlines: JSON leaves line separators of Unicode in a string as they are.
    for line in text.split("\n"):
        if not line.strip() or line.startswith("-- "):  # `-- No entries --` and the like, by journalctl itself
            continue
        entry = _journal_entry(line)
        if entry is None:
            unreadable += 1
        else:
            entries.append(entry)
    return tuple(entries), unreadable


def _journal_entry(line: str) -> HostLogEntry | None:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    at = of_microseconds(_text(fields.get("__REALTIME_TIMESTAMP"))) if isinstance(fields, dict) else ""
    if not at:
        return None
    level = _text(fields.get("PRIORITY"))
    return HostLogEntry(
        at=at,
        boot=_text(fields.get("_BOOT_ID")),
        level=LEVELS[int(level)] if level in tuple("01234567") else "",
        program=_text(fields.get("SYSLOG_IDENTIFIER")) or _text(fields.get("_COMM")),
        message=None if fields.get("MESSAGE", "") is None else _text(fields.get("MESSAGE")),
    )


def _text(value: Any) -> str:
    """A field: text, an array of bytes where it is not printable, or an array of these where it has several values."""
    if isinstance(value, str):
        # half of a character pair can be neither printed nor stored
        return value.encode("utf-8", "replace").decode("utf-8")
    if not isinstance(value, list):
        return ""
    if all(type(b) is int and 0 <= b <= _LARGEST_BYTE for b in value):
        return bytes(value).decode("utf-8", "replace")
    return "\n".join(_text(one) for one in value if not isinstance(one, list) or _flat(one))


def _flat(value: list[Any]) -> bool:
    return not any(isinstance(one, list) for one in value)


def dmesg_entries(text: str) -> tuple[tuple[HostLogEntry, ...], int]:
    """Entries in the order of the output, and the number of lines that belong to none. A line without a time goes on with the message before it."""
    entries: list[tuple[HostLogEntry, list[str]]] = []
    unreadable = 0
    for line in text.split("\n"):
        entry = _dmesg_entry(line)
        if entry is not None:
            entries.append((entry, []))
        elif entries and line.strip():
            entries[-1][1].append(_text(line))
        else:
            unreadable += bool(line.strip())
    return tuple(replace(e, message="\n".join((e.message or "", *more))) for e, more in entries), unreadable


def _dmesg_entry(line: str) -> HostLogEntry | None:
    found = _DMESG.fullmatch(line)
    if not found:
        return None
    try:
        at = in_utc(found["at"])
    except (ValueError, OverflowError):
        return None
    facility, level = found["facility"], found["level"] or ""
    program = "kernel" if facility in (None, "kern") else facility
    return HostLogEntry(at, "", level if level in LEVELS else "", program, _text(found["message"]))
