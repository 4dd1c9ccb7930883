"""The profiles of an inventory, each resolved on the releases that it is for."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.inventory.load import list_hosts, load_profile
from clusterctl_lab.apt_root import AptRoot
from clusterctl_lab.declared_packages import declared_packages
from clusterctl_lab.package_facts import package_facts
from clusterctl_lab.resolve import Resolution, resolve, role_order
from clusterctl_lab.resolve_el import EL9, el9_root, is_for_el, resolve_el

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterctl.model.node import NodeSpec

RELEASES = ("22.04", "24.04", EL9)
# What hardware_architecture declares -> dpkg's name of it.
DPKG_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def profile_names(layers: Sequence[Path]) -> list[str]:
    """Profiles for nodes: those that no other profile completes."""
    topology = list_hosts(layers)
    found = [g for g in topology.groups if g.startswith("profile_")]
    return sorted(g for g in found if not any(c.startswith("profile_") for c in topology.children.get(g, ())))


def resolve_profiles(
    layers: Sequence[Path], profiles: Sequence[str], releases: Sequence[str], extra_vars: Sequence[str]
) -> Iterator[Resolution]:
    """Each profile on each of `releases` that it is for: Ubuntu, or EL if it sets nvidia_driver_dnf_module."""
    for release in releases:
        yield from (_on_el(layers, profiles, extra_vars) if release == EL9 else _on_ubuntu(layers, profiles, release, extra_vars))


def _on_ubuntu(layers: Sequence[Path], profiles: Sequence[str], release: str, extra_vars: Sequence[str]) -> Iterator[Resolution]:
    order = role_order(content_dir() / "playbooks" / "provision.yml")
    with tempfile.TemporaryDirectory(prefix="clusterctl-resolve-") as folder:
        apt = {a: AptRoot(Path(folder) / a, package_facts(), release, a) for a in DPKG_ARCHITECTURES.values()}
        for profile in profiles:
            spec = load_profile(layers, profile, extra_vars=(*extra_vars, f"ubuntu_release={release}"))
            if not is_for_el(spec):
                yield resolve(apt[dpkg_architecture(spec)], profile, release, declared_packages(spec, order, content_dir() / "roles"))


def dpkg_architecture(spec: NodeSpec) -> str:
    """The architecture whose packages a profile needs; one that declares none is taken for amd64."""
    return DPKG_ARCHITECTURES.get(str(spec.roles.get("hardware", {}).get("hardware_architecture", "")), "amd64")


def _on_el(layers: Sequence[Path], profiles: Sequence[str], extra_vars: Sequence[str]) -> Iterator[Resolution]:
    specs = {profile: load_profile(layers, profile, extra_vars=extra_vars) for profile in profiles}
    for_el = {profile: spec for profile, spec in specs.items() if is_for_el(spec)}
    if for_el:
        root = el9_root()
        yield from (resolve_el(root, profile, spec) for profile, spec in for_el.items())
