"""The node under test and its parts, in the words of OCP Test & Validation. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clusterctl.core.lemons.owners import names_of
from clusterctl.model.ocptv import DutInfo, HardwareInfo, SoftwareInfo, Subcomponent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.model.ocptv import Metadata
    from clusterctl.model.part import Part
    from clusterctl.model.run_report import NodeTestRun


class NodeHardware:
    """The recorded parts of a node, and which of them a device is."""

    def __init__(self, parts: Sequence[Part]) -> None:
        named = [(name, p) for p in parts for name in {p.name, *names_of(p)}]
        names = Counter(name for name, _ in named)
        self._parts = parts
        self._by_name = {name: _part_id(p) for name, p in named if name and names[name] == 1}

    def infos(self, node: str) -> tuple[HardwareInfo, ...]:
        """All of them; what is not known of one is empty."""
        return tuple(_hardware_info(p, node) for p in self._parts)

    def place(self, device: str) -> tuple[str, Subcomponent | None]:
        """The id of the part that is this device, or the device by its name alone; both empty where the whole node is meant."""
        part = self._by_name.get(device, "")
        return part, Subcomponent(device) if device and not part else None


def dut_info(test_run: NodeTestRun, hardware: NodeHardware, versions: Mapping[str, str]) -> DutInfo:
    """The node, with its parts and the programs that tested it."""
    record = test_run.section.record
    place: Metadata = {"rack": record.rack, "slot": record.slot} if record.rack else {}
    software = tuple(SoftwareInfo(name, name, version) for name, version in versions.items())
    return DutInfo(record.name, record.name, software, hardware.infos(record.name), place)


def _part_id(part: Part) -> str:
    return f"{part.kind}:{part.slot}" if part.slot else part.kind


def _hardware_info(part: Part, node: str) -> HardwareInfo:
    name = " ".join(w for w in (part.name or part.kind, part.model) if w)
    return HardwareInfo(_part_id(part), name, part.kind.upper(), part.slot, part.serial, node)
