"""The PCIe links above the GPUs, as they were while nvbandwidth ran."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.core.gates.pcie_links import judge_links
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from support.gates import TODAY, links_of_gpus, node

if TYPE_CHECKING:
    from clusterctl.model.pcie_hop import PcieHop


def judged(hops: tuple[PcieHop, ...], *, gpus: int = 8, gen: int = 0, width: int = 0) -> dict[str, GateResult]:
    """The results by metric and device."""
    one = node("n1", gpus=gpus)
    declared = dict(one.spec.roles["hardware"]) | {"hardware_gpu_pcie_gen": gen, "hardware_gpu_pcie_width": width}
    one = replace(one, spec=replace(one.spec, roles={"hardware": declared}))
    return {f"{r.metric} {r.device}".strip(): r for r in judge_links("nvbandwidth", subject_of(one, TODAY), hops)}


def changed(lower: str, **values: Any) -> tuple[PcieHop, ...]:
    """The hops of eight healthy GPUs, two of them below each switch, with other values at one link."""
    return tuple(replace(h, **values) if h.lower == lower else h for h in links_of_gpus(8))


def test_eight_healthy_gpus() -> None:
    found = judged(links_of_gpus(8), gen=5, width=16)
    assert {name: (r.outcome, r.found) for name, r in found.items()} == {"pcie_link": (Outcome.PASS, "12 links of 8 GPUs")}


@pytest.mark.parametrize(
    ("values", "metric", "expected", "found", "number"),
    [
        ({"speed_gts": 16.0}, "pcie_speed", ">= 32 GT/s", "16 GT/s", 16.0),
        ({"width": 8}, "pcie_width", ">= 16 lanes", "8 lanes", 8.0),
    ],
)
def test_the_uplink_of_a_switch_fails_once_for_all_its_gpus(
    values: dict[str, Any], metric: str, expected: str, found: str, number: float
) -> None:
    results = judged(changed("0000:20:00.0", **values), gen=5, width=16)
    assert set(results) == {metric}
    result = results[metric]
    assert (result.outcome, result.reason, result.rule) == (Outcome.FAIL, GateReason.LINK_DOWNTRAINED, "link")
    assert (result.expected, result.found, result.value) == (expected, found, number)
    assert result.detail == "the link between 0000:20:00.0 and the port above it, 0000:1f:01.0, on the way to gpu2, gpu3"
    assert "0000:20:00.0" in result.hint


def test_the_own_link_of_a_gpu_names_it() -> None:
    results = judged(changed("0000:22:00.0", speed_gts=2.5))
    assert {name: r.found for name, r in results.items()} == {"pcie_speed gpu2": "2.5 GT/s"}


def test_a_declared_generation_counts_for_the_gpus_own_links_only() -> None:
    slow = tuple(replace(h, speed_gts=16.0, most_speed_gts=16.0) for h in links_of_gpus(2))
    assert {r.outcome for r in judged(slow, gpus=2).values()} == {Outcome.PASS}
    assert {name: r.expected for name, r in judged(slow, gpus=2, gen=5).items()} == {
        "pcie_speed gpu0": ">= 32 GT/s",
        "pcie_speed gpu1": ">= 32 GT/s",
    }
    fast = tuple(replace(h, most_speed_gts=64.0) if h.lower == h.device else h for h in links_of_gpus(2))
    assert {r.outcome for r in judged(fast, gpus=2, gen=5).values()} == {Outcome.PASS}


def test_no_samples_are_no_evidence() -> None:
    for hops in ((), tuple(replace(h, samples=0, speed_gts=None, width=None) for h in links_of_gpus(8))):
        results = judged(hops)
        assert {(name, r.outcome, r.reason) for name, r in results.items()} == {("pcie_link", Outcome.COULD_NOT_RUN, GateReason.INCOMPLETE)}
        assert "0 of 8 GPUs" in results["pcie_link"].detail


def test_seven_of_eight_gpus_are_no_node() -> None:
    results = judged(links_of_gpus(7))
    assert {name: (r.outcome, r.found) for name, r in results.items()} == {"pcie_link": (Outcome.COULD_NOT_RUN, "7 GPUs")}


@pytest.mark.parametrize(
    ("values", "metric"),
    [
        ({"speed_gts": None, "samples": 0}, "pcie_speed"),
        ({"width": None, "samples": 0}, "pcie_width"),
        ({"most_width": None}, "pcie_width"),
    ],
)
def test_one_link_that_the_kernel_does_not_show_could_not_run(values: dict[str, Any], metric: str) -> None:
    results = judged(changed("0000:20:00.0", **values))
    assert {(name, r.outcome, r.reason) for name, r in results.items()} == {(metric, Outcome.COULD_NOT_RUN, GateReason.INCOMPLETE)}


def test_a_virtual_machine_is_judged_by_what_is_declared() -> None:
    alone = tuple(replace(h, upper="", speed_gts=16.0) for h in links_of_gpus(2) if h.lower == h.device)
    undeclared = judged(alone, gpus=2)
    assert {r.outcome for r in undeclared.values()} == {Outcome.NOT_APPLICABLE, Outcome.PASS}
    assert judged(alone, gpus=2, gen=4, width=16)["pcie_link"].outcome is Outcome.PASS
    assert {r.outcome for r in judged(alone, gpus=2, gen=5, width=16).values()} == {Outcome.FAIL}
