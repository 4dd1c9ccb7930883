"""What the validators find on nodes of a rack, those that compare the nodes with each other among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.validator_declarations import validator_traits
from clusterctl.core.gates.judging.installed_skew import installed_skews
from clusterctl.core.installed_versions import installed_versions
from clusterctl.core.rack_comparison import compared
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.validator_traits import RackRule
from clusterctl_validators import test_hardware, test_nvlink_domain
from faults.node_files import findings
from faults.world import spec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.model.installed_skew import InstalledSkew
    from clusterctl_validators.finding import Finding
    from faults.world import Rack

_RULE = RackRule(**test_nvlink_domain.RACK)  # type: ignore[arg-type]


def findings_of_rack(rack: Rack, checked: Sequence[str]) -> dict[str, tuple[Finding, ...]]:
    """Node -> its findings, for the nodes `checked`. Trays of an NVLink domain are compared with all others of their rack, as `clusterctl validate` does."""
    found = {name: findings(rack, name) for name in checked}
    role = test_nvlink_domain.ROLE
    if role not in spec(rack.kind).roles:
        return found
    others = {n: _as_answered(n, _compared_of(rack, n)) for n in rack.kind.nodes if n not in found}
    members = [_as_answered(name, own) for name, own in found.items()]
    declared = dict.fromkeys(found, spec(rack.kind).roles[role])
    return {m.node: m.findings for m in compared(role, _RULE, members, declared, dict(others))}


def skews_of_rack(rack: Rack, found: Mapping[str, tuple[Finding, ...]]) -> tuple[InstalledSkew, ...]:
    """What a burn-in says of installed parts that differ; `found`: node -> its findings, those of the others are of a node that nothing has changed."""
    unchanged = next(n for n in rack.kind.nodes if n not in {c.node for c in rack.changes})
    usual = installed_versions(findings(rack, unchanged, test_hardware), validator_traits())
    installed = {n: installed_versions(found[n], validator_traits()) if n in found else usual for n in rack.kind.nodes}
    return installed_skews(dict.fromkeys(rack.kind.nodes, ""), installed)


def _compared_of(rack: Rack, node: str) -> tuple[Finding, ...]:
    """What the comparison reads of a node."""
    return (*findings(rack, node, test_nvlink_domain), *findings(rack, node, test_hardware))


def _as_answered(node: str, own: tuple[Finding, ...]) -> NodeFindings:
    return NodeFindings(node, NodeStatus.OK, "", own, 0.0)
