"""Run roles on nodes: each part where it can run, on the node itself or from the controller; the outcomes of the parts are joined per node."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from clusterctl.core.where_ansible_runs import ApplyPart, apply_parts
from clusterctl.model.playbook_result import HostStatus
from clusterctl.model.provision import Note

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.adapters.ansible.playbook_request import PlaybookRequest
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node
    from clusterctl.model.playbook_result import HostOutcome, PlaybookResult
    from clusterctl.model.provision import Phase
    from clusterctl.workflows.provision.context import RunContext
    from clusterctl.workflows.provision.knowledge import Knowledge


@dataclass(slots=True)
class RolesRun:
    """What became of each node, and the last playbook that ran on it."""

    hosts: dict[str, HostOutcome] = field(default_factory=dict)
    playbooks: dict[str, PlaybookResult] = field(default_factory=dict)

    def add(self, result: PlaybookResult) -> None:
        """Join the outcomes of one more playbook."""
        for name, outcome in result.hosts.items():
            self.hosts[name] = joined(self.hosts[name], outcome) if name in self.hosts else outcome
            self.playbooks[name] = result

    def going_on(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of `names` on which nothing has failed."""
        return tuple(n for n in names if n not in self.hosts or self.hosts[n].status is HostStatus.OK)


def joined(first: HostOutcome, then: HostOutcome) -> HostOutcome:
    """The outcome of two playbooks that ran one after the other, each with other roles."""
    return replace(
        then,
        ok=first.ok + then.ok,
        changed=first.changed + then.changed,
        reboot_required=tuple(sorted({*first.reboot_required, *then.reboot_required})),
        apply_again=tuple(sorted({*first.apply_again, *then.apply_again})),
        waiting=(*first.waiting, *then.waiting),
    )


def report_where(context: RunContext, known: Knowledge) -> None:
    """Report where the roles of a plan would run, and why not on the node."""
    on_node = context.services.on_node
    planned = [p.node for p in known.plan.nodes if p.roles]
    if on_node is None or not planned:
        return
    problems = on_node.problems([context.candidates[n].node for n in planned], known.findings)
    here = sum(not why for why in problems.values())
    reasons = Counter(why for why in problems.values() if why)
    texts = [f"on the node itself: {here}"] if here else []
    texts += [f"from the controller: {count}, because {why}" for why, count in reasons.items()]
    context.notify(Note(f"where roles would run, by number of nodes: {'; '.join(texts)}"))


def run_parts(context: RunContext, findings: Mapping[str, NodeFindings], request: PlaybookRequest, step: Phase) -> RolesRun:
    """Run the roles of `request` on its nodes. A node that cannot run Ansible itself is changed from the controller, and the run reports why."""
    on_node, run = context.services.on_node, RolesRun()
    problems = dict.fromkeys(request.nodes, "") if on_node is None else on_node.problems(_nodes(context, request), findings)
    here = [n for n in request.nodes if on_node is None or problems[n]]
    for name in (n for n in here if problems[n]):
        context.notify(Note(f"{name}: roles run from the controller, because {problems[name]}"))
    if here:
        run.add(context.playbook(replace(request, nodes=tuple(here)), step))
    if on_node is None:
        return run
    groups: dict[tuple[ApplyPart, ...], list[str]] = defaultdict(list)
    for name in (n for n in request.nodes if n not in here):
        bound = on_node.from_controller(request.tags, context.candidates[name].node)
        groups[apply_parts(request.tags, on_node.order, bound)].append(name)
    for chosen, names in groups.items():
        for part in chosen:
            left = run.going_on(names)
            if left:
                _run_part(context, run, replace(request, nodes=left, tags=part.roles), step, on_node=part.on_node)
    return run


def _run_part(context: RunContext, run: RolesRun, request: PlaybookRequest, step: Phase, *, on_node: bool) -> None:
    if not on_node:
        run.add(context.playbook(request, step))
        return
    result, unsuited = context.playbook_on_nodes(request, step)
    run.add(result)
    for name, why in unsuited.items():
        context.notify(Note(f"{name}: roles run from the controller, because {why}"))
    if unsuited:
        run.add(context.playbook(replace(request, nodes=tuple(unsuited)), step))


def _nodes(context: RunContext, request: PlaybookRequest) -> list[Node]:
    return [context.candidates[n].node for n in request.nodes]
