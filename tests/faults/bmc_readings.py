"""What a node's BMC reports that a fault can change: leak detectors, as many as its profile declares for the maker of the tray, power supplies, fans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl_tools.chassis_part import ChassisPart
from clusterctl_validators.bmc_view import BmcView
from faults.world import spec

if TYPE_CHECKING:
    from faults.world import Rack

_VENDOR = "nvidia"
# As the recorded SYS-821GE-TNHR.
_PARTS = {"power_supplies": [f"Power Supply Bay {i}" for i in range(1, 9)], "fans": [f"FAN{i}" for i in range(1, 11)]}


def reading(rack: Rack, node: str) -> BmcView:
    """One reading; an air-cooled node has no detector."""
    declared = spec(rack.kind).roles["bios"]["bios_leak_detectors"].get(_VENDOR, {})
    states = {chassis: {f"LeakDetector_{i}": "OK" for i in range(number)} for chassis, number in declared.items()}
    for change in rack.of("leak", node):
        chassis, _, detector = change.path.partition("/")
        if change.value:
            states[chassis][detector] = change.value
        else:
            del states[chassis][detector]
    health = {change.path: change.value for change in rack.of("chassis_part", node)}
    parts = {kind: [ChassisPart(name, health.get(f"{kind}/{name}", "OK")) for name in names] for kind, names in _PARTS.items()}
    return BmcView(_VENDOR, leak_detectors=states, chassis_parts=parts)
