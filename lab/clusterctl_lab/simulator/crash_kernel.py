"""/sys/kernel/kexec_crash_*: the memory that the kernel reserved at boot for a crash kernel, and whether one is loaded.

Formats: Linux, Documentation/admin-guide/kdump/kdump.rst (crashkernel=) and Documentation/ABI/testing/sysfs-kernel-kexec-kdump.
"""

from __future__ import annotations

import re

from .cmdline import last_value

SIZE = "kernel/kexec_crash_size"
LOADED = "kernel/kexec_crash_loaded"
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_RANGE = re.compile(r"(?P<start>\w+)-(?P<end>\w*):(?P<size>\w+)")


def files(cmdline: str, memory_kib: int) -> dict[str, str | int | bytes]:
    """All files, relative to /sys; nothing is loaded at boot."""
    return {SIZE: reserved_bytes(last_value(cmdline, "crashkernel") or "", memory_kib * 1024), LOADED: 0}


def reserved_bytes(value: str, memory_bytes: int) -> int:
    """The reservation of `crashkernel=value`: a size, or the size of the range that contains the memory of the machine."""
    plain = value.partition("@")[0]
    for word in plain.split(","):
        found = _RANGE.fullmatch(word)
        if not found:
            return _bytes(word)
        if _bytes(found["start"]) <= memory_bytes and (not found["end"] or memory_bytes < _bytes(found["end"])):
            return _bytes(found["size"])
    return 0


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+)([KMG]?)", text.upper())
    return int(found[1]) * _UNITS.get(found[2], 1) if found else 0
