"""The mutation test must report changes that are not detected or not repaired."""

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
from mutation.check_patterns import fill_pattern, match_pattern
from mutation.mutation_rounds import Record, Score, run_round, summary
from mutation.node_kinds import load_kinds
from mutation.node_under_test import Repair
from mutation.rules import CASES, Mutation, RuleFile, SharedFact, load_rules, mutation_catalogue, shell_script, split_into_rounds
from support.demo_rack import DemoRack
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from mutation.node_under_test import NodeUnderTest


def finding(check: str, outcome: Outcome = Outcome.PASS, expected: str = "") -> Finding:
    return Finding(check, check.partition(".")[0], outcome, Severity.MAJOR, expected, "other")


def mutation(check: str, *, thing: str = "", also: tuple[str, ...] = ()) -> Mutation:
    return Mutation(check, check.partition(".")[0], "", check, "", thing or check, also, "", "node")


@dataclass
class FakeNode:
    """A node whose findings after a change are given by `shows`; by default a change causes a finding with its own id."""

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


def verdicts(node: FakeNode, *batch: Mutation) -> list[tuple[bool, bool]]:
    false: list[str] = []
    return [(r.detected, r.repaired) for r in run_round(cast("NodeUnderTest", node), batch, false)]


def test_changes_are_detected_and_repaired() -> None:
    assert verdicts(FakeNode(), mutation("nccl.a"), mutation("nccl.b")) == [(True, True)] * 2


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(FakeNode({"nccl.a": ()}), (False, True), id="no finding"),
        pytest.param(FakeNode({"nccl.a": ("nccl.b",)}), (False, True), id="finding with another id"),
        pytest.param(FakeNode({"nccl.a": ("nccl.a", "nccl.b")}), (False, True), id="additional finding"),
        pytest.param(FakeNode({"nccl.a": ("nccl.a", "cuda.b")}), (False, True), id="finding of another role"),
        pytest.param(FakeNode(now={"nccl.a": finding("nccl.a", Outcome.FAIL)}), (False, True), id="finding before the change"),
        pytest.param(FakeNode(cures=False), (True, False), id="not repaired"),
        pytest.param(FakeNode(ran=("nccl", "cuda")), (True, False), id="another role ran"),
    ],
)
def test_changes_that_are_not_detected_or_not_repaired(node: FakeNode, expected: tuple[bool, bool]) -> None:
    assert verdicts(node, mutation("nccl.a")) == [expected]


def test_other_ids_of_the_same_fact_are_accepted() -> None:
    node = FakeNode({"nccl.a": ("nccl.a", "nccl.a2")})
    assert verdicts(node, mutation("nccl.a", also=("nccl.a*",))) == [(True, True)]


def pair(check: str, *tells: str, repairs: bool = False) -> SharedFact:
    return SharedFact(check=check, tells=tells, reason="both roles check the same fact", repairs=repairs)


BOTH = FakeNode({"nccl.a": ("nccl.a", "cuda.b")}, ran=("nccl", "cuda"), changed=("nccl",))


@pytest.mark.parametrize(
    ("node", "shared", "expected"),
    [
        pytest.param(BOTH, pair("nccl.a", "cuda.b"), (True, True), id="declared shared fact"),
        pytest.param(BOTH, None, (False, False), id="no shared fact"),
        pytest.param(BOTH, pair("nccl.a", "kernel.b"), (False, False), id="fact shared with another role"),
        pytest.param(BOTH, pair("nccl.a", "cuda.c"), (False, True), id="another id of the other role"),
        pytest.param(replace(BOTH, changed=("nccl", "cuda")), pair("nccl.a", "cuda.b"), (True, False), id="the other role made changes"),
        pytest.param(
            replace(BOTH, changed=("cuda",)), pair("nccl.a", "cuda.b", repairs=True), (True, True), id="the other role repairs it"
        ),
    ],
)
def test_another_role_may_run_only_for_a_declared_shared_fact(
    node: FakeNode, shared: SharedFact | None, expected: tuple[bool, bool]
) -> None:
    change = replace(mutation("nccl.a"), shared=(shared,) if shared else ())
    assert verdicts(replace(node, now={}), change) == [expected]


def test_ids_of_the_same_role_do_not_allow_another_role_to_run() -> None:
    assert verdicts(FakeNode(ran=("nccl", "cuda")), mutation("nccl.a", also=("nccl.b",))) == [(True, False)]


@pytest.mark.parametrize(
    "text",
    [
        "settings: [{check: nccl.a, run: 'true', also: [cuda.b], because: both are the same}]",
        "shared: [{check: nccl.a, tells: [nccl.b], reason: both roles check the same fact}]",
        "shared: [{check: nccl.a, tells: [cuda.b, kernel.c], reason: both roles check the same fact}]",
        "shared: [{check: nccl.a, tells: [], reason: both roles check the same fact}]",
        "shared: [{check: nccl.a, tells: [cuda.b], reason: so}]",
    ],
)
def test_an_invalid_shared_fact_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        RuleFile.model_validate(load_yaml(text))


def test_a_shared_fact_applies_to_its_own_ids_only() -> None:
    found = mutation_catalogue([finding(f"nvidia_driver.gpu[{i}].power_limit_w", expected="700") for i in (0, 1)])
    assert [m.shared[0].tells for m in found.mutations] == [("hardware.gpu[0].power_limit_w",), ("hardware.gpu[1].power_limit_w",)]
    other = mutation_catalogue([finding("nvidia_driver.persistenced.service.running", expected="active")])
    assert [m.shared for m in other.mutations] == [()]


def test_an_unexplained_finding_after_the_repair_is_a_false_finding() -> None:
    node = FakeNode(cures=False, now={"cuda.x": finding("cuda.x", Outcome.FAIL)})
    false: list[str] = []
    run_round(cast("NodeUnderTest", node), [mutation("nccl.a")], false)
    assert false == ["cuda.x"]


