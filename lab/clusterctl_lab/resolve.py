"""Whether the packages that a profile declares can be installed from the public repositories, as apt answers it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from clusterctl_lab.apt_root import AptRoot
    from clusterctl_lab.declared_packages import DeclaredPackages

# No public metadata of these was found: nothing is known, so nothing is claimed.
NOT_COVERED = (
    "EL 9: only the packages of nvidia_driver are resolved, for profiles that set nvidia_driver_dnf_module; there are no facts about DOCA and others",
)


@dataclass(frozen=True, slots=True)
class Resolution:
    """The packages of one profile on one release.

    Attributes:
        declared: declared packages by role.
        installed: package -> version of all that would be installed in the end.
        role: the role whose packages do not resolve; empty if all do.
        reason: why, in apt's words.
    """

    profile: str
    release: str
    declared: Mapping[str, int] = field(default_factory=dict)
    installed: Mapping[str, str] = field(default_factory=dict)
    role: str = ""
    reason: str = ""


def role_order(playbook: Path) -> dict[str, int]:
    """Role -> its place in the playbook that applies them."""
    plays = yaml.safe_load(playbook.read_text(encoding="utf-8"))
    return {str(item["role"]): place for place, item in enumerate(plays[0]["roles"])}


def resolve(
    apt: AptRoot, profile: str, release: str, steps: Sequence[DeclaredPackages], installed: Mapping[str, str] | None = None
) -> Resolution:
    """Install role after role, in simulation; then compare all declared versions with the result. The node is a minimal server with `installed`."""
    apt.reset(installed)
    declared = {step.role: len(step.packages) for step in steps}
    for step in steps:
        if step.preferences:
            apt.write_preferences(f"90-clusterctl-{step.role}", step.preferences)
        simulation = apt.simulate(step.packages, recommends=step.recommends)
        lost = sorted({name for s in steps for name, _ in s.packages} & set(simulation.removed))
        if simulation.reason or lost:
            reason = simulation.reason or f"apt would remove {', '.join(lost)}"
            return Resolution(profile, release, declared, apt.installed, step.role, reason)
        apt.apply(simulation)
    for step in steps:
        for name, version in step.packages:
            if version and apt.installed.get(name) != version:
                reason = f"{name} is {apt.installed.get(name, 'absent')} in the end, declared is {version}: a later role changes it"
                return Resolution(profile, release, declared, apt.installed, step.role, reason)
    return Resolution(profile, release, declared, apt.installed)
