"""Pure readers of general Linux facts: mounts."""

import re
from dataclasses import dataclass
from typing import List, Tuple


@dataclass(frozen=True)
class Mount:
    """A line of /proc/self/mounts."""

    device: str
    target: str
    fstype: str
    options: Tuple[str, ...]


def parse_mounts(text: str) -> List[Mount]:
    """The lines of /proc/self/mounts, octal escapes decoded."""
    mounts = []
    for line in text.splitlines():
        device, target, fstype, options = (_unescape(field) for field in line.split(" ")[:4])
        mounts.append(Mount(device, target, fstype, tuple(options.split(","))))
    return mounts


def _unescape(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda m: chr(int(m.group(1), 8)), field)