def test_a_setting_counts_only_if_all_its_changes_are_detected() -> None:
    score = Score("p", ("nccl.a", "nccl.b"), {}, ("nccl.b",))
    node = FakeNode({"nccl.a": ("nccl.a",)})
    score.records += run_round(cast("NodeUnderTest", node), [mutation("nccl.a")], [])
    assert score.missed == ["nccl.b"], "no mutation changes it"
    score.records += run_round(cast("NodeUnderTest", FakeNode({"nccl.a": ()})), [mutation("nccl.a")], [])
    assert score.missed == ["nccl.a", "nccl.b"]


def test_the_summary_adds_up_all_nodes() -> None:
    score = Score("p", ("nccl.a", "nccl.b"), {}, ("nccl.b",), [Record("nccl.a", "nccl", "", detected=True, repaired=True)])
    other = Score("q", ("roce.a",), {}, (), [Record("roce.a", "roce", "", detected=True, repaired=True)], ["roce.b"])
    document = summary([score, other])
    sums = {key: document[key] for key in ("settings", "detected", "repaired", "false_findings", "missed")}
    assert sums == {"settings": 3, "detected": 2, "repaired": 2, "false_findings": 1, "missed": ["nccl.b"]}
    assert [one["kind"] for one in document["nodes"]] == ["p", "q"]


def test_a_round_changes_no_object_twice() -> None:
    batches = split_into_rounds([mutation("a.present", thing="f"), mutation("a.mode", thing="f"), mutation("b.mode", thing="g")])
    assert [[m.check for m in b] for b in batches] == [["a.present", "b.mode"], ["a.mode"]]


def test_changes_that_prevent_others_come_last() -> None:
    removed = replace(mutation("a.present"), last=True)
    assert [[m.check for m in b] for b in split_into_rounds([removed, mutation("a.mode"), mutation("b.mode")])] == [
        ["a.mode", "b.mode"],
        ["a.present"],
    ]


def test_patterns_capture_and_fill_parts() -> None:
    assert match_pattern("a.<x>[<y>].mode", "a.b[c.d].mode") == {"x": "b", "y": "c.d"}
    assert match_pattern("a.<x>[<x>]", "a.b[c]") is None
    assert match_pattern("a.*", "b.a.c") is None
    assert fill_pattern("<x>.*<z>", {"x": "1"}) == "1.*<z>"


def test_facts_are_quoted_for_the_shell() -> None:
    text = shell_script('printf %s "$key"', {"key": "a b; 'c' $(d)"})
    assert subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True).stdout == "a b; 'c' $(d)"


def test_the_catalogue_prefers_the_roles_rules_and_lists_exemptions_and_settings_without_a_rule() -> None:
    found = mutation_catalogue(
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


def test_settings_tested_on_another_node_are_not_changed_again() -> None:
    before = mutation_catalogue([finding("nccl.conf[A]", expected="1"), finding("nccl.conf[B]", expected="2"), finding("nccl.unheard_of")])
    now = mutation_catalogue(
        [finding("nccl.conf[A]", expected="1"), finding("nccl.conf[B]", expected="3"), finding("nccl.conf[C]", expected="1")]
    )
    left = now.without_known(before.expectations)
    assert {m.check for m in left.mutations} == {"nccl.conf[B]", "nccl.conf[C]"}
    assert left.same == ("nccl.conf[A]",)
    assert left.settings == ("nccl.conf[B]", "nccl.conf[C]")


def test_a_kind_comes_after_the_kind_that_it_refers_to() -> None:
    names = list(load_kinds())
    assert all(names.index(kind.like) < names.index(name) for name, kind in load_kinds().items() if kind.like)
    assert {KINDS[kind.hardware].profile for kind in load_kinds().values()} == {kind.profile for kind in KINDS.values()}


@pytest.mark.parametrize("name", sorted(load_kinds()))
def test_a_kind_of_node_gives_a_valid_inventory_layer(name: str, tmp_path: Path) -> None:
    kind, rack = load_kinds()[name], DemoRack(tmp_path, 34)
    kind.write_layer(rack, tmp_path / "kind" / "hosts.json")
    hosts = tmp_path / "lab.yml"
    names = [rack.node(slot) for slot in range(1, kind.nodes + 1)]
    hosts.write_text(yaml.safe_dump({KINDS[kind.hardware].profile: {"hosts": {n: {"rack": "rack-34", "rack_slot": 1} for n in names}}}))
    nodes = load_nodes((ROOT / "inventory" / "common", ROOT / "inventory" / "lab", hosts, tmp_path / "kind"), ",".join(names))
    assert [n.name for n in nodes] == names
    for node in nodes:
        assert set(node.spec.roles) == set(kind.vars.get("node_roles", node.spec.roles)) > {"ofed"}


def test_the_prelude_of_a_file_comes_before_its_rules() -> None:
    (made,) = mutation_catalogue([finding("roce.rails[mlx5_3].dcbx.running", expected="os")]).mutations
    assert made.script.index("device=mlx5_3") < made.script.index("interface=$(ls") < made.script.index("mlnx_qos -i")


@pytest.mark.parametrize("name", sorted(p.stem for p in CASES.glob("*.yml")))
def test_every_rule_file_is_valid(name: str) -> None:
    rules = load_rules(name)
    assert rules != RuleFile()
    assert all(r.because for r in rules.settings if r.also), "the reason for other ids is missing"
    assert all((ROOT / "roles" / s.role).is_dir() and s.check.startswith(f"{name}.") for s in rules.shared)
    for rule in rules.settings:
        done = subprocess.run(["bash", "-n", "-c", rule.run], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
