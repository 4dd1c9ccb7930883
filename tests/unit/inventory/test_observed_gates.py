"""The gates of the profiles' levels: which there are, what each needs to be judged, and which of them only observe until a site has them decide."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.inventory.load import load_nodes, load_profile
from clusterctl.core.gates.gate import Scope
from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.judging.limits import deciding
from clusterctl.core.gates.registry import all_gates, gate_named, gate_names
from clusterctl.core.gates.settings import at_level
from clusterctl.core.gates.subject import subject_of
from clusterctl.core.observe_problems import observe_problems
from clusterctl.model.errors import GatesInvalidError, SpecInvalidError
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, gates_exit_code
from clusterctl.model.level import LEVELS
from clusterctl.model.node import Connection, Node, Place
from support.declared_profiles import declared_profile, profiles_of_the_tree
from support.gates import SOURCE, TODAY
from support.host_memory import memory_record, node_memory_output
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

COMMON, LAB = ROOT / "inventory" / "common", ROOT / "inventory" / "lab"
# What only a site can name, without which the gate is left out of its level, and why.
NAMED_BY_SITE = {
    "torch_gemm": {"program": "/opt/torch/bin/python3"},  # no package of a distribution has PyTorch for the GPU
    "cpu_stream": {"program": "/opt/stream/stream_c.exe"},  # its array size is compiled in, for the processors of the node
    "training_proxy": {"program": "/opt/torch/bin/python3"},  # as torch_gemm
    "vendor_diag": {"command": ["/opt/vendor/diag"]},  # vendors give theirs to customers only
    "storage_throughput": {"mounts": ["scratch"]},  # it writes to a file system that running jobs use, too
}
OBSERVED = ("torch_gemm", "cpu_stream", "host_memory", "nvme_fio", "rdma_latency", "storage_throughput", "training_proxy")
PROFILE = "profile_hgx_h100_ib"
ALL_NAMED: dict[str, Any] = {"gates_settings_site": NAMED_BY_SITE}
PROFILES = pytest.mark.parametrize("name", profiles_of_the_tree())


@cache
def _node(name: str, variables: str) -> Node:
    return Node("n1", (name,), Connection("192.0.2.1"), Place(), declared_profile(name, variables))


def node(name: str = PROFILE, **variables: Any) -> Node:
    return _node(name, json.dumps(variables))


def levels(one: Node) -> dict[str, set[str]]:
    return {level: set(gates) for level, gates in one.spec.gates["gates_levels"].items()}


def observed(one: Node) -> list[str]:
    return [entry["gate"] for entry in one.spec.observe if "gate" in entry]


@PROFILES
def test_every_gate_is_in_the_levels_that_it_is_meant_for_once_its_site_names_what_it_needs(name: str) -> None:
    meant = {level: {g.name for g in all_gates() if level in g.default_levels} for level in LEVELS}
    assert levels(node(name, **ALL_NAMED)) == meant
    assert set().union(*meant.values()) == {g.name for g in all_gates() if not g.always}


@pytest.mark.parametrize("gate", NAMED_BY_SITE)
def test_a_gate_whose_program_or_file_system_nobody_named_is_left_out(gate: str) -> None:
    others = {name: settings for name, settings in NAMED_BY_SITE.items() if name != gate}
    assert levels(node(**ALL_NAMED))["full"] - levels(node(gates_settings_site=others))["full"] == {gate}
    assert gate not in levels(node())["full"]


@PROFILES
def test_every_gate_has_what_it_is_judged_by_or_its_reason_says_that_it_has_not(name: str) -> None:
    one = node(name, **ALL_NAMED)
    profile = profile_of(one, TODAY)
    without = [g for g in gate_names() if gate_named(g).needs_floor and not deciding(profile.for_gate(g), gate_named(g).direction)]
    assert without == ["cpu_stream"]
    (reason,) = (entry["reason"] for entry in one.spec.observe if entry["gate"] == "cpu_stream")
    assert "no floor" in reason


@PROFILES
def test_new_gates_are_observed_and_each_of_them_is_in_a_level(name: str) -> None:
    one = node(name, **ALL_NAMED)
    assert sorted(observed(one)) == sorted(OBSERVED)
    assert set(OBSERVED) <= levels(one)["full"]
    assert not list(observe_problems(one, ()))
    assert not set(subject_of(one, TODAY).deciding("full")) & set(OBSERVED)
    assert set(subject_of(one, TODAY).deciding("standard")) == levels(one)["standard"] | {"load_errors"}


def test_the_loads_of_level_full_leave_room_for_the_rest_within_eight_hours() -> None:
    profile = profile_of(node(**ALL_NAMED), TODAY)
    settings = {name: profile.settings[name] for name in profile.levels["full"] if gate_named(name).scope is Scope.NODE}
    loads_s = {name: at_level(s.duration_s, "full") for name, s in settings.items() if hasattr(s, "duration_s")}
    assert set(loads_s) == {"gpu_stress", "gpu_results", "torch_gemm", "host_memory", "nvme_fio"}
    # dcgm_diag may take two hours, and the gates of pairs and groups take one (docs/reference/gates.md, Levels).
    assert 4 * 3600 < sum(loads_s.values()) < 5 * 3600


def test_a_node_without_data_disks_has_no_gate_for_them() -> None:
    assert "nvme_fio" not in levels(node(hardware_nvme_data_disks=0))["full"]


def test_the_lab_has_the_levels_of_its_hardware_but_what_it_does_not_simulate() -> None:
    spec = load_profile([COMMON, LAB], "profile_lab_hgx_h200", content=ROOT)
    real = levels(node())
    assert {level: set(gates) for level, gates in spec.gates["gates_levels"].items()} == {
        level: gates - {"host_memory", "nvme_fio"} for level, gates in real.items()
    }


def verdicts(one: Node, gate: str) -> tuple[GateResult, ...]:
    """Of a gate of which nothing came back."""
    return judge([subject_of(one, TODAY)], [], level="full", gates=[gate])


@pytest.mark.parametrize("gate", OBSERVED)
def test_a_gate_that_could_not_run_holds_a_node_back_only_once_it_decides(gate: str) -> None:
    floor = {"gate": "cpu_stream", "metric": "triad", "kind": "floor", "value": 100000.0, "unit": "MB/s", **SOURCE}
    watched, switched_on = (node(**ALL_NAMED, gates_baselines_site=[floor], observe_except=names) for names in ([], [gate]))
    (seen,) = verdicts(watched, gate)
    assert (seen.outcome, seen.observed) == (Outcome.WARN, Outcome.COULD_NOT_RUN)
    (held,) = verdicts(switched_on, gate)
    assert (held.outcome, held.observed) == (Outcome.COULD_NOT_RUN, None)
    assert sorted({*observed(switched_on), gate}) == sorted(OBSERVED), "the others are observed as before"
    assert gate in subject_of(switched_on, TODAY).deciding("full")


@pytest.mark.parametrize(
    ("output", "exit_status", "reason", "outcome"),
    [
        ({}, 0, None, Outcome.PASS),
        ({"incidents": 5}, 6, GateReason.WRONG_CONTENT, Outcome.FAIL),
        ({"ran_s": 10}, 0, GateReason.WRONG_RUN, Outcome.WARN),
        ({"killed_by": 7}, 6, GateReason.TEST_FAILED, Outcome.WARN),
    ],
)
def test_wrong_memory_decides_at_once_and_nothing_else_of_an_observed_gate(
    output: dict[str, Any], exit_status: int, reason: GateReason | None, outcome: Outcome
) -> None:
    run = memory_record("n1", node_memory_output(**output), exit_status=exit_status)
    (result,) = judge([subject_of(node(), TODAY)], [run], level="full", gates=["host_memory"])
    assert (result.reason, result.outcome) == (reason, outcome)
    assert (gates_exit_code([result]) == 0) is (outcome is not Outcome.FAIL)
    (decided,) = judge([subject_of(node(observe_except=["host_memory"]), TODAY)], [run], level="full", gates=["host_memory"])
    assert decided.observed is None
    assert decided.outcome is (result.observed or outcome)


def test_a_site_observes_more_and_keeps_what_the_profile_observes() -> None:
    own = [{"check": "roce.*", "reason": "new here"}, {"gate": "gpu_stress", "rule": "clock", "reason": "warm aisle"}]
    common = node().spec.observe
    assert node(observe_site=own).spec.observe == (*common, *own)


def test_a_gate_that_decides_by_a_floor_needs_one() -> None:
    with pytest.raises(GatesInvalidError, match="no floor for cpu_stream, so it could never be judged"):
        profile_of(node(**ALL_NAMED, observe_except=["cpu_stream"]), TODAY)


def test_a_misspelt_gate_is_no_longer_observed_by_nobody() -> None:
    with pytest.raises(SpecInvalidError, match="observe_except: there is no gate host_mem'"):
        node(observe_except=["host_mem"])
    # One that a later version has no longer on its list, as the gates that decide today.
    assert node(observe_except=["gpu_stress"]).spec.observe == node().spec.observe


def test_a_node_that_is_never_burnt_in_observes_nothing(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text("all: {vars: {node_roles: [kernel]}, hosts: {n1: {}}}\n", encoding="utf-8")
    (one,) = load_nodes([COMMON, tmp_path], "n1", content=ROOT)
    assert one.spec.observe == ()
