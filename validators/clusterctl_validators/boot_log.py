"""The kernel log since boot, and the times of its lines."""

import re
from datetime import datetime
from typing import Optional, Protocol, Sequence

from clusterctl_validators.sources import CommandResult

# This boot only, and with the year, so that a line of last December does not count in January.
JOURNAL = ("journalctl", "-k", "-b", "0", "-o", "short-iso", "--no-hostname", "--no-pager", "-q")
DMESG = ("dmesg", "--time-format", "iso")

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?")


class Runner(Protocol):
    """The part of a probe that is used here."""

    def run(self, argv: Sequence[str], timeout_s: float = 20) -> CommandResult:
        """Run a command; never raises."""


class UnreadableLogError(ValueError):
    """The kernel log cannot be read: this does not mean a log without errors."""


def read_text(runner: Runner) -> str:
    """The log of this boot: the journal, or dmesg without a journal. Raises UnreadableLogError if neither can be read, or if it is empty."""
    result = runner.run(JOURNAL)
    if result.error and "No such file" in result.error:
        result = runner.run(DMESG)
    if result.rc != 0:
        raise UnreadableLogError(result.error or result.stderr.strip() or "exit {}".format(result.rc))
    if not result.stdout.strip():
        raise UnreadableLogError("the kernel log of this boot is empty")
    return result.stdout


def time_of(text: str) -> str:
    """The time in the part of a line before its message; empty if it has none with a year."""
    found = _TIME.search(text)
    return found.group(0) if found else ""


def seconds_of(time: str) -> Optional[float]:
    """Seconds since 1970 of a time that `time_of` returned; None without a time or a time zone."""
    try:
        return datetime.strptime(re.sub(r"[.,]\d+", "", time), "%Y-%m-%dT%H:%M:%S%z").timestamp()
    except ValueError:
        return None
