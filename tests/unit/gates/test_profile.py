from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.core.gates.nccl_group import GATE as NCCL_GROUP
from clusterctl.core.gates.planning.devices import read_hcas
from clusterctl.core.gates.rdma_pair import GATE as RDMA_PAIR
from clusterctl.model.errors import ConfigError
from clusterctl.model.gate_result import BaselineKind
from support.gates import GROUP_FLOOR, NODE_FLOOR, RDMA_FLOOR, TODAY, gates, node

ALL_FLOORS = [RDMA_FLOOR, NODE_FLOOR, GROUP_FLOOR]


def problems(**changes: Any) -> str:
    with pytest.raises(ConfigError) as told:
        profile_of(node("n1", rails=8, declared=gates(**changes)), TODAY)
    assert told.value.hint
    return str(told.value)


def baseline(**changes: Any) -> list[dict[str, Any]]:
    return [{**RDMA_FLOOR, **changes}, NODE_FLOOR, GROUP_FLOOR]


def test_a_good_profile_is_typed() -> None:
    profile = profile_of(node("n1", declared=gates()), TODAY)
    assert profile.levels["quick"] == ("dcgm_diag", "load_errors"), "load_errors always takes part"
    assert profile.for_gate("rdma_pair")[0].kind is BaselineKind.FLOOR
    assert profile.settings_of(RDMA_PAIR).size_bytes == 8388608


@pytest.mark.parametrize("kind", ["floor", "expected"])
def test_a_number_above_the_line_rate_is_refused(kind: str) -> None:
    text = problems(gates_baselines=[*ALL_FLOORS, {**RDMA_FLOOR, "value": 420.0, "kind": kind}])
    assert "gates_baselines[3] (rdma_pair bandwidth_average).value: 420 Gb/s is above the line rate, 400 Gb/s" in text


@pytest.mark.parametrize(("nodes", "value", "refused"), [(None, 800.0, True), (2, 487.9, False), (8, 900.0, True), (8, 386.0, False)])
def test_a_group_floor_that_the_nics_cannot_carry_is_refused(nodes: int | None, value: float, refused: bool) -> None:
    declared = gates(gates_baselines=[RDMA_FLOOR, NODE_FLOOR, {**GROUP_FLOOR, "nodes": nodes, "value": value}])
    if not refused:
        assert profile_of(node("n1", rails=8, declared=declared), TODAY)
        return
    assert "(nccl_group busbw).value" in problems(**declared)


def test_over_nvlink_the_nics_are_no_limit_of_a_group() -> None:
    floors = [RDMA_FLOOR, NODE_FLOOR, {**GROUP_FLOOR, "nodes": None, "value": 800.0}]
    declared = gates(gates_baselines=floors, gates_settings={"nccl_group": {"require_transport": "P2P/MNNVL"}})
    assert profile_of(node("n1", rails=4, gpus=4, declared=declared), TODAY).settings_of(NCCL_GROUP).over_nvlink
    assert "is above the line rate" in problems(gates_baselines=floors)


def test_what_an_entry_leaves_out_is_null_in_the_spec() -> None:
    hcas = read_hcas({"hardware_hcas": [{"name": "a", "rate_gbps": 400, "rail": None, "gpu": None}, {"name": "b", "rate_gbps": 400}]}, "n1")
    assert [(h.rail, h.gpu) for h in hcas] == [(0, 0), (1, 1)]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("key", ["value", "tolerance_percent", "spread"])
def test_a_baseline_that_is_not_finite_names_its_field(key: str, value: float) -> None:
    assert f"gates_baselines[0].{key}" in problems(gates_baselines=baseline(**{key: value}))


@pytest.mark.parametrize("value", [0, 0.0, -1, None])
def test_a_zero_or_missing_baseline_names_its_metric(value: float | None) -> None:
    assert "gates_baselines[0] (rdma_pair bandwidth_average).value: is zero, negative or missing" in problems(
        gates_baselines=baseline(value=value)
    )


def test_a_tolerance_on_a_floor_would_count_twice() -> None:
    assert "tolerance_percent: a floor is a limit already" in problems(gates_baselines=baseline(tolerance_percent=10.0))


def test_a_tolerance_beside_a_floor_for_the_same_figure_would_count_twice() -> None:
    entries = [*baseline(), {**RDMA_FLOOR, "kind": "expected", "value": 392.0, "tolerance_percent": 5.0}]
    assert "a floor for the same figure exists" in problems(gates_baselines=entries)


def test_an_expectation_with_a_tolerance_is_a_limit() -> None:
    declared = gates(
        gates_baselines=[{**RDMA_FLOOR, "kind": "expected", "value": 400.0, "tolerance_percent": 10.0}, NODE_FLOOR, GROUP_FLOOR]
    )
    assert profile_of(node("n1", declared=declared), TODAY).for_gate("rdma_pair")[0].limit == pytest.approx(360.0)


