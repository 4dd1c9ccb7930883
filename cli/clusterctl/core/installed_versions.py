"""The versions of driver, firmware and kernel that the findings of a node say. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clusterctl.model.installed_skew import Component, InstalledVersion

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl_validators.finding import Finding

# check of the version, and the check beside it that names the model; both `found` are a bare value
_CHECKS: tuple[tuple[Component, str, str], ...] = (
    (Component.KERNEL, r"kernel\.release\.running", ""),
    (Component.GPU_DRIVER, r"nvidia_driver\.version\.running", ""),
    (Component.GPU_VBIOS, r"(hardware\.gpu\[\d+\])\.vbios", ".model"),
    (Component.HCA_FIRMWARE, r"(ofed\.firmware\[[^\]]+\])\.running", ".psid"),
    (Component.BIOS, r"(hardware)\.bios_version", ".machine"),
)
# A module that is not loaded is told in words.
_VERSION = re.compile(r"\d")


def installed_versions(findings: Iterable[Finding]) -> tuple[InstalledVersion, ...]:
    """One for each component and model, whatever came of the check; none where the node did not say."""
    found = {f.check: f.found for f in findings}
    seen: dict[tuple[Component, str], set[str]] = {}
    for check, version in found.items():
        for component, pattern, beside in _CHECKS:
            match = re.fullmatch(pattern, check)
            if match and _VERSION.search(version):
                model = found.get(match[1] + beside, "") if beside else ""
                seen.setdefault((component, model), set()).add(version)
    return tuple(InstalledVersion(component, model, ", ".join(sorted(versions))) for (component, model), versions in sorted(seen.items()))
