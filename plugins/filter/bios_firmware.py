"""Compare a machine's firmware inventory with pins, as a pure function."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.bios import bare_version, version_parts


def firmware_problems(versions: dict[str, str], pins: list[dict[str, Any]]) -> list[str]:
    """Differences from the pins, one line per component; a pin that matches no component is a difference too.

    Args:
        versions: of the machine's firmware inventory, by component, as its BMC prints them.
        pins: rows of bios_firmware_pins: `name`, `ids` (globs), `version` or `minimum`.
    """
    problems = []
    for pin in pins:
        found = [c for c in versions if any(fnmatchcase(c, glob) for glob in pin["ids"])]
        if not found:
            problems.append(f"{pin['name']}: no component of the firmware inventory matches {', '.join(pin['ids'])}")
        for component in found:
            version = bare_version(versions[component])
            if pin.get("version") and version != str(pin["version"]):
                problems.append(f"{pin['name']}: {component} has version {version or 'unknown'}, expected {pin['version']}")
            if pin.get("minimum") and version_parts(version) < version_parts(str(pin["minimum"])):
                problems.append(f"{pin['name']}: {component} has version {version or 'unknown'}, expected at least {pin['minimum']}")
    return problems


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """Filter name -> function."""
        return {"bios_firmware_problems": firmware_problems}
