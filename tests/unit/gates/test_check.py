from __future__ import annotations

from dataclasses import replace

from clusterctl.core.gates.gates_problems import gates_problems
from clusterctl.model.node import NodeSpec
from support.gates import NODE_FLOOR, RDMA_FLOOR, TODAY, gates, node


def test_gates_that_can_be_read_are_no_problem() -> None:
    assert gates_problems(node("n1", declared=gates()).spec, ("n1",), TODAY) == ()


def test_every_problem_is_told_with_its_path_and_its_nodes() -> None:
    declared = gates(gates_baselines=[{**RDMA_FLOOR, "value": 0}, NODE_FLOOR], gates_levls={})
    found = gates_problems(node("n1", declared=declared).spec, ("n1", "n2"), TODAY)
    assert [(p.path, p.nodes) for p in found] == [("gates_levls", ("n1", "n2"))]
    del declared["gates_levls"]
    found = gates_problems(node("n1", declared=declared).spec, ("n1", "n2"), TODAY)
    assert {p.path for p in found} == {"gates_baselines[0] (rdma_pair bandwidth_average).value", "gates_baselines"}
    assert all(p.message for p in found)


def test_an_adapter_that_cannot_be_measured_is_told() -> None:
    spec = node("n1", declared=gates()).spec
    broken = replace(spec, roles={"hardware": {"hardware_hcas": [{"name": "mlx5_0", "rate_gbps": 0}], "hardware_gpus": 8}})
    (problem,) = gates_problems(broken, ("n1",), TODAY)
    assert problem.text() == "hardware_hcas[0].rate_gbps: 0 is not a rate in Gb/s (n1)"


def test_nodes_that_are_never_burnt_in_declare_no_gates() -> None:
    assert gates_problems(NodeSpec({}, {}, (), "sha256:0"), ("n1",), TODAY) == ()
