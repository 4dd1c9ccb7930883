"""The plan and the result of a provisioning run: lines for people, a document for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.core.plan import plan_exit_code
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.plan import PlannedAction
from clusterctl.model.running_text import counted, fold_names
from clusterctl.model.state import State
from clusterctl.model.state_documents import NodeToProvision, ProvisionPlanDocument
from clusterctl.model.verdict import ReasonKind
from clusterctl.terminal import messages, out
from clusterctl.terminal.safe_text import printable
from clusterctl.terminal.states import SIGNS, coloured

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl.model.plan import NodePlan, Plan
    from clusterctl.model.provision import NodeResult, ProvisionResult

_REASONS = 3
_PLAN_SIGNS = {PlannedAction.PROVISION: "~", PlannedAction.QUARANTINE: "!"}
_PARTNERS = 2


def show_summary(result: ProvisionResult, output: str) -> None:
    """The result on stdout, the run's line on stderr."""
    if output == "table":
        out.print_text("\n".join(lines(result)))
    else:
        out.emit(output, "provision", provision_document(result))
    messages.note(f"Run {result.run_id}: {headline(result)}. Details: clusterctl report {result.run_id}")


def headline(result: ProvisionResult) -> str:
    """`5 admitted, 1 quarantined`: admitted first, then quarantined, then the others."""
    if result.declined:
        return "nothing was touched"
    order = [State.ADMITTED, State.QUARANTINED, *(s for s in State if s not in (State.ADMITTED, State.QUARANTINED))]
    parts = [f"{result.counts[s.value]} {s.value.replace('_', ' ')}" for s in order if result.counts.get(s.value)]
    lost = sum(n.exit_code is ExitCode.UNREACHABLE and n.state is not State.QUARANTINED for n in result.nodes)
    return ", ".join(parts) + (f" ({lost} of these unreachable)" if lost else "")


def lines(result: ProvisionResult) -> Iterator[str]:
    """The summary."""
    mark = "  (simulated)" if result.simulated else ""
    changed = sum(n.changed for n in result.nodes)
    yield f"{headline(result)}{mark}"
    good = [n.node for n in result.nodes if n.state is State.ADMITTED and n.exit_code is ExitCode.OK]
    for node in result.nodes:
        if node.exit_code is not ExitCode.OK:
            yield from _node(node, good)
    yield f"{changed} changed in {result.duration_s:.0f} s"


def _node(node: NodeResult, good: list[str]) -> Iterator[str]:
    head = coloured(f"{SIGNS[node.state]} {node.node}", node.state)
    if not node.reasons:
        yield f"{head}: {printable(node.reason)}"
    for number, reason in enumerate(node.reasons[:_REASONS]):
        yield f"{head}: {printable(reason.text)}" if number == 0 else f"  also {printable(reason.text)}"
        if reason.hint:
            yield f"  hint: {printable(reason.hint)}"
    if len(node.reasons) > _REASONS:
        yield f"  and {len(node.reasons) - _REASONS} more: clusterctl history {node.node}"
    if node.state is State.QUARANTINED and not any(r.kind is ReasonKind.REFUSED for r in node.reasons):
        partners = f" --partners {','.join(good[:_PARTNERS])}" if len(good) >= _PARTNERS else ""
        yield f"  once repaired: clusterctl provision {node.node} --retest{partners}"


def provision_document(result: ProvisionResult) -> dict[str, Any]:
    """The document, without its envelope. Schema: docs/reference/schemas/provision.schema.json."""
    return {
        "run_id": result.run_id,
        "exit_code": int(result.exit_code),
        "declined": result.declined,
        "simulated": result.simulated,
        "duration_s": round(result.duration_s, 1),
        "counts": dict(result.counts),
        "changed": sum(n.changed for n in result.nodes),
        "nodes": [
            {
                "name": n.node,
                "state": n.state.value,
                "reason": n.reason,
                "reasons": [r.to_json() for r in n.reasons],
                "changed": n.changed,
                "duration_s": round(n.duration_s, 1),
                "touched": n.touched,
                "exit_code": int(n.exit_code),
            }
            for n in result.nodes
        ],
    }


def show_provision_plan(plan: Plan, output: str = "") -> None:
    """The plan: on stdout as a result of its own if a format is given, else on stderr, before the question."""
    if output in ("", "table"):
        text = "\n".join(plan_lines(plan))
        show_summary = out.print_text if output else messages.note
        show_summary(text)
    else:
        document = ProvisionPlanDocument(int(plan_exit_code(plan)), tuple(map(_to_provision, plan.nodes)))
        out.emit_document(output, "provision-plan", document)


def _to_provision(node: NodePlan) -> NodeToProvision:
    return NodeToProvision(node.node, node.state, node.action, node.why, node.roles, node.failing, int(node.exit_code))


def plan_lines(plan: Plan) -> Iterator[str]:
    """What provisioning is about to do, in the manner of terraform; nodes with equal plans share a line."""
    groups: dict[tuple[str, ExitCode], list[NodePlan]] = {}
    for node in plan.nodes:
        groups.setdefault((_plan_text(node), node.exit_code), []).append(node)
    for (text, _), nodes in groups.items():
        names = [n.node for n in nodes]
        yield f"{_PLAN_SIGNS.get(nodes[0].action, ' ')} {fold_names(names) if nodes[0].exit_code is ExitCode.OK else ', '.join(names)} {text}"
    roles = {r for n in plan.to_provision for r in n.roles}
    leaving = sum(n.state is State.ADMITTED for n in (*plan.to_provision, *plan.to_quarantine))
    yield f"Plan: {counted(len(plan.to_provision), 'node')}, {counted(len(roles), 'role')} to change." + (
        f" Admitted nodes to be taken out of the pool first: {leaving}." if leaving else ""
    )


def _plan_text(node: NodePlan) -> str:
    if node.action is PlannedAction.QUARANTINE:
        return f"({node.state.value}): will be quarantined: {printable(node.reasons[0].text)}"
    if node.action is not PlannedAction.PROVISION:
        return f"({node.state.value}): {printable(node.why)}"
    return f"({node.state.value}): {', '.join(node.roles) if node.roles else 'burn-in only'} [{node.why}]"
