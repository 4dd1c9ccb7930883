"""Declared state and its problems on stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.running_text import counted
from clusterctl.model.site_documents import ListedProfile, ProfileCheckDocument, ProfileDocument, ProfilesDocument, RoleOfSpec, ShownSpec
from clusterctl.terminal import messages, out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.declared_state import InventoryCheck, SpecGroup
    from clusterctl.model.problem import Problem
    from clusterctl.model.topology import Topology


def specs(output: str, groups: Sequence[SpecGroup], role: str | None = None) -> None:
    """Each distinct spec with its nodes; with `role`, only that role's variables."""
    out.emit_document(output, "profile", ProfileDocument(tuple(_spec(g, role) for g in groups)))


def profiles(output: str, topology: Topology) -> None:
    """The profiles and how many nodes are in each."""
    rows = [(p, len(topology.groups[p])) for p in topology.profiles]
    if output == "table":
        out.table(("PROFILE", "NODES"), [(p, str(n)) for p, n in rows])
    else:
        out.emit_document(output, "profiles", ProfilesDocument(tuple(ListedProfile(p, n) for p, n in rows)))


def checked(output: str, result: InventoryCheck) -> None:
    """Print what was checked without a problem."""
    if result.store_problem:
        messages.note(f"waivers were compared with the names of roles only: {result.store_problem}")
    if output == "table":
        messages.note(
            f"ok: {counted(result.nodes, 'node')} with {counted(result.specs, 'distinct spec')}; profiles without a node: {', '.join(result.profiles) or 'none'}"
        )
    else:
        out.emit_document(output, "profile_check", ProfileCheckDocument((), result.nodes, result.specs, result.profiles))


def show_problems(output: str, found: Sequence[Problem]) -> None:
    """The problems as a document; the error message shows them to people."""
    if output != "table":
        out.emit_document(output, "profile_check", ProfileCheckDocument(tuple(found)))


def _spec(group: SpecGroup, role: str | None) -> RoleOfSpec:
    spec = group.spec
    if role is not None:
        return RoleOfSpec(group.profile, spec.digest, group.nodes, {role: spec.roles[role]} if role in spec.roles else {})
    return ShownSpec(group.profile, spec.digest, group.nodes, dict(spec.roles), dict(spec.gates))
