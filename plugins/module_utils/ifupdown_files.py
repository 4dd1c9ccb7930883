"""What /etc/network/interfaces of ifupdown (Debian) brings up at boot. Pure."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FOLDER = "/etc/network/interfaces"
# interfaces(5): what starts a stanza, and what brings its interfaces up.
_STANZAS = ("iface", "mapping", "source", "source-directory", "rename", "template")
_AT_BOOT = ("auto", "allow-auto", "allow-hotplug")
_DYNAMIC = ("dhcp", "auto", "bootp")


class IfaceStanza(NamedTuple):
    """An `iface` stanza of an interface that is brought up at boot, which requests an address or has some."""

    file: str
    line: int
    name: str
    dynamic: bool
    addresses: tuple[str, ...]


def iface_stanzas(files: Sequence[tuple[str, str]]) -> list[IfaceStanza]:
    """The stanzas of the files (path, text), which ifupdown reads as one."""
    rows = [(path, number, words) for path, text in files for number, words in _lines(text)]
    at_boot = [name.lstrip("/") for _, _, words in rows if words[0] in _AT_BOOT for name in words[1:]]
    return [s for s in _all(rows) if any(fnmatch.fnmatchcase(s.name, glob) for glob in at_boot) and (s.dynamic or s.addresses)]


def _all(rows: Sequence[tuple[str, int, list[str]]]) -> Iterator[IfaceStanza]:
    for at, (path, number, words) in enumerate(rows):
        if words[0] != "iface" or len(words) < 2:  # noqa: PLR2004 a stanza without a name
            continue
        options: dict[str, str] = {}
        for _, _, option in rows[at + 1 :]:
            if option[0] in (*_STANZAS, *_AT_BOOT) or option[0].startswith("allow-"):
                break
            options.setdefault(option[0], " ".join(option[1:]))
        address, mask = options.get("address", ""), options.get("netmask", "")
        given = (address if "/" in address or not mask else f"{address}/{mask}",) if address else ()
        yield IfaceStanza(path, number, words[1], words[-1] in _DYNAMIC, given)


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """The words of each line with its number; a backslash at the end joins lines."""
    start, joined = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        start = start if joined else number
        if not joined and line.lstrip().startswith("#"):
            continue
        joined += line
        if line.endswith("\\"):
            joined = joined[:-1] + " "
            continue
        if joined.split():
            yield start, joined.split()
        joined = ""
