"""What the levels of the profiles take, and what each gate does not prove."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.core.gates.cpu_stream import CpuStream, CpuStreamSettings
from clusterctl.core.gates.judging import not_proven as not_proven_module
from clusterctl.core.gates.judging.not_proven import not_proven
from clusterctl.core.gates.planning import usual_time
from clusterctl.core.gates.planning.gate_plan import plan_gates
from clusterctl.core.gates.planning.usual_time import usual_time_s
from clusterctl.core.gates.registry import all_gates, gate_names
from clusterctl.core.gates.subject import Subject, subject_of
from clusterctl.model.errors import ConfigError
from clusterctl.model.level import LEVELS, Level
from clusterctl.model.node import Connection, Node, Place
from clusterctl.terminal.gates import time_line
from support.declared_profiles import declared_profile, profiles_of_the_tree
from support.gates import SOURCE, TODAY, gates, node, nodes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.gate import Gate
    from clusterctl.core.gates.planning.gate_plan import GatePlan

# Most seconds of a level on a rack of any size, as docs/reference/gates.md states.
BUDGET_S: Mapping[Level, float] = {"quick": 15 * 60.0, "standard": 45 * 60.0, "full": 8 * 3600.0}
FLOOR = {"gate": "cpu_stream", "metric": "triad", "kind": "floor", "value": 100000.0, "unit": "MB/s", **SOURCE}
PROFILES = profiles_of_the_tree()


def rack(name: str, size: int) -> list[Subject]:
    places = [Place(rack=f"r{i // 8}", leaf=f"leaf{i // 16}") for i in range(size)]
    return [subject_of(Node(f"n{i}", (name,), Connection(f"192.0.2.{i}"), p, declared_profile(name)), TODAY) for i, p in enumerate(places)]


@pytest.mark.parametrize("name", PROFILES)
def test_every_level_of_every_profile_keeps_its_budget_on_a_rack_of_any_size(name: str) -> None:
    of_sizes = {size: rack(name, size) for size in (2, 64)}
    for level in LEVELS:
        times = {size: usual_time_s(subjects, level, gate_names()) for size, subjects in of_sizes.items()}
        assert max(times.values()) <= BUDGET_S[level], (level, times)
        assert times[64] <= times[2] + 10 * 60, "pairs and groups do not take longer with every node"


def test_a_larger_group_takes_no_longer() -> None:
    name = "profile_hgx_h100_ib"
    assert usual_time_s(rack(name, 256), "standard", gate_names()) <= BUDGET_S["standard"]


def test_steps_of_one_batch_count_once_and_their_gate_knows_how_long() -> None:
    one, two = ([subject_of(n, TODAY) for n in nodes(count)] for count in (1, 3))
    assert usual_time_s(one, "quick", ["dcgm_diag"]) == usual_time_s(two, "quick", ["dcgm_diag"]) > 0
    assert usual_time_s(one, "quick", []) == 0


def _times(**settings: Mapping[str, object]) -> float:
    declared = gates(gates_levels={level: list(settings) for level in LEVELS}, gates_settings=dict(settings), gates_baselines=[])
    return usual_time_s([subject_of(node("n1", declared=declared), TODAY)], "full", list(settings))


def test_the_settings_of_a_site_count() -> None:
    assert _times(gpu_results={"duration_s": 3600}) - _times(gpu_results={"duration_s": 60}) == 3540
    assert _times(dcgm_diag={"diag_level": 4}) > _times(dcgm_diag={"diag_level": 3}) > _times(dcgm_diag={"diag_level": 1})


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("gate", all_gates(), ids=lambda g: g.name)
def test_every_gate_of_ours_states_what_its_pass_does_not_prove(gate: Gate[Any], level: Level) -> None:
    settings = gate.settings_model()
    text = gate.not_proven(settings, level)
    assert text
    assert not text.endswith(".")
    assert len(text) <= 120, "a line"
    assert gate.usual_s(settings, level) > 0


def test_a_short_level_proves_less() -> None:
    subject = rack("profile_hgx_h100_ib", 1)
    assert "under load" in not_proven(subject, "quick", ["dcgm_diag"])["dcgm_diag"]
    assert "900 s" in not_proven(subject, "standard", ["gpu_stress"])["gpu_stress"]
    assert "7200 s" in not_proven(subject, "full", ["gpu_stress"])["gpu_stress"]
    assert not_proven(subject, "quick", ["gpu_stress"]) == {}, "it is not measured at that level"


def test_many_nodes_are_planned_by_some_of_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[int] = []

    def planning(some: Sequence[Subject], *how: Any) -> GatePlan:
        planned.append(len(some))
        return plan_gates(some, *how)

    monkeypatch.setattr(usual_time, "plan_gates", planning)
    large = rack("profile_hgx_h100_ib", 300)
    spec = large[-1].node.spec
    slower = gates(**{**spec.gates, "gates_settings": {**spec.gates["gates_settings"], "gpu_results": {"duration_s": 7200}}})
    last = subject_of(replace(large[-1].node, spec=replace(spec, gates=slower)), TODAY)
    usual = usual_time_s(large, "standard", gate_names())
    assert usual_time_s([*large[:-1], last], "standard", gate_names()) > usual + 6000
    assert planned == [65, 65, 66, 66]


class _Raising(CpuStream):
    """A site's gate with a mistake in what it states."""

    def usual_s(self, settings: CpuStreamSettings, level: Level) -> float:
        raise KeyError(level)

    def not_proven(self, settings: CpuStreamSettings, level: Level) -> str:
        raise KeyError(level)


def test_a_gate_of_a_site_that_raises_is_named_and_what_was_measured_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = gates(gates_levels={level: ["cpu_stream"] for level in LEVELS}, gates_baselines=[FLOOR])
    subject = subject_of(node("n1", declared=declared), TODAY)
    for module in (usual_time, not_proven_module):
        monkeypatch.setattr(module, "gate_named", lambda _: _Raising())
    with pytest.raises(ConfigError, match="raised KeyError"):
        usual_time_s([subject], "full", ["cpu_stream"])
    assert "raised KeyError" in not_proven([subject], "full", ["cpu_stream"])["cpu_stream"]


def test_the_line_before_a_burn_in() -> None:
    assert time_line("standard", 2304.0) == "level standard takes about 38 min on hardware, where nothing is measured again"
    assert "about 1 min" in time_line("quick", 3.0)
