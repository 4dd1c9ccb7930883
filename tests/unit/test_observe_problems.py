"""What is declared as observed and observes nothing."""

from __future__ import annotations

import pytest

from clusterctl.core.observe_problems import observe_problems
from clusterctl.model.node import Connection, Node, NodeSpec, Place

CHECKS = ("hugepages.pages[1G].node0.running", "kernel.cmdline.running")


def texts(*entries: dict[str, str], known: tuple[str, ...] = ()) -> list[str]:
    spec = NodeSpec({"hugepages": {}, "kernel": {}}, {}, (), "", tuple({**e, "reason": "new"} for e in entries))
    return [p.text() for p in observe_problems(Node("n1", (), Connection(""), Place(), spec), known)]


@pytest.mark.parametrize(
    "entry", [{"check": "kernel.*"}, {"check": "hugepages.pages[1G]*"}, {"gate": "gpu_stress"}, {"gate": "rdma_pair", "rule": "floor"}]
)
def test_what_observes_something_is_no_problem(entry: dict[str, str]) -> None:
    assert texts(entry, known=CHECKS) == []


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"gate": "gpu_stres"}, "observe[0]: there is no gate 'gpu_stres'; did you mean 'gpu_stress'? (n1)"),
        ({"check": "*"}, "observe[0]: '*' observes checks of every role, so no check would decide: name the checks (n1)"),
        ({"check": "roce.*"}, "observe[0]: 'roce.*' matches no check: the node has no such role (n1)"),
        ({"check": "kernel.release"}, "observe[0]: 'kernel.release' matches none of the 2 checks of its last validation (n1)"),
    ],
)
def test_what_observes_nothing_is_one(entry: dict[str, str], problem: str) -> None:
    assert texts(entry, known=CHECKS) == [problem]
