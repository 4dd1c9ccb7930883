"""Check: one round trip to every node, then the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.provisioning.model import Step, StepStarted
from clusterctl.provisioning.plan import Subject, make_plan

if TYPE_CHECKING:
    from clusterctl.node import Node
    from clusterctl.provisioning.model import Plan
    from clusterctl.provisioning.work import Work


def check(work: Work) -> Plan:
    """Ask every node how it stands, and decide what is to be done with it. Changes nothing.

    Raises:
        PlanMovedError: the nodes are not as the plan says that was agreed to.
    """
    nodes = list(work.nodes.values())
    work.tell(StepStarted(Step.CHECK, tuple(work.nodes)))
    work.findings = {f.node: f for f in work.edges.validate(nodes)}
    work.edges.agreed(nodes, work.findings)
    plan = make_plan([_subject(work, n) for n in nodes], work.options)
    work.plans = {p.node: p for p in plan.nodes}
    return plan


def _subject(work: Work, node: Node) -> Subject:
    store = work.edges.store
    record = store.node(node.name)
    assert record is not None, "every node was registered before"  # noqa: S101
    moved = store.history(node.name)
    last = moved[-1].run_id if moved else ""
    return Subject(
        node,
        record,
        work.findings[node.name],
        store.findings(node.name, last) if last else None,
        store.gate_results(node.name, last) if last else (),
        work.edges.expected_gates(node),
    )
