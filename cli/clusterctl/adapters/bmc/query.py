"""Reads from a BMC what the checks of a role need: attributes of the BIOS in force and pending, firmware versions, boot order, leak detectors, power supplies and fans, other resources on request."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.bmc.host_power import BmcLimits, can_be_reset
from clusterctl_tools.bios import bare_version, vendor_of
from clusterctl_tools.boot_order import BootOrderError
from clusterctl_tools.boot_place import boot_place, override_places
from clusterctl_tools.chassis_reading import chassis_parts
from clusterctl_tools.firmware_inventory import firmware_versions
from clusterctl_tools.leak_detectors import leak_states
from clusterctl_tools.redfish import ROOT, BmcError, Redfish, last_segment, link, one_system, root_link, well_formed
from clusterctl_validators.bmc_view import BmcView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.adapters.bmc.access import BmcAccess


@well_formed()
def query_bmc(access: BmcAccess, role: str, variables: Mapping[str, Any]) -> BmcView:
    """Query one BMC: for attributes if the role has `<role>_attributes`, for the firmware versions that `<role>_firmware_pins` names.

    Raises:
        BmcError: the BMC cannot be queried, or has no BIOS resource.
    """
    if access.problem:
        raise BmcError(access.problem)
    limits = BmcLimits.of_role(role, variables)
    client = Redfish(access, limits.timeout_s, verify=limits.verify)
    root = client.get(ROOT)
    with_bios = f"{role}_attributes" in variables
    matches, what = (_has_bios, "a BIOS") if with_bios else (can_be_reset, "a power switch")
    system = one_system(client.get, root, limits.system_id, matches, what=what, setting=limits.setting)
    vendor = str(variables.get(f"{role}_vendor") or "") or _vendor(client, root, system)
    current, pending = _attributes(client, system) if with_bios else ({}, {})
    pins = (variables.get(f"{role}_firmware_pins") or {}).get(vendor) or []
    versions = firmware_versions(client.get, root, [g for pin in pins for g in pin["ids"]])
    firmware = {component: bare_version(version) for component, version in versions.items()}
    leaks = leak_states(client, root, (variables.get(f"{role}_leak_detectors") or {}).get(vendor) or {})
    parts = chassis_parts(client, system, variables.get(f"{role}_chassis_health") or ())
    view = BmcView(vendor, current, pending, firmware, well_formed()(client.get), leak_detectors=leaks, chassis_parts=parts)
    if not variables.get(f"{role}_boot_order"):
        return view
    try:
        place = boot_place(client.get, client.members, system)
    except BootOrderError as e:
        raise BmcError(str(e)) from e
    override = next((p.target for p in override_places(client.get, system) if p.target), "")
    return replace(view, boot_order=place.current, pending_boot_order=place.pending, boot_override=override)


def _has_bios(system: dict[str, Any]) -> bool:
    return bool(link(system, "Bios"))


def _attributes(client: Redfish, system: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    bios = client.get(link(system, "Bios"))
    settings = link(bios, "@Redfish.Settings", "SettingsObject")
    if not isinstance(bios.get("Attributes"), dict) or not settings:
        raise BmcError("its BIOS resource has no attributes or no settings resource")
    pending = client.get(settings).get("Attributes")
    return bios["Attributes"], pending if isinstance(pending, dict) else {}


def _vendor(client: Redfish, root: dict[str, Any], system: dict[str, Any]) -> str:
    """The vendor that the service root names; if it names none (GB200), the owner of the attribute registry."""
    named = vendor_of([root.get("Vendor"), *(root.get("Oem") or {})])
    if named:
        return named
    for path in client.members(root_link(root, "Registries")):
        if last_segment(path).lower().startswith("biosattributeregistry"):
            locations = client.get(path).get("Location") or []
            owner = vendor_of([client.get(str(p["Uri"])).get("OwningEntity") for p in locations[:1] if p.get("Uri")])
            if owner:
                return owner
    return vendor_of([system.get("Manufacturer")])
