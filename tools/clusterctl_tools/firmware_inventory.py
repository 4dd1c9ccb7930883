"""Firmware versions, from the inventory of the update service of a BMC."""

from fnmatch import fnmatchcase
from typing import Any, Dict, List, Mapping

from .redfish import Get, last_segment, link, local, members, root_link


def firmware_versions(get: Get, root: Mapping[str, Any], globs: List[str]) -> Dict[str, str]:
    """The versions in the firmware inventory as the BMC prints them, by component; only of those whose name, the end of their path, is in `globs`.

    An HGX machine has a hundred components, and each needs a request.

    Raises:
        BmcError: the inventory cannot be read.
    """
    if not globs:
        return {}
    inventory = link(get(root_link(root, "UpdateService")), "FirmwareInventory")
    result = {}
    for path in members(get, inventory):
        name = last_segment(path)
        if any(fnmatchcase(name, glob) for glob in globs):
            component = get(local(path))
            result[str(component.get("Id") or name)] = str(component.get("Version") or "")
    return result
