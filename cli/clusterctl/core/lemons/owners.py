"""Whose event it is: the serial that was in the node then, not the name of the node. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.model.part import Part
    from clusterctl.model.trouble import PartSpan, Trouble

# The machine: what DMI calls system has the serial on the sticker; the others stand in where a vendor leaves it empty.
_MACHINE = ("system", "chassis", "baseboard")
_ADDRESS = re.compile(r"(?:gpu)?([0-9a-f]+)(:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])")
_DISK = re.compile(r"nvme\d+(?:n\d+)?")
_PARTITION = re.compile(r"(nvme\d+n\d+)p\d+")
_NVLINK = re.compile(r"(gpu\d+)nvlink\d+")
_LAST = "~"


class PartsThen:
    """The parts of nodes over time."""

    def __init__(self, spans: Iterable[PartSpan]) -> None:
        self._machines: dict[tuple[str, str], list[PartSpan]] = {}
        self._devices: dict[tuple[str, str], list[PartSpan]] = {}
        for span in spans:
            if span.part.kind in _MACHINE:
                self._machines.setdefault((span.node, span.part.kind), []).append(span)
            else:
                for word in {*names_of(span.part), device_key(span.part.slot)} - {""}:
                    self._devices.setdefault((span.node, word), []).append(span)

    def owner(self, trouble: Trouble) -> Part | None:
        """The part that an event is about: the machine for an event of the node; None where no serial is recorded."""
        if trouble.device:
            return _then(self._devices.get((trouble.node, device_key(trouble.device)), ()), trouble.at)
        kinds = (_then(self._machines.get((trouble.node, kind), ()), trouble.at) for kind in _MACHINE)
        return next((part for part in kinds if part), None)


def _then(spans: Iterable[PartSpan], at: str) -> Part | None:
    """The part whose time ended first after `at`: parts are first read after events of a new machine, so when one was first seen does not count."""
    left = [s for s in spans if not s.ended_at or at < s.ended_at]
    return min(left, key=lambda s: s.ended_at or _LAST).part if left else None


def names_of(part: Part) -> frozenset[str]:
    """The names by which a device is this part: a disk is named as its controller and as what it stores, `nvme6 (nvme10n1)`."""
    return frozenset(map(device_key, _DISK.findall(part.name) if part.kind == "nvme" else [part.name]))


def device_key(name: str) -> str:
    """One spelling of a device.

    Gates write `gpu3`, `GPU 00000000:9C:00.0`, `GPU 3 NVLink 7` (which is of the GPU), `mlx5_0`, `mlx5_0/1`, `nvme1n1p2` (which is of the disk)
    and PCI addresses, parts `GPU 3`, `mlx5_0` and a slot.
    """
    word = name.lower().replace(" ", "").partition("/")[0]
    if address := _ADDRESS.fullmatch(word):
        return f"{int(address[1], 16):04x}{address[2]}"
    link = _NVLINK.fullmatch(word) or _PARTITION.fullmatch(word)
    return link[1] if link else word
