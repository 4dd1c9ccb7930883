"""Whoever plans from records sees the version that their output names, as the judgement does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.core.gates.group_gate import GroupGate
from clusterctl.core.gates.planning import gate_plan
from clusterctl.core.gates.planning.step import GateSteps
from clusterctl.core.gates.registry import gate_named
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.errors import ConfigError
from support.gates import TODAY, nodes, record

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterctl.core.gates.judging.evidence import Evidence

SUBJECTS = [subject_of(n, TODAY) for n in nodes(4)]


def again(gate: str) -> object:
    return gate_plan.plan_again(SUBJECTS, [record(gate, "n1", "", tool_version="printed")], "standard", [gate], seed="r")


def search(gate: str) -> object:
    records = [record(gate, "n1", "", tool_version="printed")]
    return gate_plan.plan_search(SUBJECTS, records, "standard", [gate], rung="rack", number=1)


@pytest.mark.parametrize(
    ("gate", "method", "plan"),
    [
        ("rdma_pair", "plan_pairs_again", again),
        ("nccl_node", "plan_again", again),
        ("nccl_group", "plan_again", again),
        ("nccl_group", "plan_search", search),
    ],
)
def test_every_planner_gets_the_version_of_the_output(
    gate: str, method: str, plan: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, seen = type(gate_named(gate)), SimpleNamespace(versions=[])

    def planner(_self: object, _subjects: object, evidence: Evidence, *_rest: Any) -> GateSteps:
        seen.versions += [r.tool_version for r in evidence.records]
        return GateSteps({})

    monkeypatch.setattr(kind, "version_of", lambda *_: "named by the output")
    monkeypatch.setattr(kind, method, planner)
    plan(gate)
    assert seen.versions == ["named by the output"]


def test_a_version_that_cannot_be_read_is_an_error_of_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    def version_of(*_: object) -> str:
        raise KeyError("release")

    kind = type(gate_named("nccl_group"))
    assert issubclass(kind, GroupGate)
    monkeypatch.setattr(kind, "version_of", version_of)
    monkeypatch.setattr(kind, "__module__", "site_gates")
    with pytest.raises(ConfigError, match="planning it raised KeyError: 'release'"):
        search("nccl_group")
