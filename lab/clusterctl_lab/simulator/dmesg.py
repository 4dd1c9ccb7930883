"""dmesg: prints the kernel log of this node; the real program would show the host's."""

from __future__ import annotations

import sys
import time

from . import state
from .kernel_log import RING

_NAMES = {"0": "emerg", "1": "alert", "2": "crit", "3": "err", "4": "warn", "5": "notice", "6": "info", "7": "debug"}


def main(argv: list[str], _version: str = "") -> int:
    """Print the log. Supports -T, -t, --time-format iso|ctime|notime and -l LEVELS; ignores other options."""
    style, levels = _options(argv[1:])
    for line in state.read(RING).splitlines():
        priority, wall, since, text = line.split(" ", 3)
        if not levels or _NAMES[priority] in levels:
            print(f"{_stamp(style, float(wall), float(since))}{text}")
    sys.stdout.flush()
    return 0


def _options(words: list[str]) -> tuple[str, set[str]]:
    style, levels = "raw", set[str]()
    for i, word in enumerate(words):
        name, _, value = word.partition("=")
        value = value or (words[i + 1] if i + 1 < len(words) else "")
        if name == "--time-format":
            style = value
        elif name in ("-T", "--ctime"):
            style = "ctime"
        elif name in ("-t", "--notime"):
            style = "notime"
        elif name in ("-l", "--level"):
            levels = {v.removesuffix("ning") for v in value.split(",")}
    return style, levels


def _stamp(style: str, wall: float, since: float) -> str:
    if style == "iso":
        local = time.localtime(wall)
        zone = time.strftime("%z", local)
        return f"{time.strftime('%Y-%m-%dT%H:%M:%S', local)},{int(wall % 1 * 1e6):06d}{zone[:3]}:{zone[3:]} "
    if style == "ctime":
        return f"[{time.ctime(wall)}] "
    return "" if style == "notime" else f"[{since:12.6f}] "
