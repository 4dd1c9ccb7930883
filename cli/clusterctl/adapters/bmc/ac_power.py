"""The AC power cycle of a machine: what stands by loses its power, too (adapters, BlueFields, the GPU baseboard, the BMC itself). Each vendor has its own way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl_tools.redfish import members, root_link

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterctl_tools.redfish import Get

# Advertised by trees in NVIDIA/libredfish c094c9e (tests/mockups): GB200 and GH200; Dell with iDRAC9 7.10; HPE with iLO 5; Lenovo SR670 V2. Supermicro's is
# the path in its src/supermicro.rs, and NVIDIA/nv-redfish uses it where it is advertised so (tests of Supermicro's system); the recorded SYS-821GE-TNHR does not.
_BODIES: dict[str, dict[str, str]] = {
    "#NvidiaChassis.AuxPowerReset": {"ResetType": "AuxPowerCycle"},
    "#DellOemChassis.ExtendedReset": {"ResetType": "PowerCycle", "FinalPowerState": "On"},
    "#HpeComputerSystemExt.SystemReset": {"ResetType": "AuxCycle"},
    "#LenovoComputerSystem.SystemReset": {"ResetType": "ACPowerCycle"},
    "#OemSystemExtensions.Reset": {"ResetType": "ACCycle"},
}


def find_ac_cycle(get: Get, root: Mapping[str, Any]) -> tuple[str, dict[str, str]] | None:
    """Path and body of the action; None if the BMC advertises none that is known.

    Raises:
        BmcError: its systems or chassis cannot be read.
    """
    for collection in ("Systems", "Chassis"):
        for path in members(get, root_link(root, collection)):
            for name, action in actions_of(get(path)):
                if name in _BODIES and action.get("target"):
                    return str(action["target"]), _BODIES[name]
    return None


def actions_of(resource: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The actions of a resource, with those of its vendor: below its own (Dell, Lenovo, NVIDIA), or below the vendor's part (HPE)."""
    own = resource.get("Actions") or {}
    of_vendors = [v.get("Actions") or {} for v in (resource.get("Oem") or {}).values() if isinstance(v, dict)]
    for actions in (own, own.get("Oem") or {}, *of_vendors):
        yield from ((name, action) for name, action in actions.items() if isinstance(action, dict))
