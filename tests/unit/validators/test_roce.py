from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from clusterctl_validators import test_roce as module
from clusterctl_validators.finding import GOOD
from support.os_node import Case, cases, findings
from support.roles import ROOT, load_role

if TYPE_CHECKING:
    from pathlib import Path

ROLE = load_role(ROOT / "roles" / "roce")


@pytest.mark.parametrize("case", cases("roce"), ids=lambda c: c.name)
def test_findings_of_a_node(case: Case, tmp_path: Path) -> None:
    found = findings(case, module, tmp_path)
    assert {check: f.outcome.value for check, f in found.items() if f.outcome not in GOOD} == case.outcomes


def test_the_healthy_node_declares_every_argument() -> None:
    assert cases("roce")[0].declared == set(ROLE.options)


def test_every_finding_has_a_hint(tmp_path: Path) -> None:
    for case in cases("roce"):
        found = findings(case, module, tmp_path / case.name)
        assert [c for c, f in found.items() if f.outcome.value == "fail" and not f.hint] == []


def test_defaults_declare_nothing(tmp_path: Path) -> None:
    found = findings(Case("roce", "defaults", {"spec": ROLE.defaults}, {}), module, tmp_path)
    assert {f.outcome.value for f in found.values()} == {"not_applicable"}


@pytest.mark.parametrize(
    ("kind", "route", "found"),
    [
        ("blackhole", {"dst": "10.3.0.64/26"}, "blackhole 10.3.0.64/26 in table 254"),
        ("unreachable", {"dst": "10.3.0.0/24", "table": "77"}, "unreachable 10.3.0.0/24 in table 77"),
        ("prohibit", {"dst": "10.3.0.9"}, "prohibit 10.3.0.9 in table 254"),
        # An aggregate, of which the route of the rail is the more specific part; and networks of pods (Calico).
        ("blackhole", {"dst": "10.0.0.0/8"}, ""),
        ("unreachable", {"dst": "default"}, ""),
        ("blackhole", {"dst": "10.244.12.64/26", "protocol": "80"}, ""),
    ],
)
def test_routes_that_refuse_a_rail(kind: str, route: dict[str, str], found: str, tmp_path: Path) -> None:
    """iproute2 6.1 prints these kinds as numbers with -N; the kind that was requested is known."""
    shown = json.dumps([{"type": "6", **route, "flags": []}])
    rail = {"roce_rails": [{"device": "mlx5_3", "rail": 3, "port": 1, "interface": "", "address": "10.3.0.1/24", "gateway": "10.3.0.0"}]}
    case = Case("roce", "refused", {"spec": rail, "commands": {f"ip -4 -N -j route show table all type {kind}": shown}}, {})
    finding = findings(case, module, tmp_path).get("roce.rails[mlx5_3].refused_networks")
    assert (finding.found if finding else "") == found
