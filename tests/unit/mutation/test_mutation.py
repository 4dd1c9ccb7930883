"""The mutation test itself: it must miss what is missed."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml
from pydantic import ValidationError

from clusterctl.adapters.inventory.load import load_nodes
from clusterctl_lab.simulator.hardware_kinds import KINDS
from clusterctl_validators.finding import Finding, Outcome, Severity
from mutation.bench import Repair
from mutation.engine import Record, Score, one_round, total
from mutation.kinds import kinds
from mutation.pattern import caught, filled
from mutation.rules import CASES, Mutation, RuleFile, Shared, catalogue, load, rounds, script
from support.demo_rack import DemoRack
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from mutation.bench import Bench


def finding(check: str, outcome: Outcome = Outcome.PASS, expected: str = "") -> Finding:
    return Finding(check, check.partition(".")[0], outcome, Severity.MAJOR, expected, "other")


def mutation(check: str, *, thing: str = "", also: tuple[str, ...] = ()) -> Mutation:
    return Mutation(check, check.partition(".")[0], "", check, "", thing or check, also, "", "node")


@dataclass
class FakeBench:
    """A node whose changes show as `shows` says; a change that it does not name shows as its own id."""

    shows: dict[str, tuple[str, ...]] = field(default_factory=dict)
    cures: bool = True
    ran: tuple[str, ...] = ("nccl",)
    changed: tuple[str, ...] = ("nccl",)
    now: dict[str, Finding] = field(default_factory=dict)

    def run(self, text: str, where: str = "node") -> str:
        self.now.update({c: finding(c, Outcome.FAIL) for c in self.shows.get(text, (text,))})
        return ""

    def bad(self, roles: Any = ()) -> dict[str, Finding]:
        return {c: f for c, f in self.now.items() if not roles or f.role in roles}

    def repair(self) -> Repair:
        if self.cures:
            self.now.clear()
        return Repair(("nccl",), self.ran, self.changed)


def verdicts(bench: FakeBench, *batch: Mutation) -> list[tuple[bool, bool]]:
    false: list[str] = []
    return [(r.detected, r.repaired) for r in one_round(cast("Bench", bench), batch, false)]


def test_told_and_repaired() -> None:
    assert verdicts(FakeBench(), mutation("nccl.a"), mutation("nccl.b")) == [(True, True)] * 2


@pytest.mark.parametrize(
    ("bench", "expected"),
    [
        pytest.param(FakeBench({"nccl.a": ()}), (False, True), id="nothing is told"),
        pytest.param(FakeBench({"nccl.a": ("nccl.b",)}), (False, True), id="another id is told"),
        pytest.param(FakeBench({"nccl.a": ("nccl.a", "nccl.b")}), (False, True), id="more is told"),
        pytest.param(FakeBench({"nccl.a": ("nccl.a", "cuda.b")}), (False, True), id="another role tells"),
        pytest.param(FakeBench(now={"nccl.a": finding("nccl.a", Outcome.FAIL)}), (False, True), id="told before"),
        pytest.param(FakeBench(cures=False), (True, False), id="not repaired"),
        pytest.param(FakeBench(ran=("nccl", "cuda")), (True, False), id="another role ran"),
    ],
)
def test_what_is_missed(bench: FakeBench, expected: tuple[bool, bool]) -> None:
    assert verdicts(bench, mutation("nccl.a")) == [expected]


def test_ids_of_the_same_fact_are_expected() -> None:
    bench = FakeBench({"nccl.a": ("nccl.a", "nccl.a2")})
    assert verdicts(bench, mutation("nccl.a", also=("nccl.a*",))) == [(True, True)]


def pair(check: str, *tells: str, repairs: bool = False) -> Shared:
    return Shared(check=check, tells=tells, reason="both look at one and the same thing", repairs=repairs)


BOTH = FakeBench({"nccl.a": ("nccl.a", "cuda.b")}, ran=("nccl", "cuda"), changed=("nccl",))


@pytest.mark.parametrize(
    ("bench", "shared", "expected"),
    [
        pytest.param(BOTH, pair("nccl.a", "cuda.b"), (True, True), id="a declared pair"),
        pytest.param(BOTH, None, (False, False), id="no pair"),
        pytest.param(BOTH, pair("nccl.a", "kernel.b"), (False, False), id="a pair with another role"),
        pytest.param(BOTH, pair("nccl.a", "cuda.c"), (False, True), id="another id of that role"),
        pytest.param(
            replace(BOTH, changed=("nccl", "cuda")), pair("nccl.a", "cuda.b"), (True, False), id="the other role changed something"
        ),
        pytest.param(
            replace(BOTH, changed=("cuda",)), pair("nccl.a", "cuda.b", repairs=True), (True, True), id="the other role repairs it"
        ),
    ],
)
def test_another_role_may_run_only_as_declared(bench: FakeBench, shared: Shared | None, expected: tuple[bool, bool]) -> None:
    asked = replace(mutation("nccl.a"), shared=(shared,) if shared else ())
    assert verdicts(replace(bench, now={}), asked) == [expected]


def test_a_role_that_only_the_same_roles_ids_excuse_may_not_run() -> None:
    assert verdicts(FakeBench(ran=("nccl", "cuda")), mutation("nccl.a", also=("nccl.b",))) == [(True, False)]


@pytest.mark.parametrize(
    "text",
    [
        "settings: [{check: nccl.a, run: 'true', also: [cuda.b], because: both are the same}]",
        "shared: [{check: nccl.a, tells: [nccl.b], reason: both look at one and the same thing}]",
        "shared: [{check: nccl.a, tells: [cuda.b, kernel.c], reason: both look at one and the same thing}]",
        "shared: [{check: nccl.a, tells: [], reason: both look at one and the same thing}]",
        "shared: [{check: nccl.a, tells: [cuda.b], reason: so}]",
    ],
)
def test_a_pair_of_roles_is_declared_as_one_or_not_at_all(text: str) -> None:
    with pytest.raises(ValidationError):
        RuleFile.model_validate(yaml.safe_load(text))


def test_a_pair_holds_for_its_own_ids_only() -> None:
    found = catalogue([finding(f"nvidia_driver.gpu[{i}].power_limit_w", expected="700") for i in (0, 1)])
    assert [m.shared[0].tells for m in found.mutations] == [("hardware.gpu[0].power_limit_w",), ("hardware.gpu[1].power_limit_w",)]
    other = catalogue([finding("nvidia_driver.persistenced.service.running", expected="active")])
    assert [m.shared for m in other.mutations] == [()]


def test_what_is_left_and_unexplained_is_a_false_finding() -> None:
    bench = FakeBench(cures=False, now={"cuda.x": finding("cuda.x", Outcome.FAIL)})
    false: list[str] = []
    one_round(cast("Bench", bench), [mutation("nccl.a")], false)
    assert false == ["cuda.x"]


def test_a_setting_counts_only_if_every_way_is_seen() -> None:
    score = Score("p", ("nccl.a", "nccl.b"), {}, ("nccl.b",))
    bench = FakeBench({"nccl.a": ("nccl.a",)})
    score.records += one_round(cast("Bench", bench), [mutation("nccl.a")], [])
    assert score.missed == ["nccl.b"], "nothing changes it"
    score.records += one_round(cast("Bench", FakeBench({"nccl.a": ()})), [mutation("nccl.a")], [])
    assert score.missed == ["nccl.a", "nccl.b"]


def test_the_sums_are_of_all_nodes() -> None:
    score = Score("p", ("nccl.a", "nccl.b"), {}, ("nccl.b",), [Record("nccl.a", "nccl", "", detected=True, repaired=True)])
    other = Score("q", ("roce.a",), {}, (), [Record("roce.a", "roce", "", detected=True, repaired=True)], ["roce.b"])
    document = total([score, other])
    sums = {key: document[key] for key in ("settings", "detected", "repaired", "false_findings", "missed")}
    assert sums == {"settings": 3, "detected": 2, "repaired": 2, "false_findings": 1, "missed": ["nccl.b"]}
    assert [one["kind"] for one in document["nodes"]] == ["p", "q"]


def test_rounds_change_no_object_twice() -> None:
    batches = rounds([mutation("a.present", thing="f"), mutation("a.mode", thing="f"), mutation("b.mode", thing="g")])
    assert [[m.check for m in b] for b in batches] == [["a.present", "b.mode"], ["a.mode"]]


def test_what_takes_the_ground_from_others_comes_last() -> None:
    removed = replace(mutation("a.present"), last=True)
    assert [[m.check for m in b] for b in rounds([removed, mutation("a.mode"), mutation("b.mode")])] == [
        ["a.mode", "b.mode"],
        ["a.present"],
    ]


def test_patterns() -> None:
    assert caught("a.<x>[<y>].mode", "a.b[c.d].mode") == {"x": "b", "y": "c.d"}
    assert caught("a.<x>[<x>]", "a.b[c]") is None
    assert caught("a.*", "b.a.c") is None
    assert filled("<x>.*<z>", {"x": "1"}) == "1.*<z>"


def test_facts_reach_the_shell_as_they_are() -> None:
    text = script('printf %s "$key"', {"key": "a b; 'c' $(d)"})
    assert subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True).stdout == "a b; 'c' $(d)"


def test_the_catalogue_takes_the_roles_own_rule_a_reason_or_misses() -> None:
    found = catalogue(
        [
            finding("nccl.package[x].held"),
            finding("nccl.library"),
            finding("nccl.unheard_of"),
            finding("nccl.conf[A]"),
            finding("nccl.conf[B]", Outcome.NOT_APPLICABLE),
        ]
    )
    assert {m.check for m in found.mutations} == {"nccl.package[x].held", "nccl.conf[A]"}
    assert found.without == ("nccl.unheard_of",)
    assert list(found.exempt) == ["nccl.library"]


def test_what_another_node_had_with_the_same_expectation_is_not_changed_again() -> None:
    before = catalogue([finding("nccl.conf[A]", expected="1"), finding("nccl.conf[B]", expected="2"), finding("nccl.unheard_of")])
    now = catalogue([finding("nccl.conf[A]", expected="1"), finding("nccl.conf[B]", expected="3"), finding("nccl.conf[C]", expected="1")])
    left = now.besides(before.expectations)
    assert {m.check for m in left.mutations} == {"nccl.conf[B]", "nccl.conf[C]"}
    assert left.same == ("nccl.conf[A]",)
    assert left.settings == ("nccl.conf[B]", "nccl.conf[C]")


def test_a_node_comes_after_the_one_that_it_is_like() -> None:
    names = list(kinds())
    assert all(names.index(kind.like) < names.index(name) for name, kind in kinds().items() if kind.like)
    assert {KINDS[kind.hardware].profile for kind in kinds().values()} == {kind.profile for kind in KINDS.values()}


@pytest.mark.parametrize("name", sorted(kinds()))
def test_a_kind_of_node_is_a_layer_that_ansible_reads(name: str, tmp_path: Path) -> None:
    kind, rack = kinds()[name], DemoRack(tmp_path, 34)
    kind.write_layer(rack, tmp_path / "kind" / "hosts.json")
    hosts = tmp_path / "lab.yml"
    names = [rack.node(slot) for slot in range(1, kind.nodes + 1)]
    hosts.write_text(yaml.safe_dump({KINDS[kind.hardware].profile: {"hosts": {n: {"rack": "rack-34", "rack_slot": 1} for n in names}}}))
    nodes = load_nodes((ROOT / "inventory" / "common", ROOT / "inventory" / "lab", hosts, tmp_path / "kind"), ",".join(names))
    assert [n.name for n in nodes] == names
    for node in nodes:
        assert set(node.spec.roles) == set(kind.vars.get("node_roles", node.spec.roles)) > {"ofed"}


def test_the_words_of_a_file_come_before_those_of_its_rules() -> None:
    (made,) = catalogue([finding("roce.rails[mlx5_3].dcbx.running", expected="os")]).mutations
    assert made.script.index("device=mlx5_3") < made.script.index("interface=$(ls") < made.script.index("mlnx_qos -i")


@pytest.mark.parametrize("name", sorted(p.stem for p in CASES.glob("*.yml")))
def test_every_file_of_rules(name: str) -> None:
    rules = load(name)
    assert rules != RuleFile()
    assert all(r.because for r in rules.settings if r.also), "why another id moves, too"
    assert all((ROOT / "roles" / s.role).is_dir() and s.check.startswith(f"{name}.") for s in rules.shared)
    for rule in rules.settings:
        done = subprocess.run(["bash", "-n", "-c", rule.run], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
