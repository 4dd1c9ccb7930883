"""Every gate that traces a load is drawn in the report, a site's own too; the report knows none by its name."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from clusterctl.core.gates import registry
from clusterctl.core.gates.gpu_stress import GpuStress
from clusterctl.core.gates.load_gate import LoadGate, load_gates
from clusterctl.core.gates.planning.step import TRACE
from clusterctl.core.gates.subject import subject_of
from support.gates import TODAY, nodes

if TYPE_CHECKING:
    from typing import Any

    from clusterctl.core.gates.gate import Gate
    from clusterctl.core.gates.planning.step import GateStep


def steps(gate: Gate[Any]) -> list[GateStep]:
    subjects = [subject_of(n, TODAY) for n in nodes(2)]
    return [s for own in gate.plan(subjects, "full", count()).steps.values() for s in own]


@pytest.mark.parametrize("gate", registry.all_gates(), ids=lambda g: g.name)
def test_a_gate_that_traces_a_load_is_drawn_and_no_other(gate: Gate[Any]) -> None:
    traced = [s for s in steps(gate) if s.trace_argv]
    assert isinstance(gate, LoadGate) == bool(traced)
    assert {s.name for s in traced} <= {TRACE}


def test_those_of_ours_are_found() -> None:
    assert [gate.name for gate in load_gates()] == ["gpu_stress", "torch_gemm"]


def test_one_of_a_site_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Warmth(GpuStress):
        name = "warmth"

    monkeypatch.setattr(registry, "_gates", dict(registry._gates))
    registry.register(Warmth())
    assert [gate.name for gate in load_gates()][-1] == "warmth"
