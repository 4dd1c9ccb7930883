"""XID (GPU) and SXid (NVSwitch) lines of the kernel log since boot."""

import re
from dataclasses import dataclass
from typing import List, Match, Pattern, Protocol, Sequence, Tuple

from clusterctl_validators.sources import CommandResult

# This boot only, and with the year, so that a line of last December does not count in January.
JOURNAL = ("journalctl", "-k", "-b", "0", "-o", "short-iso", "--no-hostname", "--no-pager", "-q")
DMESG = ("dmesg", "--time-format", "iso")

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?")
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?(?P<pci>[0-9a-fA-F:.]+)\): (?P<code>\d+)(?:, (?P<detail>.*))?")
# The first line of an SXid states whether it is fatal; lines with its severity number and data follow.
_SXID = re.compile(r"SXid \(PCI:(?P<pci>[0-9a-fA-F:.]+)\): (?P<code>\d+)(?:, (?!Severity|Data)(?P<detail>.*)|$)")


class Runner(Protocol):
    """The part of a probe that is used here."""

    def run(self, argv: Sequence[str], timeout_s: float = 20) -> CommandResult:
        """Run a command; never raises."""


class UnreadableLogError(ValueError):
    """The kernel log cannot be read: this does not mean a log without errors."""


@dataclass(frozen=True)
class XidEvent:
    """One line.

    Attributes:
        time: as logged, with its year; empty if the log has none.
        pci: the GPU's or NVSwitch's address, as logged.
        detail: the rest of the line.
    """

    time: str
    pci: str
    code: int
    detail: str


@dataclass(frozen=True)
class KernelEvents:
    """The GPU and NVSwitch errors of the log, in its order."""

    xids: Tuple[XidEvent, ...]
    sxids: Tuple[XidEvent, ...]


def parse(text: str) -> KernelEvents:
    """Parse journal, dmesg and raw kernel lines. Raises UnreadableLogError if the log is empty: a booted kernel has logged something."""
    if not text.strip():
        raise UnreadableLogError("the kernel log of this boot is empty")
    lines = [line for line in text.splitlines() if "Xid (" in line]
    return KernelEvents(_events(lines, _XID), _events(lines, _SXID))


def _events(lines: List[str], pattern: Pattern[str]) -> Tuple[XidEvent, ...]:
    return tuple(_event(line, found) for line in lines for found in [pattern.search(line)] if found)


def _event(line: str, found: Match[str]) -> XidEvent:
    time = _TIME.search(line, 0, found.start())
    return XidEvent(time.group(0) if time else "", found.group("pci"), int(found.group("code")), (found.group("detail") or "").strip())


def is_fatal_sxid(event: XidEvent) -> bool:
    """The NVSwitch driver writes `Fatal` or `Non-fatal` first; a line with neither counts as fatal."""
    return not event.detail.lower().startswith("non-fatal")


def read(runner: Runner) -> KernelEvents:
    """The log of this boot: the journal, or dmesg without a journal. Raises UnreadableLogError if neither can be read."""
    result = runner.run(JOURNAL)
    if result.error and "No such file" in result.error:
        result = runner.run(DMESG)
    if result.rc != 0:
        raise UnreadableLogError(result.error or result.stderr.strip() or "exit {}".format(result.rc))
    return parse(result.stdout)
