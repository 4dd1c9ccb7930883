"""Firmware versions, from the inventory of the update service of a BMC."""

import re
from fnmatch import fnmatchcase
from typing import Any, Dict, Iterator, List, Mapping, Tuple

from .redfish import Get, last_segment, link, local, members, root_link

# HPE counts its components (`16` is the adapter of slot 1, until another card is added); the BIOS of Supermicro's GB300 has a GUID.
_NAMES_NOTHING = re.compile(r"\d+|[0-9A-Fa-f]{8}(?:[-_][0-9A-Fa-f]{4}){3}[-_][0-9A-Fa-f]{12}")


def firmware_versions(get: Get, root: Mapping[str, Any], globs: List[str]) -> Dict[str, str]:
    """The versions in the firmware inventory as the BMC prints them, by component; only of those whose Id, the end of their path, is in `globs`.

    A component whose Id names nothing is known as `NAME (ID)`. Those are read only where a glob fits no Id: an HGX machine has a hundred components, and
    each needs a request.

    Raises:
        BmcError: the inventory cannot be read.
    """
    if not globs:
        return {}
    paths = list(members(get, link(get(root_link(root, "UpdateService")), "FirmwareInventory")))
    by_id = {path: last_segment(path) for path in paths}
    found = {path: ident for path, ident in by_id.items() if any(fnmatchcase(ident, glob) for glob in globs)}
    result = {}
    for path, ident in found.items():
        component = get(local(path))
        result[str(component.get("Id") or ident)] = _version(component)
    if all(any(fnmatchcase(ident, glob) for ident in found.values()) for glob in globs):
        return result
    nameless = (path for path, ident in by_id.items() if path not in found and _NAMES_NOTHING.fullmatch(ident))
    return {**result, **{name: version for name, version in _named(get, nameless) if any(fnmatchcase(name, glob) for glob in globs)}}


def _named(get: Get, paths: Iterator[str]) -> Iterator[Tuple[str, str]]:
    for path in paths:
        component = get(local(path))
        yield "{} ({})".format(component.get("Name") or "", component.get("Id") or last_segment(path)), _version(component)


def _version(component: Mapping[str, Any]) -> str:
    return str(component.get("Version") or "")
