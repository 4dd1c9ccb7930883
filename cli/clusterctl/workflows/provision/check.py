"""Check: one round trip to every node, then the plan; of nodes that have just booted, one every few seconds until their links are up. Changes nothing."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING

from clusterctl.adapters.run_directory import RunDir
from clusterctl.core.admission.record import gates_of
from clusterctl.core.ansible_series import oldest_node_python
from clusterctl.core.plan import PlanInput, make_plan, needs_history, was_measured
from clusterctl.model.provision import Note, Phase, PhaseStarted
from clusterctl.model.state import State
from clusterctl.workflows.just_booted import wait_until_up
from clusterctl.workflows.provision.knowledge import Knowledge

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from clusterctl.adapters.store.store import Store
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node
    from clusterctl.model.records import NodeRecord
    from clusterctl.model.trouble import TroubleRecord
    from clusterctl.workflows.provision.context import RunContext


def check_nodes(context: RunContext) -> Knowledge:
    """Validate every node and decide what to do with it.

    Raises:
        PlanChangedError: the nodes are not as in the saved plan of the request.
    """
    nodes = context.nodes
    context.notify(PhaseStarted(Phase.CHECK, tuple(n.name for n in nodes)))
    findings = {f.node: f for f in context.services.validate(nodes)}

    def look_again(names: Collection[str]) -> None:
        findings.update((f.node, f) for f in context.services.validate([n for n in nodes if n.name in names]))

    wait_until_up(findings, context.services.traits, look_again, lambda text: context.notify(Note(text)))
    due = {name: c.due for name, c in context.candidates.items() if c.due}
    inputs = plan_inputs(context.services.store, nodes, findings, lambda node: context.candidates[node.name].gates, due)
    plan = make_plan(inputs, context.options, context.services.traits)
    if context.request.saved_plan:
        context.request.saved_plan.require_unchanged(plan, {n.name: n.spec.digest for n in nodes})
    return Knowledge(plan, findings, context.partners)


def _recorded_gates(store: Store, record: NodeRecord) -> frozenset[str]:
    if record.state is not State.ADMITTED:
        return frozenset()
    records = store.admissions(record.name)
    return gates_of(records[-1]) if records else frozenset()


def plan_inputs(
    store: Store,
    nodes: Iterable[Node],
    findings: Mapping[str, NodeFindings],
    expected_gates: Callable[[Node], tuple[str, ...]],
    due: Mapping[str, TroubleRecord],
) -> list[PlanInput]:
    """What the plan is made from; `due`: node -> its record over the limit. Stored evidence is read only for the nodes whose plan depends on it. Nodes must be registered."""
    nodes = tuple(nodes)
    records = {r.name: r for r in store.nodes([n.name for n in nodes])}
    oldest = oldest_node_python(version("ansible-core"))
    inputs = []
    for node in nodes:
        record, found = records[node.name], findings[node.name]
        if was_measured(record):
            results = store.gate_results(node.name, current=True)
            gone = any(RunDir.find(store.run(run_id)) is None for run_id in store.evidence_runs(node.name))
            levels = store.measured_levels(node.name) if node.name in due else frozenset()
            inputs.append(PlanInput(node, record, found, None, results, expected_gates(node), records_gone=gone, measured_levels=levels))
            continue
        steps = store.history(node.name) if needs_history(record) else ()
        last = steps[-1].run_id if steps else ""
        if last:
            evidence = store.findings(node.name, last), store.gate_results(node.name, last)
            gates = expected_gates(node)
            inputs.append(PlanInput(node, record, found, *evidence, gates, recorded_gates=_recorded_gates(store, record)))
        else:
            inputs.append(PlanInput(node, record, found))
    return [replace(i, oldest_python=oldest, due=due.get(i.node.name)) for i in inputs]
