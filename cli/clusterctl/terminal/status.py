"""The state of nodes: a line per node, rack by rack; or the document `status`."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, fields
from itertools import groupby
from typing import TYPE_CHECKING, Any

from clusterctl.core import timestamps
from clusterctl.core.capacity import capacity_of, gpu_capacity_of
from clusterctl.core.lifecycle import MAY_BE_SILENT
from clusterctl.core.listed_nodes import listed_nodes
from clusterctl.core.node_summary import node_summary
from clusterctl.core.pool_contradictions import returned_by_others, taken_out_by_others
from clusterctl.model.listed_node import ListedNode
from clusterctl.model.node_summary import NodeSummary
from clusterctl.model.rack_condition import RackCondition
from clusterctl.model.running_text import fold_names
from clusterctl.model.state import State
from clusterctl.terminal import out
from clusterctl.terminal.safe_text import printable
from clusterctl.terminal.states import badge, coloured

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterctl.model.notice import MaintenanceNotice
    from clusterctl.model.overview import Overview, Unfinished
    from clusterctl.model.recorded_hardware import RecordedHardware
    from clusterctl.model.records import Lease, NodeRecord, Unanswered

# Above this many nodes, the admitted ones of a rack share its heading; the others keep their lines.
_MANY = 200
# The other conditions follow from the counts beside them.
_SHOWN = frozenset({RackCondition.DEGRADED, RackCondition.MAINTENANCE})

# not `asdict`, which copies every value: at thousands of nodes that takes longer than all else
_SUMMARY = tuple(f.name for f in fields(NodeSummary))
_LISTED = tuple(f.name for f in fields(ListedNode))


def show_status(overview: Overview, output: str, hardware: Mapping[str, RecordedHardware]) -> None:
    """Print it; the table shows no hardware."""
    if output == "table":
        out.print_text("\n".join(_lines(overview)))
    else:
        out.emit(output, "status", status_body(overview, hardware))


def status_body(overview: Overview, hardware: Mapping[str, RecordedHardware]) -> dict[str, Any]:
    """The document, without its envelope. Schema: docs/reference/schemas/status.schema.json."""
    counts = Counter(n.state for n in overview.nodes)
    return {
        "summary": {s.value: counts[s] for s in State if counts[s]},
        "counts": asdict(capacity_of(overview)),
        "gpu_counts": asdict(gpu_capacity_of(overview, hardware)),
        "racks": [{"name": r.name, "condition": r.condition.value, "admitted": r.admitted, "nodes": r.nodes} for r in overview.racks],
        "nodes": [_listed_json(n) for n in listed_nodes(overview, overview.nodes, hardware)],
        "unfinished_runs": [
            {
                "id": u.run.id,
                "verb": u.run.verb,
                "target": u.run.target,
                "operator": u.run.operator,
                "started_at": u.run.started_at,
                "nodes": list(u.left),
                "admitted": list(u.admitted),
            }
            for u in overview.unfinished
        ],
        "pool_contradictions": _contradictions(overview),
    }


def _contradictions(overview: Overview) -> dict[str, list[str]] | None:
    if overview.members is None:
        return None
    return {
        "out_and_jobs_may_start": [n.name for n in returned_by_others(overview)],
        "admitted_and_no_job_starts": [n.name for n in taken_out_by_others(overview)],
    }


def node_json(node: NodeRecord) -> dict[str, Any]:
    """A node as every document shows it."""
    summary = node_summary(node)
    return {name: getattr(summary, name) for name in _SUMMARY}


def _listed_json(node: ListedNode) -> dict[str, Any]:
    plain = {name: getattr(node, name) for name in _LISTED}
    return plain | {
        "groups": list(node.groups),
        "held_by": asdict(node.held_by) if node.held_by else None,
        "unanswered": asdict(node.unanswered) if node.unanswered else None,
        "planned_maintenance": [asdict(p) for p in node.planned_maintenance],
    }


def _lines(overview: Overview) -> Iterator[str]:
    width = max((len(n.name) for n in overview.nodes), default=0)
    held = overview.held
    expected = [n.name for n in overview.nodes if n.state not in MAY_BE_SILENT]
    unanswered = {name: overview.unanswered[name] for name in expected if name in overview.unanswered}
    conditions = {r.name: f" ({r.condition})" for r in overview.racks if r.condition in _SHOWN}
    many = len(overview.nodes) > _MANY
    badges = {s: badge(s) for s in State}  # once: each one checks whether stdout is a terminal
    for rack, group in groupby(overview.nodes, key=lambda n: n.rack):
        nodes = tuple(group)
        counts = Counter(n.state for n in nodes)
        silent = sum(n.name in unanswered for n in nodes)
        heading = ", ".join(coloured(f"{counts[s]} {s.value}", s) for s in State if counts[s])
        used = "" if overview.busy is None else f"; {sum(n.name in overview.busy for n in nodes)} in use"
        yield f"{rack or 'no rack'}{conditions.get(rack, '')}: {heading}" + (f" ({silent} gave no answer)" if silent else "") + used
        for node in nodes:
            if not (many and node.state is State.ADMITTED and not node.spec_moved_on and node.name not in unanswered):
                use = _use(overview.busy, node.name)
                yield _line(node, f"{node.name:<{width}}  {badges[node.state]}", held.get(node.name), unanswered.get(node.name), use)
    yield from _to_do(overview.nodes)
    yield from map(_planned, overview.notices)
    for dead in overview.unfinished:
        yield from _unfinished(dead)
    if many:
        yield f"{len(overview.nodes)} nodes; admitted ones are counted, not listed: `-o json` lists all"


def _to_do(nodes: Iterable[NodeRecord]) -> Iterator[str]:
    """What is out, by what to do first."""
    names: dict[tuple[str, str], list[str]] = {}
    for node in nodes:
        if node.next_action:
            part = " ".join(filter(None, (node.component, printable(node.component_name))))
            names.setdefault((node.next_action, part), []).append(node.name)
    for (action, part), own in sorted(names.items(), key=lambda kv: (-len(kv[1]), kv[0])):
        yield f"to do: {action}{f' ({part})' if part else ''}: {fold_names(own)}"


def _use(busy: Mapping[str, str] | None, node: str) -> tuple[str, ...]:
    """No note where nothing is known."""
    if busy is None:
        return ()
    return (f"in use: {printable(busy[node])}" if node in busy else "not in use",)


def _line(node: NodeRecord, begin: str, lease: Lease | None, last: Unanswered | None, use: tuple[str, ...]) -> str:
    notes = [*use]
    if node.owner or node.reason:
        by = f"by {printable(node.owner)}: " if node.owner else ""
        notes.append(f"{by}{printable(node.reason)}")
    if last is not None:
        why = f": {printable(last.detail)}" if last.detail else ""
        notes.append(f"{last.status.replace('_', ' ')} at {timestamps.short(last.at)}{why} (run {last.run_id})")
    if node.spec_moved_on:
        notes.append("its declared state changed since: `clusterctl plan` shows how")
    if lease is not None:
        notes.append(f"held by {lease.holder} (run {lease.run_id}) since {timestamps.short(lease.acquired_at)}")
    return f"  {begin}  {timestamps.short(node.since)}  {'; '.join(notes)}".rstrip()


def _planned(notice: MaintenanceNotice) -> str:
    when = f"{timestamps.short(notice.period.begins_at)} to {timestamps.short(notice.period.ends_at)}"
    return (
        f"planned maintenance {notice.id}, {when}: {fold_names(notice.nodes)}; by {printable(notice.operator)}: {printable(notice.reason)}"
    )


def _unfinished(dead: Unfinished) -> Iterator[str]:
    run = dead.run
    where = f"; left in the middle: {fold_names(dead.left)}" if dead.left else ""
    yield f"run {run.id} ({run.verb} {run.target}, {run.operator}, {timestamps.short(run.started_at)}) is unfinished: its process is gone{where}"
    resume = f"`clusterctl provision --resume {run.id}` goes on" if run.verb == "provision" else f"`clusterctl {run.verb} {run.target}`"
    yield f"  next: {resume}; before it ended it admitted {fold_names(dead.admitted) if dead.admitted else 'nothing'}"
