"""The history of one node: text, or the document `history`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from clusterctl.core import timestamps
from clusterctl.core.admission.decide import gate_text
from clusterctl.core.finding_hint import named_hint
from clusterctl.core.repairs import repair_of_finding
from clusterctl.terminal import out
from clusterctl.terminal.gates import gate_json
from clusterctl.terminal.safe_text import printable
from clusterctl.terminal.states import badge
from clusterctl.terminal.status import node_json
from clusterctl_validators.finding import GOOD, QUIET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.node_story import Story
    from clusterctl.model.part import PartRow
    from clusterctl.model.records import RunRow, TransitionRow


def show_history(story: Story, output: str) -> None:
    """Print it."""
    if output == "table":
        out.print_text("\n".join(_lines(story)))
    else:
        out.emit(output, "history", history_body(story))


def history_body(story: Story) -> dict[str, Any]:
    """The document, without its envelope. Schema: docs/reference/schemas/history.schema.json."""
    return {
        "node": node_json(story.node),
        "transitions": [
            {
                "at": s.at,
                "from": s.from_state.value,
                "to": s.to_state.value,
                "operator": s.operator,
                "run_id": s.run_id,
                "reason": s.reason,
                "cause": s.cause.value if s.cause else None,
                "reason_code": s.reason_code,
                "component": s.component,
                "component_name": s.component_name,
                "next_action": s.next_action,
                "spec_digest": s.spec_digest,
            }
            for s in story.transitions
        ],
        "runs": [_run_json(r, story) for r in story.runs],
        "findings": _findings_json(story.findings),
        "gate_results": [_gate_json(g) for g in story.gate_results],
        "admissions": [
            {
                "at": a.at,
                "run_id": a.run_id,
                "operator": a.operator,
                "spec_digest": a.spec_digest,
                "digest": a.digest,
                "signed": bool(a.signature),
            }
            for a in story.admissions
        ],
        "replaced_parts": [
            {
                "kind": r.part.kind,
                "slot": r.part.slot,
                "name": r.part.name,
                "model": r.part.model,
                "serial": r.part.serial,
                "run_id": r.ended_run,
            }
            for r in story.replaced_parts
        ],
    }


def _run_json(run: RunRow, story: Story) -> dict[str, Any]:
    names = ("id", "verb", "target", "operator", "started_at", "finished_at", "exit_code", "directory")
    return {n: getattr(run, n) for n in names} | {"status": story.status_of(run)}


def _findings_json(findings: NodeFindings | None) -> dict[str, Any] | None:
    if findings is None:
        return None
    counts = Counter(f.outcome.value for f in findings.findings)
    return {
        "status": findings.status.value,
        "detail": findings.detail,
        "duration_s": findings.duration_s,
        "counts": dict(counts),
        "not_good": [f.to_json() | repair_of_finding(f).to_json() for f in findings.findings if f.outcome not in GOOD],
    }


def _gate_json(result: GateResult) -> dict[str, Any]:
    return gate_json(result) | {"outcome": result.outcome.value, "peers": list(result.peers)}


def _lines(story: Story) -> Iterator[str]:
    node = story.node
    place = f" in {node.rack}" + (f" slot {node.slot}" if node.slot else "") if node.rack else ""
    yield f"{node.name}{place}: {badge(node.state).rstrip()} since {timestamps.short(node.since)}"
    if node.reason:
        yield f"  {printable(node.reason)}"
    yield from _section("steps", (_step(s) for s in story.transitions))
    yield from _section("runs, newest first", (_run(r, story) for r in story.runs))
    yield from _section("newest findings", _findings(story.findings))
    yield from _section("newest gate results", _gates(story.gate_results))
    yield from _section(
        "admissions",
        (f"{timestamps.short(a.at)}  run {a.run_id}  spec {a.spec_digest[:12]}  record {a.digest[:12]}" for a in story.admissions),
    )
    if story.replaced_parts:
        yield from _section("parts that were replaced or are gone", map(_part, story.replaced_parts))


def _part(row: PartRow) -> str:
    return printable(f"{row.part.name} {row.part.model} serial {row.part.serial}: until run {row.ended_run}")


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    body_lines = tuple(lines)
    yield f"\n{title}:" + ("" if body_lines else " none")
    yield from (f"  {line}" for line in body_lines)


def _step(step: TransitionRow) -> str:
    run = f"  run {step.run_id}" if step.run_id else ""
    why = f"  {printable(step.reason)}" if step.reason else ""
    return f"{timestamps.short(step.at)}  {step.from_state.value} -> {step.to_state.value}  by {step.operator}{run}{why}"


def _run(run: RunRow, story: Story) -> str:
    ended = "" if run.exit_code is None else f", exit {run.exit_code}"
    return f"{timestamps.short(run.started_at)}  {run.id}  {run.verb} {run.target}  by {run.operator}: {story.status_of(run)}{ended}"


def _findings(findings: NodeFindings | None) -> Iterator[str]:
    if findings is None:
        return
    counts = Counter(f.outcome.value for f in findings.findings)
    summary = ", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items())) or "no findings"
    yield f"{summary} ({findings.status.value}{': ' + printable(findings.detail) if findings.detail else ''})"
    for f in findings.findings:
        if f.outcome not in QUIET:
            yield printable(
                f"{f.outcome.value} {f.check}: expected {f.expected}, found {f.found or 'nothing'}{f': {f.reason}' if f.reason else ''}"
            )
            if f.hint:
                yield f"  hint: {printable(named_hint(f, findings.node))}"


def _gates(results: Sequence[GateResult]) -> Iterator[str]:
    if results:
        counts = Counter(r.outcome.value for r in results)
        mark = ", simulated" if any(r.simulated for r in results) else ""
        yield ", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items())) + mark
    for result in results:
        if result.outcome not in QUIET:
            yield printable(f"{result.outcome.value} {gate_text(result)}")
            if result.hint:
                yield f"  hint: {printable(result.hint)}"
