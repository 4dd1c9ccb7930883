"""What an agent is given beside its steps."""

from __future__ import annotations

from clusterctl.workflows.burnin.agent_plan import plan_for
from support.gates import gates, nodes, plan


def test_all_agents_of_a_run_have_the_same_spare_ports_behind_those_of_the_steps() -> None:
    made = plan(nodes(4, rails=2), ["rdma_pair"])
    used = {step.port for steps in made.steps.values() for step in steps}
    spare = [plan_for(made, name, "r", "o", "t")["spare_ports"] for name in made.steps]
    assert spare == [list(range(max(used) + 1, max(used) + 8))] * len(made.steps)


def test_there_are_no_ports_above_the_last() -> None:
    declared = gates(gates_settings={"nccl_group": {"control_port": 65533}})
    made = plan(nodes(2, declared=declared), ["nccl_group"])
    assert plan_for(made, "n1", "r", "o", "t")["spare_ports"] == [65534, 65535]
