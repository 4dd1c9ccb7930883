"""Versions of driver, firmware and kernel, and memory, that differ between the nodes of a scalable unit. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.version_skew import most_first
from clusterctl.model.installed_skew import InstalledSkew
from clusterctl.model.running_text import first_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.model.installed_skew import InstalledVersion
    from clusterctl.model.version_skew import VersionNodes


def installed_skews(units: Mapping[str, str], installed: Mapping[str, Sequence[InstalledVersion]]) -> tuple[InstalledSkew, ...]:
    """For each scalable unit (`units`: that of each node) and component of which its nodes have more than one version; a node that is not in `installed` is not compared."""
    found: dict[tuple[str, str, str], dict[str, set[str]]] = {}
    for node, unit in units.items():
        for one in installed.get(node, ()):
            versions = found.setdefault((unit, one.component, one.model), {})
            versions.setdefault(one.version, set()).add(node)
    return tuple(_skew(*key, most_first(versions)) for key, versions in sorted(found.items()) if len(versions) > 1)


def installed_text(one: InstalledSkew) -> str:
    """For people: the nodes of the minority with their versions, that of the others, and what to do."""
    what = f"{one.component}{f' ({one.model})' if one.model else ''} differs{f' in scalable unit {one.unit}' if one.unit else ''}"
    first, *others = one.versions
    if one.majority:
        other = "; ".join(f"{first_of(v.nodes)}: {v.version}" for v in others)
        versions = f"{other}, against {first.version} on most ({len(first.nodes)} {'node' if len(first.nodes) == 1 else 'nodes'})"
    else:
        versions = "; ".join(f"{first_of(v.nodes)}: {v.version}" for v in one.versions)
    return f"{what}: {versions}; no verdict on a node depends on it: make them alike (update the part, or replace what is missing), or declare what is right, and its check names the nodes"


def _skew(unit: str, component: str, model: str, versions: tuple[VersionNodes, ...]) -> InstalledSkew:
    return InstalledSkew(unit, component, model, versions, majority=len(versions[0].nodes) > len(versions[1].nodes))
