"""Compare a machine's firmware inventory with pins, as a pure function."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.bios import bare_version, version_parts


def firmware_problems(entries: list[dict[str, Any]], pins: list[dict[str, Any]]) -> list[str]:
    """Differences from the pins, one line per component; a pin that matches no component is a difference too.

    Args:
        entries: the machine's firmware inventory: Redfish resources SoftwareInventory with `Id` and `Version`.
        pins: rows of bios_firmware_pins: `name`, `ids` (globs), `version` or `minimum`.
    """
    problems = []
    for pin in pins:
        found = [e for e in entries if any(fnmatchcase(str(e.get("Id", "")), glob) for glob in pin["ids"])]
        if not found:
            problems.append(f"{pin['name']}: no component of the firmware inventory matches {', '.join(pin['ids'])}")
        for entry in found:
            version = bare_version(str(entry.get("Version") or ""))
            if pin.get("version") and version != str(pin["version"]):
                problems.append(f"{pin['name']}: {entry['Id']} has version {version or 'unknown'}, expected {pin['version']}")
            if pin.get("minimum") and version_parts(version) < version_parts(str(pin["minimum"])):
                problems.append(f"{pin['name']}: {entry['Id']} has version {version or 'unknown'}, expected at least {pin['minimum']}")
    return problems


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """Filter name -> function."""
        return {"bios_firmware_problems": firmware_problems}
