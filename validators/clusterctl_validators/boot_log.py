"""The kernel log since boot, and the times of its lines."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import List, Optional, Protocol, Sequence, Tuple

from clusterctl_validators.sources import CommandResult

# This boot only, and with the year, so that a line of last December does not count in January.
# What the kernel logged, and journald's own notes that it missed some of it (SD_MESSAGE_JOURNAL_MISSED of systemd's sd-messages.h).
_KERNEL = ("_TRANSPORT=kernel", "+", "_TRANSPORT=driver", "MESSAGE_ID=e9bf28e6e834481bb6f48f548ad13606")
JOURNAL = ("journalctl", "-b", "0", "-o", "short-iso", "--no-hostname", "--no-pager", "-q", *_KERNEL)
DMESG = ("dmesg", "--time-format", "iso")

# Priority, time, host and `kernel:`. What follows must be the driver's own message: others carry text of users, an OOM line the name of a cgroup.
MESSAGE_START = (
    r"^\s*(?:<\d+>|\d+,\d+,\d+,[^;]*;)?\s*(?:\w+\s*:\w+\s*:\s*)?"
    r"(?:\[[^\]]*\]\s*|\d{4}-\d\d-\d\dT\S+\s+|\w{3}\s+\d+\s+[\d:.]+\s+)*(?:(?:[\w.-]+\s+)?kernel:\s*)?(?:\[[^\]]*\]\s*)?"
)
_MISSED = re.compile(r"^\S+ systemd-journald\[\d+\]: Missed \d+ kernel messages")
# The first message of a kernel; on Arm one line about the first processor precedes it, older x86 kernels print lines about microcode.
_FIRST_MESSAGE = re.compile(MESSAGE_START + "Linux version ")
_FIRST_LINES = 20
_NEXT_ACTION = (
    "Reboot the drained node, or declare hardware_log_hours within what the log holds; keep the journal on disk (/var/log/journal), and add"
    " log_buf_len=16M to the kernel's command line if a new boot shows the same"
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?")


class Runner(Protocol):
    """The part of a probe that is used here."""

    def run(self, argv: Sequence[str], timeout_s: float = 20) -> CommandResult:
        """Run a command; never raises."""


class UnreadableLogError(ValueError):
    """The kernel log cannot be read: this does not mean a log without errors."""


@dataclass(frozen=True)
class BootLog:
    """The kernel log of this boot, or what is left of it.

    Attributes:
        begins: the time of its oldest line; empty if it has none with a year.
        whole: it reaches back to the first message of the boot.
        missed: the times at which messages were lost before they were stored.
    """

    text: str
    begins: str
    whole: bool
    missed: Tuple[str, ...] = ()

    def missing(self, since_s: Optional[float] = None) -> str:
        """Why lines since a time (None: since boot) may be missing, with the next action; empty if none are.

        A line without a readable time proves nothing.
        """
        begins_s = seconds_of(self.begins)
        if not self.whole and (since_s is None or begins_s is None or begins_s > since_s):
            return "the kernel log does not reach back {}: it begins {}. {}".format(
                "to the boot" if since_s is None else "far enough", "at " + self.begins if self.begins else "later", _NEXT_ACTION
            )
        lost = [time for time in self.missed if since_s is None or (seconds_of(time) or since_s) >= since_s]
        return "messages of the kernel were lost at {}. {}".format(", ".join(lost[:3]), _NEXT_ACTION) if lost else ""


def parse_log(text: str) -> BootLog:
    """Journal, dmesg and raw kernel lines. Raises UnreadableLogError if the log is empty: a booted kernel has logged something."""
    if not text.strip():
        raise UnreadableLogError("the kernel log of this boot is empty")
    lines = text.splitlines()
    missed = tuple(time_of(line) or "an unknown time" for line in lines if _MISSED.match(line))
    whole = any(_FIRST_MESSAGE.match(line) for line in lines[:_FIRST_LINES])
    return BootLog(text, next(filter(None, map(time_of, lines)), ""), whole, missed)


def read_log(runner: Runner) -> BootLog:
    """The log of this boot: the journal if nothing of it is missing, else the kernel's buffer, else the one that reaches further back.

    Raises UnreadableLogError if neither can be read.
    """
    found: List[BootLog] = []
    problems: List[str] = []
    for argv in (JOURNAL, DMESG):
        result = runner.run(argv)
        if result.rc != 0 or not result.stdout.strip():
            problems.append(
                "{}: {}".format(argv[0], result.error or result.stderr.strip() or "it printed nothing, exit {}".format(result.rc))
            )
            continue
        log = parse_log(result.stdout)
        if not log.missing():
            return log
        found.append(log)
    if not found:
        raise UnreadableLogError("; ".join(problems))
    return min(found, key=lambda log: (not log.whole, seconds_of(log.begins) or float("inf")))


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
