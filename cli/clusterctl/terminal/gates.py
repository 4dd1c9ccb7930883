"""Gate results for people and for machines."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.judging.group_findings import group_texts
from clusterctl.core.repairs import repair_of_result
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl.model.group_findings import GroupFindings
from clusterctl.model.running_text import counted, first_of
from clusterctl.terminal import out
from clusterctl.terminal.findings import one_line
from clusterctl.terminal.safe_text import printable
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.model.gate_result import GateResult

_WORDS = {Outcome.FAIL: "failed", Outcome.COULD_NOT_RUN: "could not run", Outcome.PASS: "passed", Outcome.WARN: "warned"}

_NO_GROUP = GroupFindings()
_MINUTE_S = 60.0
_NAMED = 8


def show_results(
    kind: str,
    output: str,
    body: Mapping[str, Any],
    results: Sequence[GateResult],
    nodes: Sequence[str],
    *,
    group: GroupFindings = _NO_GROUP,
    given: bool = False,
) -> None:
    """Print verdicts: as a document of `kind` with `body` ahead of the nodes, or as text; `given`: on outputs that are of no run.

    `not_proven` of `body`: gate -> what its pass does not prove.
    """
    if output != "table":
        out.emit(output, kind, {**body, **asdict(group), "nodes": by_node(results, nodes)})
        return
    bad = [r for r in results if r.outcome not in GOOD]
    unreachable = [r for r in bad if r.reason is GateReason.NODE_UNREACHABLE]
    lines = [line for r in bad if r.reason is not GateReason.NODE_UNREACHABLE for line in result_lines(r)]
    lines += unreachable_lines(unreachable)
    lines += [line for r in results if r.outcome is Outcome.WARN for line in result_lines(r)]
    lines += [printable(f"warning: {text}") for text in group_texts(group)]
    lines += not_covered_lines(results)
    coverage = body.get("pair_coverage")
    if coverage:
        lines.append(coverage_line(coverage))
    lines += [printable(f"not proven by {gate} at {body['level']}: {text}") for gate, text in body.get("not_proven", {}).items()]
    where = body["directory"]
    closing = (
        f"Outputs in {where}: judged only, no record is changed" if given else f"Run {body['run']}: raw records and verdicts are in {where}"
    )
    out.print_text("\n".join([*lines, gates_summary(results, nodes), closing]))


def time_line(level: str, seconds: float) -> str:
    """How long a burn-in will take, as far as it is known before."""
    minutes = max(round(seconds / _MINUTE_S), 1)
    return f"level {level} takes about {minutes} min on hardware, where nothing is measured again"


def by_node(results: Sequence[GateResult], nodes: Sequence[str]) -> list[dict[str, Any]]:
    """The verdicts of every node; a node without any has not passed."""
    return [{"name": n, "passed": has_passed(results, n), "results": [gate_json(r) for r in results if r.node == n]} for n in nodes]


def gate_json(result: GateResult) -> dict[str, Any]:
    """A verdict, with the part that it is about and what to do first."""
    data = asdict(result)
    del data["repair"]
    return data | repair_of_result(result).to_json()


def has_passed(results: Sequence[GateResult], node: str) -> bool:
    """Whether a node has verdicts and all are good."""
    own = [r for r in results if r.node == node]
    return bool(own) and all(r.outcome in GOOD for r in own)


def result_lines(result: GateResult) -> list[str]:
    """One result: what was found, what was expected and from which source, and what to do next."""
    warns = "warning: " if result.outcome is Outcome.WARN else ""
    where = f"{warns}{result.node}: {result.gate}{f' {result.device}' if result.device else ''}"
    simulated = " [simulated]" if result.simulated else ""
    if result.outcome is Outcome.COULD_NOT_RUN:
        text = f"{where} could not run ({result.rule}): {result.detail or result.found or 'no reason given'}"
    elif result.peers and result.limit is not None:
        floor = f"floor {result.limit:g} {result.unit}, source {result.source}"
        text = f"{where} reads {result.found} ({floor}); {result.detail}"
    else:
        detail = f"; {result.detail}" if result.detail else ""
        source = f", source {result.source}" if result.source else ""
        text = f"{where}: {result.metric} {result.found}, expected {result.expected}{source}{detail}"
    return [printable(f"{text}{simulated}"), *([f"  hint: {printable(result.hint)}"] if result.hint else [])]


def unreachable_lines(results: Sequence[GateResult]) -> list[str]:
    """Results that are missing because a node was not reached: a line per node, however many results that is, and one hint."""
    by_name: dict[str, list[GateResult]] = {}
    for result in results:
        by_name.setdefault(result.node, []).append(result)
    lines = [f"{name}: could not run ({len(own)} results missing): {printable(one_line(own[0].detail))}" for name, own in by_name.items()]
    hint = f"  hint: check network, SSH and power of what was not reached, then `clusterctl burnin {','.join(by_name)}`"
    return [*lines, hint] if lines else []


def not_covered_lines(results: Sequence[GateResult]) -> list[str]:
    """What was left out of a group's measurement, once for the group: it is not a fault of a node, and nothing proves it either."""
    left_out = [r for r in results if r.outcome is Outcome.NOT_APPLICABLE and r.reason is GateReason.NOT_COVERED]
    return list(dict.fromkeys(printable(f"not covered: {r.gate}: {r.detail}") for r in left_out))


def coverage_line(coverage: Mapping[str, Any]) -> str:
    """What the pair schedule reaches where every meeting takes place."""
    text = (
        f"Planned: {coverage['pairs']} of {coverage['possible_pairs']} pairs, {coverage['devices']} of {coverage['known_devices']} HCAs, "
        f"{counted(coverage['nodes'], 'node')}."
    )
    missing = coverage["uncovered"]
    return f"{text} Not covered: {first_of(missing, _NAMED)}." if missing else text


def gates_summary(results: Sequence[GateResult], nodes: Sequence[str]) -> str:
    """The last line: nodes and gates by how they came out."""
    passed = [n for n in nodes if has_passed(results, n)]
    bad = [n for n in nodes if n not in passed]
    counts = Counter(_WORDS.get(r.outcome, r.outcome.value.replace("_", " ")) for r in results)
    verdicts = ", ".join(f"{n} {word}" for word, n in sorted(counts.items())) or "none"
    names = f" ({first_of(bad, _NAMED)})" if bad else ""
    simulated = " Simulated numbers." if any(r.simulated for r in results) else ""
    return f"{counted(len(nodes), 'node')}: {len(passed)} passed, {len(bad)} did not{names}. Verdicts: {verdicts}.{simulated}"
