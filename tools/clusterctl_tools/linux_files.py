"""Files of a Linux machine: /proc/meminfo, /etc/os-release."""

import re


class UnreadableFileError(ValueError):
    """The file is not what the kernel or the distribution writes."""


def parse_memory_gib(meminfo: str) -> float:
    """MemTotal of /proc/meminfo. Raises UnreadableFileError if it is absent."""
    found = re.search(r"^MemTotal:\s+(\d+) kB", meminfo, re.MULTILINE)
    if not found:
        raise UnreadableFileError("/proc/meminfo has no MemTotal")
    return int(found.group(1)) / 1024**2


def parse_os_release(text: str) -> str:
    """ID and VERSION_ID of /etc/os-release, such as `ubuntu 24.04`; empty where it has neither. Format: os-release(5)."""
    values = dict(line.strip().split("=", 1) for line in text.splitlines() if "=" in line)
    return " ".join(values.get(name, "").strip("\"'") for name in ("ID", "VERSION_ID")).strip()
