"""Reads from a BMC what the checks of the role bios need: current attributes, pending attributes, firmware versions."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.bmc.exchange import BmcError
from clusterctl.adapters.bmc.redfish import Redfish, link, well_formed
from clusterctl.adapters.bmc.systems import ROOT, one_system
from clusterctl_tools.bios import bare_version, vendor_of
from clusterctl_validators.bmc_view import BmcView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.adapters.bmc.access import BmcAccess


@well_formed()
def query_bmc(access: BmcAccess, variables: Mapping[str, Any]) -> BmcView:
    """Query one BMC for the attributes and firmware versions that the role bios declares.

    Raises:
        BmcError: the BMC cannot be queried, or has no BIOS resource.
    """
    if access.problem:
        raise BmcError(access.problem)
    client = Redfish(access, float(variables["bios_timeout_s"]), verify=bool(variables["bios_verify_certificates"]))
    root = client.get(ROOT)
    system = one_system(client, root, str(variables["bios_system"] or ""), _has_bios, "a BIOS")
    vendor = str(variables["bios_vendor"] or "") or _vendor(client, root, system)
    current, pending = _attributes(client, system)
    pins = (variables["bios_firmware_pins"] or {}).get(vendor) or []
    return BmcView(vendor, current, pending, _firmware(client, root, [g for pin in pins for g in pin["ids"]]))


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
    for path in client.members(link(root, "Registries")):
        if path.rsplit("/", 1)[-1].lower().startswith("biosattributeregistry"):
            locations = client.get(path).get("Location") or []
            owner = vendor_of([client.get(str(p["Uri"])).get("OwningEntity") for p in locations[:1] if p.get("Uri")])
            if owner:
                return owner
    return vendor_of([system.get("Manufacturer")])


def _firmware(client: Redfish, root: dict[str, Any], globs: list[str]) -> dict[str, str]:
    """The versions of the pinned components only, because an HGX machine has a hundred and each needs a request."""
    if not globs:
        return {}
    service = link(root, "UpdateService")
    inventory = link(client.get(service), "FirmwareInventory") if service else ""
    paths = [p for p in client.members(inventory) if any(fnmatchcase(p.rsplit("/", 1)[-1], g) for g in globs)]
    found = [client.get(p) for p in paths]
    return {str(f.get("Id") or p.rsplit("/", 1)[-1]): bare_version(str(f.get("Version") or "")) for p, f in zip(paths, found, strict=True)}
