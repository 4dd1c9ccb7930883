"""journalctl (systemd) and dmesg (util-linux): the newest entries of a node's log, in formats that have the time of each."""

from typing import List, Optional

_ENVIRONMENT = ("env", "LC_ALL=C", "TZ=UTC")
_FIELDS = "--output-fields=MESSAGE,PRIORITY,SYSLOG_IDENTIFIER,_COMM"
# What the kernel logged in any boot, and journald's notes that it missed some of it (SD_MESSAGE_JOURNAL_MISSED).
_KERNEL = ("_TRANSPORT=kernel", "+", "_TRANSPORT=driver", "MESSAGE_ID=e9bf28e6e834481bb6f48f548ad13606")


def newest_entries_argv(lines: int, since_s: Optional[int] = None, until_s: int = 0, kernel: bool = True) -> List[str]:
    """The command that prints JSON, newest first: of the kernel or of all programs, from `since_s` seconds ago or of all times, to `until_s` seconds ago.

    --reverse: with --since, journalctl of systemd 252 takes the oldest and not the newest of --lines. Without -q it states what it may not read.
    """
    when = [] if since_s is None else ["--since=-{}s".format(since_s)]
    when += ["--until=-{}s".format(until_s)] if until_s else []
    options = ["--no-pager", "--reverse", "-o", "json", _FIELDS, *when, "--lines={}".format(lines)]
    return [*_ENVIRONMENT, "journalctl", *options, *(_KERNEL if kernel else ())]


def dmesg_argv() -> List[str]:
    """The command that prints the time of the node, then the kernel's buffer: dmesg has --since only from util-linux 2.37 on."""
    return [*_ENVIRONMENT, "sh", "-c", "date +%s; exec dmesg --decode --time-format iso"]