@pytest.mark.parametrize("key", ["source", "date", "unit", "kind", "value"])
def test_provenance_is_required(key: str) -> None:
    entry = {k: v for k, v in RDMA_FLOOR.items() if k != key}
    assert f"gates_baselines[0].{key}: missing" in problems(gates_baselines=[entry, NODE_FLOOR, GROUP_FLOOR])


def test_an_empty_source_is_no_provenance() -> None:
    assert "gates_baselines[0].source" in problems(gates_baselines=baseline(source=""))


def test_an_expired_baseline_is_named() -> None:
    text = problems(gates_baselines=baseline(expires="2026-01-14"))
    assert "gates_baselines[0] (rdma_pair bandwidth_average).expires: expired on 2026-01-14 (tests)" in text
    assert profile_of(node("n1", declared=gates(gates_baselines=baseline(expires="2026-01-15"))), date(2026, 1, 15))


def test_an_impossible_date_is_told() -> None:
    assert "expires" in problems(gates_baselines=baseline(expires="2026-13-45"))


def test_all_problems_are_told_at_once() -> None:
    text = problems(gates_levels={"quick": ["dcgm"], "standard": []}, gates_baselines=baseline(value=0, gate="rdma_pairs"))
    assert "gates_levels.quick[0]: unknown gate 'dcgm'" in text
    assert "gates_levels.full: missing" in text
    assert "gates_levels.standard: is empty" in text
    assert "unknown gate 'rdma_pairs'" in text
    assert "is zero" in text


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"rdma_pair": {"duration": 3}}, "gates_settings.rdma_pair.duration: unknown key"),
        ({"rdma_pairs": {}}, "gates_settings.rdma_pairs: unknown gate; known: dcgm_diag, nvbandwidth"),
        ({"rdma_pair": {"size_bytes": "8M"}}, "gates_settings.rdma_pair.size_bytes: should be a valid integer, is '8M'"),
        ({"rdma_pair": {"duration_s": {"quick": 5}}}, "gates_settings.rdma_pair.duration_s: level standard is missing"),
        ({"dcgm_diag": {"diag_level": 5}}, "gates_settings.dcgm_diag.diag_level"),
        ({"nccl_node": {"collective": "allreduce"}}, "gates_settings.nccl_node.collective"),
    ],
)
def test_settings_are_checked_with_their_path(settings: dict[str, Any], told: str) -> None:
    assert told in problems(gates_settings=settings)


def test_a_misspelt_variable_is_told() -> None:
    assert "gates_baseline: unknown variable" in problems(gates_baseline=[])


def test_parts_that_a_profile_is_put_together_from_are_no_variables_of_their_own() -> None:
    assert profile_of(node("n1", declared=gates(gates_settings_site={}, gates_baselines_gpu=[])), TODAY)


def test_a_gate_without_a_floor_could_never_be_judged() -> None:
    assert "no floor for nccl_group" in problems(gates_baselines=[RDMA_FLOOR, NODE_FLOOR])


def test_a_node_without_gates_is_an_error() -> None:
    with pytest.raises(ConfigError, match="gates_levels: missing"):
        profile_of(node("n1", declared={}), TODAY)


@pytest.mark.parametrize(
    ("gpus", "rails", "near"),
    [(4, 4, [0, 1, 2, 3]), (4, 8, [0, 0, 1, 1, 2, 2, 3, 3]), (8, 4, [0, 1, 2, 3]), (0, 2, [0, 1]), (8, 9, [0, 0, 1, 2, 3, 4, 5, 6, 7])],
)
def test_the_gpu_of_a_rail_that_nobody_declares(gpus: int, rails: int, near: list[int]) -> None:
    """The number of the rail; neighbouring rails share a GPU where there are more rails than GPUs."""
    hcas = read_hcas({"hardware_gpus": gpus, "hardware_hcas": [{"name": f"mlx5_{i}", "rate_gbps": 400} for i in range(rails)]}, "n1")
    assert [h.gpu for h in hcas] == near
    assert all(h.gpu_assumed for h in hcas)


def test_hcas_are_checked() -> None:
    wrong = node("n1", declared=gates())
    hardware = {"hardware_hcas": [{"name": "mlx5_0", "rate_gbps": 0}], "hardware_gpus": 8}
    broken = type(wrong)(wrong.name, (), wrong.connection, wrong.place, type(wrong.spec)({"hardware": hardware}, gates(), (), ""))
    with pytest.raises(ConfigError, match=r"hardware_hcas\[0\].rate_gbps: 0 is not a rate"):
        profile_of(broken, TODAY)
