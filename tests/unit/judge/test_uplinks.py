"""One bad uplink of a leaf, and a bad spine: what the links of a night show, and what is said about devices."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterctl.core.gates.judging.attribution import End, Graph, Link, LinkState
from clusterctl.core.gates.judging.direction import HIGHER_IS_BETTER
from clusterctl.core.gates.judging.low_shares import LowShare, chance
from clusterctl.core.gates.judging.pair_findings import PairFindings, findings_of
from clusterctl.core.gates.judging.shared_faults import DevicePlaces, SharedFault, SharedPart
from clusterctl.core.gates.planning.schedule import matchings
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl.model.node import Place
from culprits.fleet import Fleet, night_of
from culprits.spine_layer import SpineLayer
from support.gates import CASES
from support.plain_yaml import load_yaml

FABRICS: list[dict[str, Any]] = load_yaml((CASES / "uplinks" / "fabrics.yml").read_text(encoding="utf-8"))
CHANCES: list[dict[str, Any]] = load_yaml((CASES / "uplinks" / "chances.yml").read_text(encoding="utf-8"))
_CROSS = (SharedPart.UPLINK, SharedPart.SPINES)


@dataclass(frozen=True)
class Fabric:
    """Nodes at leaves, and what is low; `per_leaf` 0: no leaf is declared."""

    nodes: int
    per_leaf: int
    rails: int = 1
    noise: float = 0.03
    layer: dict[str, Any] = field(default_factory=dict)
    path: tuple[int, ...] = ()
    low_nodes: tuple[int, ...] = ()

    def place(self, name: str) -> Place:
        if not self.per_leaf:
            return Place()
        leaf = int(name[1:]) // self.per_leaf
        group = self.layer.get("leaves_per_group")
        return Place(leaf=f"leaf{leaf}", spine=f"spine{leaf // group}" if group else "")

    def is_low(self, one: str, other: str, rail: int) -> bool:
        layer = SpineLayer(self.per_leaf or 32, **self.layer)
        leaves = {layer.leaf(one), layer.leaf(other)}
        numbers = {int(one[1:]), int(other[1:])}
        return layer(one, other, rail) or leaves == set(self.path) or (len(leaves) > 1 and bool(numbers & set(self.low_nodes)))


def findings(fabric: Fabric, seed: str, rounds: int = 3) -> PairFindings:
    names = [f"n{i}" for i in range(fabric.nodes)]
    places = {name: fabric.place(name) for name in names}
    random = Random(seed)  # noqa: S311 a simulation
    links: list[Link] = []
    for one, other in (pair for pairs in matchings(names, lambda n: places[n].leaf, rounds, seed) for pair in pairs):
        for rail in range(fabric.rails):
            low = fabric.is_low(min(one, other), max(one, other), rail) or random.random() < fabric.noise
            state = LinkState.LOW if low else LinkState.OK
            links.append(Link((one, f"mlx5_{rail}"), (other, f"mlx5_{rail}"), state, 200.0 if low else 392.0, 360.0))
    rails: dict[End, int] = {(name, f"mlx5_{rail}"): rail for name in names for rail in range(fabric.rails)}
    return findings_of(Graph(links), DevicePlaces(places, rails), dict.fromkeys(rails, ""), {}, HIGHER_IS_BETTER)


def named(found: PairFindings) -> list[SharedFault]:
    return sorted({f for f in found.between.values() if f.part in _CROSS}, key=lambda f: (f.part, f.name, f.rail or 0))


@pytest.mark.parametrize("case", CHANCES, ids=lambda c: c["source"])
def test_the_chance_of_as_many_low_links(case: dict[str, Any]) -> None:
    assert chance(LowShare(*case["own"]), LowShare(*case["others"])) == pytest.approx(case["chance"], rel=1e-4)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 300), st.integers(0, 300))
def test_a_chance_is_a_probability_and_falls_with_each_low_link(low: int, more: int, others_low: int, others_fine: int) -> None:
    others = LowShare(others_low, others_low + others_fine)
    chances = [chance(LowShare(n, low + more), others) for n in range(low, low + more + 1)]
    assert all(0 <= c <= 1 + 1e-9 for c in chances)
    assert all(a >= b - 1e-9 for a, b in pairwise(chances))


@pytest.mark.parametrize("case", FABRICS, ids=lambda c: c["id"])
def test_what_is_named_in_ten_nights(case: dict[str, Any]) -> None:
    fabric = Fabric(**{k: v for k, v in case.items() if k not in ("id", "named")})
    for night in range(10):
        found = named(findings(fabric, f"night-{night}"))
        assert [[f.part.value, f.name, f.rail] for f in found] == case["named"], night


@settings(deadline=None, max_examples=150)
@given(st.integers(4, 12), st.integers(4, 24), st.integers(1, 4), st.sampled_from((0.0, 0.03, 0.06)), st.integers(0, 10**6))
def test_a_healthy_fabric_has_no_bad_uplink_and_no_bad_spine(leaves: int, per_leaf: int, rails: int, noise: float, seed: int) -> None:
    assert named(findings(Fabric(leaves * per_leaf, per_leaf, rails, noise), str(seed))) == []


def test_a_device_that_is_low_only_by_an_uplink_is_not_at_fault() -> None:
    """Ways by receiver: some devices of the leaf are low with everybody across leaves, which alone looks like a fault of theirs."""
    found = findings(Fabric(96, 16, noise=0.0, layer={"bad_leaf": 2, "static": True}), "all", rounds=0)
    looking_faulty = [end for end in found.graph.ends if end in found.graph.slow]
    assert looking_faulty
    assert [f.name for f in named(found)] == ["leaf2"]
    assert [end for end in found.graph.ends if found.is_slow(end)] == []
    assert all(found.is_collision(end) for end in looking_faulty)


def test_a_bad_device_behind_a_bad_uplink_is_at_fault_all_the_same() -> None:
    fabric = Fabric(96, 16, noise=0.0, layer={"bad_leaf": 2, "static": True})
    bad = ("n33", "mlx5_0")
    found = findings(fabric, "all", rounds=0)
    links = {link for end in found.graph.ends for link in found.graph.of(end)}
    spoiled = [Link(li.one, li.other, LinkState.LOW, 200.0, 360.0) if bad in (li.one, li.other) else li for li in links]
    again = findings_of(Graph(spoiled), found.topology, dict.fromkeys(found.topology.rails, ""), {}, HIGHER_IS_BETTER)
    assert [f.name for f in named(again)] == ["leaf2"]
    assert [end for end in again.graph.ends if again.is_slow(end)] == [bad]


@pytest.mark.parametrize(
    ("layer", "detail", "hint"),
    [
        ({"bad_leaf": 2}, "one of the uplinks of leaf2 for rail 0: ", "check uplinks of leaf2 for rail 0 one by one"),
        ({"bad_group": 0}, "the spines for rail 0, no leaf: ", "check the spines for rail 0 one by one"),
    ],
)
def test_who_met_it_gets_a_warning_and_nobody_is_held(layer: dict[str, Any], detail: str, hint: str) -> None:
    fleet = Fleet(256, 64, noise=0.0, low=SpineLayer(64, **layer))
    results = night_of(fleet, fleet.subjects(), "run").results
    assert {r.outcome for r in results} == {Outcome.PASS, Outcome.WARN}
    warned = [r for r in results if r.outcome is Outcome.WARN]
    assert {(r.reason, r.rule) for r in warned} == {(GateReason.SHARED_FAULT, "floor")}
    assert all(f"both ends are proven: {detail}" in r.detail and "links across leaves were low" in r.detail for r in warned)
    assert all(r.hint.startswith(f"nothing on {r.node}; {hint}") for r in warned)
    assert all(r.value is not None and r.value >= 360 for r in warned), "its own history keeps what it read with others"
