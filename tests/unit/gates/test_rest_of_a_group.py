"""Whoever spoils a group is left out, and the other nodes are measured again by the gates that they have not passed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.config import Config
from clusterctl.adapters.run_directory import RunDir
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl.model.level import LEVELS
from clusterctl.workflows.burnin import measure_and_judge as burnin
from clusterctl.workflows.burnin.measure_and_judge import run_burnin, subjects_of
from clusterctl_tools import training_proxy
from support.gates import GROUP_FLOOR, TODAY, gates, nccl, nodes, record, snapshot
from support.rank_logs import GPUS, rank_document
from support.training import STEPS, training_output

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from clusterctl.core.gates.planning.gate_plan import GatePlan
    from clusterctl.model.gate_result import GateResult, RawRecord

GROUP_GATES = ["nccl_group", "training_proxy"]
DECLARED = gates(
    gates_levels=dict.fromkeys(LEVELS, GROUP_GATES),
    gates_baselines=[GROUP_FLOOR],
    gates_settings={"training_proxy": {"steps": STEPS}, "nccl_group": {"variants": {}}},
)
HUNG = "# Using devices\n"
Measured = dict[str, list[tuple[str, int]]]


@dataclass(frozen=True)
class Fleet:
    """What is wrong with its nodes, see `run`."""

    slow: frozenset[str]
    hangs: frozenset[str]
    other: Mapping[str, Mapping[str, Any]]


def text_of(fleet: Fleet, gate: str, name: str, step: str, peers: tuple[str, ...]) -> str:
    """What a step prints on a node of a group."""
    if gate == "training_proxy":
        every = next((own for node, own in fleet.other.items() if node in peers), {})
        return training_output(peers.index(name), len(peers), every.get(name, every.get("*")), gpus=GPUS)
    if step.startswith("ranks"):
        return rank_document(name, GPUS * peers.index(name), GPUS, GPUS * len(peers))
    if not step.startswith("group"):
        return ""
    found = nccl(20.0 if fleet.slow & set(peers) else 80.0, via="NET/IB/0/GDRDMA", ranks=GPUS * len(peers))
    return HUNG if fleet.hangs & set(peers) else found


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Measured, list[GateResult]]]:
    """Six nodes; `slow`: the bandwidth of NCCL is low with these nodes; `hangs`: it hangs with them; `other`: node -> what differs in the training of each group that it is in."""

    def burned_in(
        slow: frozenset[str] = frozenset(), hangs: frozenset[str] = frozenset(), other: dict[str, dict[str, Any]] | None = None
    ) -> tuple[Measured, list[GateResult]]:
        fleet = Fleet(slow, hangs, other or {})
        groups: Measured = {gate: [] for gate in GROUP_GATES}
        minutes = count()

        def measured(plan: GatePlan, *_: object, **__: object) -> tuple[RawRecord, ...]:
            steps = [(n, s) for n, own in plan.steps.items() for s in own if s.gate == "load_errors"]
            at = {name: next(minutes) for name in dict.fromkeys(s.name for _, s in steps)}
            found = [record("load_errors", n, snapshot(at[s.name]), step=s.name, argv=s.argv) for n, s in steps]
            for gate in GROUP_GATES:
                leads = {n: s for n, own in plan.steps.items() for s in own if s.gate == gate and s.peers}
                groups[gate] += [(s.name, len(s.peers)) for s in leads.values()]
                for name, step in ((n, s) for n, own in plan.steps.items() for s in own if s.gate == gate):
                    lead = leads[step.peer or name]
                    more: dict[str, Any] = {"step": step.name, "argv": step.argv, "peer": step.peer, "peers": step.peers}
                    text = text_of(fleet, gate, name, step.name, lead.peers)
                    if '"problem"' in text:
                        more["exit_status"] = training_proxy.HANGS
                    if text == HUNG:
                        more |= {"exit_status": None, "error": "timed out after 183 s", "error_code": GateReason.TIMED_OUT}
                    found.append(record(gate, name, text, **more))
            return tuple(found)

        monkeypatch.setattr(burnin, "measure", measured)
        monkeypatch.setattr(burnin, "_today", lambda: TODAY)
        results = run_burnin(
            subjects_of(nodes(6, declared=DECLARED)),
            RunDir.create(tmp_path, "burnin"),
            Config(tmp_path, (), tmp_path),
            "full",
            gates=GROUP_GATES,
        )
        return groups, [r for r in results if r.gate in GROUP_GATES]

    return burned_in


def test_a_rank_that_stands_out_is_its_node_s_and_only_the_training_is_repeated(run: Callable[..., Any]) -> None:
    groups, results = run(other={"n4": {"n4": {"whole3": {"weights": "d"}}}})
    assert [(r.node, r.device, r.outcome) for r in results if r.outcome is not Outcome.PASS] == [("n4", "gpu3", Outcome.FAIL)]
    assert groups == {"nccl_group": [("group", 6)], "training_proxy": [("group", 6), ("group.rest", 5)]}


@pytest.mark.parametrize(("kind", "outcome"), [("slow", Outcome.FAIL), ("hangs", Outcome.COULD_NOT_RUN)])
def test_a_training_that_hangs_is_repeated_without_a_node_that_another_gate_found(
    run: Callable[..., Any], kind: str, outcome: Outcome
) -> None:
    hung = {f"{one}{gpu}": None for one in ("whole", "resumed") for gpu in range(GPUS)} | {"problem": "hangs"}
    groups, results = run(**{kind: frozenset({"n4"})}, other={"n4": {"*": hung}})
    found = {(r.gate, r.node, r.outcome) for r in results if r.outcome is not Outcome.PASS}
    assert found == {("nccl_group", "n4", outcome), ("training_proxy", "n4", Outcome.COULD_NOT_RUN)}
    assert groups["training_proxy"] == [("group", 6), ("group.rest", 5)]
    assert groups["nccl_group"][-1] == ("group.rest", 5)


def test_what_was_measured_is_not_explained_by_another_gate(run: Callable[..., Any]) -> None:
    groups, results = run(slow=frozenset({"n4"}), other={"n4": {"*": {"ranks": {"losses_at": {18: 6.3, 19: 6.3}}}}})
    assert {r.reason for r in results if r.gate == "training_proxy"} == {GateReason.LOSS_NOT_FALLING}
    assert groups["training_proxy"] == [("group", 6)]


def test_a_group_without_anybody_at_fault_is_not_repeated(run: Callable[..., Any]) -> None:
    groups, results = run(other={"n4": {"*": {"ranks": {"losses_at": {18: 6.3, 19: 6.3}}}}})
    assert {r.outcome for r in results if r.gate == "training_proxy"} == {Outcome.COULD_NOT_RUN}
    assert groups == {"nccl_group": [("group", 6)], "training_proxy": [("group", 6)]}
