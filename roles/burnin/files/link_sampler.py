"""Samples the PCIe links between devices and their root ports while a step runs. Standard library, Python 3.8+.

A link that is idle may drop to 2.5 GT/s, so what it can carry is seen under load only. A hop is one link: a device and the port above it, then the
upstream port of each switch and the port above that one. Files: drivers/pci/pci-sysfs.c of Linux; both ends of a link show the same.
"""

from __future__ import annotations

import re
import threading
from itertools import zip_longest
from pathlib import Path
from typing import Any

SYS = Path("/sys")
# Tools load one device after the other, each for some tenths of a second.
SAMPLE_S = 0.1
BRIDGE = "0x0604"
# 63: every bit of the register is set, as reads of a device that is gone return.
GONE = 63


class LinkSampler:
    """The hops above the devices whose vendor and class (`0x10de 0x030200`) begin with a pattern; their best speed and least width so far."""

    def __init__(self, pattern: str, sys_root: Path = SYS) -> None:
        self.hops: list[dict[str, Any]] = []
        self.files: list[tuple[Path, Path]] = []
        self.over = threading.Event()
        for device in sorted((sys_root / "bus/pci/devices").glob("*")):
            if re.match(pattern, text(device / "vendor") + " " + text(device / "class")):
                self._add(device.resolve())
        self.thread = threading.Thread(target=self._sample_often, daemon=True)

    def start(self) -> LinkSampler:
        """Sample now, and again and again until `end`."""
        self.sample()
        self.thread.start()
        return self

    def end(self) -> list[dict[str, Any]]:
        """Sample for the last time; the hops."""
        self.over.set()
        self.thread.join()
        self.sample()
        return self.hops

    def sample(self) -> None:
        """Read each hop once."""
        for hop, (of_speed, of_width) in zip(self.hops, self.files):  # noqa: B905 Python 3.8
            speed, width = speed_of(of_speed), width_of(of_width)
            hop["samples"] += speed is not None and width is not None
            hop["speed_gts"] = max((v for v in (hop["speed_gts"], speed) if v is not None), default=None)
            hop["width"] = least(hop["width"], width)

    def _sample_often(self) -> None:
        while not self.over.wait(SAMPLE_S):
            self.sample()

    def _add(self, device: Path) -> None:
        """The hops of a device; one without an upper end where no port is visible."""
        ends = [device]
        while text(ends[-1].parent / "class").startswith(BRIDGE):
            ends.append(ends[-1].parent)
        for lower, upper in zip_longest(ends[::2], ends[1::2]):
            self.files.append((lower / "current_link_speed", lower / "current_link_width"))
            self.hops.append({
                "device": device.name, "lower": lower.name, "upper": upper.name if upper else "", "samples": 0, "speed_gts": None, "width": None,
                "most_speed_gts": least(speed_of(lower / "max_link_speed"), speed_of(upper / "max_link_speed") if upper else None),
                "most_width": least(width_of(lower / "max_link_width"), width_of(upper / "max_link_width") if upper else None),
            })  # fmt: skip


def speed_of(file: Path) -> float | None:
    """`32.0 GT/s PCIe`; None where the kernel does not know it."""
    found = re.match(r"(\d{1,4}(?:\.\d)?) GT/s", text(file))
    return float(found.group(1)) if found else None


def width_of(file: Path) -> int | None:
    """Lanes; None where the kernel does not know them, the link is down or the device is gone."""
    found = text(file)
    return int(found) if found.isdigit() and 0 < int(found) < GONE else None


def least(one: Any, other: Any) -> Any:
    """The lesser of two values, of which either may be None."""
    return min((v for v in (one, other) if v is not None), default=None)


def text(file: Path) -> str:
    """The stripped content of a file; empty if it cannot be read."""
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
