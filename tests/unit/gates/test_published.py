"""The best published numbers, and floors that are too far below them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.core.gates.published import LEAST_SHARE, published
from clusterctl.core.gates.registry import gate_named
from clusterctl.model.errors import ConfigError
from support.gates import GROUP_FLOOR, NODE_FLOOR, RDMA_FLOOR, SOURCE, TODAY, gates, node

B200 = "NVIDIA B200"
PEERS = "device_to_device_memcpy_read_ce"


def problems(*floors: dict[str, Any], model: str = B200, rails: int = 8, settings: dict[str, Any] | None = None) -> str:
    """What is wrong with these baselines on a node of this model; empty where nothing is."""
    declared = gates(gates_baselines=[RDMA_FLOOR, NODE_FLOOR | {"value": 754.0}, GROUP_FLOOR | {"reason": "tests"}, *floors])
    declared["gates_settings"] = settings or {}
    plain = node("n1", rails=rails, declared=declared)
    spec = replace(plain.spec, roles={"hardware": {**plain.spec.roles["hardware"], "hardware_gpu_model": model}})
    try:
        profile_of(replace(plain, spec=spec), TODAY)
    except ConfigError as e:
        return str(e)
    return ""


def copies(value: float, metric: str = PEERS, **more: Any) -> dict[str, Any]:
    return {"gate": "nvbandwidth", "metric": metric, "kind": "floor", "value": value, "unit": "GB/s", **SOURCE, **more}


def test_every_entry_is_a_figure_that_a_gate_measures() -> None:
    for entry in published():
        metric = entry.metric.replace("_ring", "").replace("_network", "")
        assert gate_named(entry.gate).units.get(metric, entry.unit) == entry.unit, entry


def test_a_floor_far_below_the_best_published_number_is_refused_with_its_source() -> None:
    text = problems(copies(335.0))
    assert (
        f"gates_baselines[3] (nvbandwidth {PEERS}).value: 335 GB/s is 44% of the best published number for such nodes, 768.2 GB/s (Spare"
        in text
    )
    assert "or state why it is so low in `reason`" in text


@pytest.mark.parametrize("value", [461.0, 691.0])
def test_from_the_least_share_on_it_is_accepted(value: float) -> None:
    assert problems(copies(value)) == ""


def test_a_stated_reason_is_accepted() -> None:
    assert problems(copies(335.0, reason="these nodes have half of their links by design")) == ""


def test_an_expectation_with_a_tolerance_is_a_floor_and_one_without_is_none() -> None:
    assert "is 44% of" in problems(copies(372.3, kind="expected", tolerance_percent=10.0))
    assert problems(copies(335.0, kind="expected")) == ""


@pytest.mark.parametrize(
    ("model", "metric", "value", "share"),
    [
        ("NVIDIA GB200", "host_to_device_memcpy_ce", 52.0, "26%"),
        ("NVIDIA GB200", "device_to_host_memcpy_ce", 52.0, "27%"),
        ("NVIDIA GB300", "host_to_device_memcpy_ce", 52.0, "25%"),
    ],
)
def test_a_floor_of_pcie_is_none_for_nvlink_c2c(model: str, metric: str, value: float, share: str) -> None:
    assert f"is {share} of the best" in problems(copies(value, metric), model=model, rails=4)
    assert problems(copies(value, metric), model="NVIDIA H100 80GB HBM3") == "", "another class of node"


def test_an_unknown_model_is_compared_with_nothing_of_its_gpus() -> None:
    assert problems(copies(1.0), model="NVIDIA X100") == ""


def ring(value: float, **more: Any) -> dict[str, Any]:
    return {**GROUP_FLOOR, "metric": "busbw_ring", "op": "all_reduce", "size_bytes": 17179869184, "value": value, **more}


def test_a_number_at_a_smaller_size_counts_and_one_at_a_larger_does_not() -> None:
    assert "is 52% of" in problems(ring(200.0)), "386.6 at 8 GiB; the floor is for 16"
    assert problems(ring(200.0, size_bytes=1073741824)) == ""


@pytest.mark.parametrize(
    ("scope", "refused"),
    [
        ({}, True),
        ({"nodes": 8}, True),
        ({"nodes": 4}, False),
        ({"nodes_min": 8}, True),
        ({"nodes_max": 7}, False),
        ({"nodes_min": 9}, False),
    ],
)
def test_only_runs_over_as_many_nodes_are_compared(scope: dict[str, int], refused: bool) -> None:
    assert bool(problems(ring(200.0, **scope))) is refused


def test_adapters_of_another_rate_are_another_class() -> None:
    assert problems(ring(200.0), rails=4) == "", "1600 Gb/s instead of 3200"


def test_a_rack_without_its_nvlink_is_not_compared_with_one_that_has_it() -> None:
    floor = {**GROUP_FLOOR, "op": "all_reduce", "size_bytes": 17179869184, "value": 172.0}
    over_nvlink = {"nccl_group": {"require_transport": "P2P/MNNVL"}}
    assert problems(floor, model="NVIDIA GB200", rails=4) == ""
    assert "of the best published number for such nodes, 882.5 GB/s" in problems(floor, model="NVIDIA GB200", rails=4, settings=over_nvlink)


def test_half_of_a_device_never_reaches_the_least_share() -> None:
    assert LEAST_SHARE > 0.5
