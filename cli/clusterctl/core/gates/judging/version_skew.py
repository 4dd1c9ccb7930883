"""Versions of tools that differ between the nodes of a scalable unit. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.gates.registry import gate_named
from clusterctl.model.running_text import first_of
from clusterctl.model.version_skew import VersionNodes, VersionSkew

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from clusterctl.model.gate_result import GateResult


def version_skews(units: Mapping[str, str], results: Sequence[GateResult]) -> tuple[VersionSkew, ...]:
    """For each gate and scalable unit (`units`: that of each node) whose results name more than one version of the tool, which nodes have which.

    Nodes with different versions are classes of their own, so without this a rack that was half updated is judged by its floors only.
    """
    found: dict[tuple[str, str], dict[str, set[str]]] = {}
    for result in results:
        if result.tool_version and result.node in units:
            versions = found.setdefault((result.gate, units[result.node]), {})
            versions.setdefault(result.tool_version, set()).add(result.node)
    return tuple(
        VersionSkew(unit, gate, gate_named(gate).tool, most_first(versions))
        for (gate, unit), versions in sorted(found.items())
        if len(versions) > 1
    )


def skew_text(one: VersionSkew) -> str:
    """For people: the versions with their nodes, and what to do."""
    versions = "; ".join(f"{v.version} on {first_of(v.nodes)}" for v in one.versions)
    where = f" in scalable unit {one.unit}" if one.unit else ""
    return f"{one.gate} was measured with different versions of {one.tool}{where}, so these nodes are not compared with each other: {versions}; install one version, then burn in again"


def most_first(versions: Mapping[str, Collection[str]]) -> tuple[VersionNodes, ...]:
    """The versions with their nodes, that of most nodes first."""
    order = sorted(versions, key=lambda version: (-len(versions[version]), version))
    return tuple(VersionNodes(version, tuple(sorted(versions[version]))) for version in order)
