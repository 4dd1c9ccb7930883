"""The transport of GPUs that no NVSwitch joins: L40S without NVLink, H100 NVL in groups of two or four that bridges join.

Between two processors NCCL takes shared memory where there is no NVLink (NVIDIA/nccl issue 1358: two L4, P2P with NCCL_P2P_LEVEL=SYS only;
NVIDIA/nccl-tests issue 74: on A40 that is the faster way).
"""

from __future__ import annotations

from typing import Any

import pytest

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_result import GateResult, Outcome
from support.gates import TODAY, gates, nccl, node, record

ALONE = {"hardware_gpu_nvlinks": 0, "hardware_gpu_fabric": False}
BRIDGED = {"hardware_gpu_nvlinks": 12, "hardware_gpu_fabric": False}
SWITCHED = {"hardware_gpu_nvlinks": 18, "hardware_gpu_fabric": True}
OVER = "n1:100:120 [0] NCCL INFO Channel 01/0 : 3[3] -> 4[4] via {}\n"


def transport(hardware: dict[str, Any], *ways: str, settings: dict[str, Any] | None = None) -> GateResult:
    declared = gates(gates_settings={"nccl_node": settings}) if settings else None
    subject = subject_of(node("n1", declared=declared, **hardware), TODAY)
    text = "".join(map(OVER.format, ways[1:])) + nccl(476.9, via=ways[0])
    results = judge([subject], [record("nccl_node", "n1", text)], level="standard", gates=["nccl_node"])
    return next(r for r in results if r.rule == "transport")


@pytest.mark.parametrize(
    ("hardware", "ways", "outcome"),
    [
        (ALONE, ("SHM/direct/direct",), Outcome.PASS),
        (ALONE, ("P2P/direct pointer", "SHM/direct/direct"), Outcome.PASS),
        (ALONE, ("NET/Socket/0",), Outcome.FAIL),
        (BRIDGED, ("P2P/direct pointer", "SHM/direct/direct"), Outcome.PASS),
        (BRIDGED, ("SHM/direct/direct",), Outcome.FAIL),
        (BRIDGED, ("P2P/direct pointer", "NET/Socket/0"), Outcome.FAIL),
        (SWITCHED, ("P2P/CUMEM",), Outcome.PASS),
        (SWITCHED, ("P2P/CUMEM", "SHM/direct/direct"), Outcome.FAIL),
        ({}, ("P2P/CUMEM", "SHM/direct/direct"), Outcome.FAIL),
    ],
)
def test_what_the_declared_links_allow(hardware: dict[str, Any], ways: tuple[str, ...], outcome: Outcome) -> None:
    assert transport(hardware, *ways).outcome is outcome


def test_what_a_profile_sets_counts() -> None:
    assert transport(ALONE, "SHM/direct/direct", settings={"forbid_transport": ["SHM"]}).outcome is Outcome.FAIL
    assert transport(ALONE, "SHM/direct/direct", settings={"require_transport": "P2P"}).outcome is Outcome.FAIL
    assert (
        transport(SWITCHED, "SHM/direct/direct", settings={"require_transport": "", "forbid_transport": ["NET/Socket"]}).outcome
        is Outcome.PASS
    )
