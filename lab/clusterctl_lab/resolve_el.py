"""Whether the driver that a profile for EL 9 declares can be installed from NVIDIA's repository, as dnf's solver answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl_lab.dnf_root import DnfRoot
from clusterctl_lab.package_facts import EL9_FACTS, module_streams, package_facts
from clusterctl_lab.resolve import Resolution

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.node import NodeSpec

EL9 = "el9"
ROLE = "nvidia_driver"
_STREAM = "nvidia_driver_dnf_module"


def is_for_el(spec: NodeSpec) -> bool:
    """Whether a profile declares packages of EL 8 or 9: only these have streams."""
    return bool(spec.roles.get(ROLE, {}).get(_STREAM))


def el9_root() -> DnfRoot:
    """The dnf of EL 9 with the repositories of which there are facts."""
    return DnfRoot(package_facts(EL9_FACTS), module_streams(EL9_FACTS))


def resolve_el(root: DnfRoot, profile: str, spec: NodeSpec) -> Resolution:
    """Install the packages of nvidia_driver in simulation; all packages of its module must have one version in the end."""
    variables = spec.roles[ROLE]
    declared = {str(p["name"]): str(p["version"]) for p in variables["nvidia_driver_packages"]}
    simulation = root.simulate(declared.items(), str(variables[_STREAM]))
    reason = simulation.reason or _mixed(declared, simulation.installed)
    return Resolution(profile, EL9, {ROLE: len(declared)}, simulation.installed, ROLE if reason else "", reason)


def _mixed(declared: Mapping[str, str], installed: Mapping[str, str]) -> str:
    """Packages of the module that dnf would take in another version than the declared ones have: it takes the newest of those that no relation binds."""
    members = {f.name for f in package_facts(EL9_FACTS) if f.module}
    versions = {version for name, version in declared.items() if name in members}
    other = [f"{name} {version}" for name, version in sorted(installed.items()) if name in members and version not in versions]
    if len(versions) > 1:
        return f"the declared packages of the driver have several versions: {', '.join(sorted(versions))}"
    return f"not declared, so dnf would take the newest: {', '.join(other)}" if other else ""
