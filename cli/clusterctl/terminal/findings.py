"""Findings for people and for machines: text, JSON, YAML, JUnit."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from clusterctl.core.finding_hint import named_hint
from clusterctl.core.repairs import repair_of_finding
from clusterctl.model.findings import NodeStatus, status_hints
from clusterctl.model.running_text import counted
from clusterctl.terminal import out
from clusterctl.terminal.safe_text import printable
from clusterctl.terminal.xml_text import parts
from clusterctl_validators.finding import GOOD, QUIET, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from clusterctl.model.findings import NodeFindings
    from clusterctl_validators.finding import Finding

FORMATS = (*out.FORMATS, "junit")
_WORDS = {Outcome.FAIL: "failed", Outcome.COULD_NOT_RUN: "could not run", Outcome.WARN: "warning"}
_WIDTH = 200


def show_findings(results: Sequence[NodeFindings], output: str, run_id: str) -> None:
    """Print the findings."""
    if output == "table":
        hints = status_hints((r.node, r.status) for r in results)
        out.print_text("\n".join([*(printable(line) for r in results for line in _node(r, hints)), findings_summary(results)]))
    elif output == "junit":
        out.texts(junit_parts(results))
    else:
        out.emit_parts(output, "validation", _head(results, run_id), "nodes", map(_node_json, results))


def findings_summary(results: Sequence[NodeFindings]) -> str:
    """The last line: nodes and checks by outcome."""
    states = Counter(_state(r) for r in results)
    checks = Counter(f.outcome for r in results for f in r.findings)
    nodes = ", ".join(f"{n} {what}" for what, n in sorted(states.items(), key=lambda kv: kv[0] != "as declared"))
    counts = ", ".join(f"{checks[o]} {o.value.replace('_', ' ')}" for o in Outcome if checks[o])
    return f"{counted(len(results), 'node')}: {nodes}. {counted(checks.total(), 'check')}: {counts or 'none'}."


def _state(result: NodeFindings) -> str:
    if result.status is not NodeStatus.OK:
        return result.status.value.replace("_", " ")
    return "as declared" if all(f.outcome in GOOD for f in result.findings) else "not as declared"


def _node(result: NodeFindings, hints: Mapping[str, str]) -> Iterator[str]:
    """A node that is as declared, without a warning, gets no line."""
    if result.status is not NodeStatus.OK:
        yield f"{result.node}  {_state(result)}: {result.detail}".rstrip(": ")
        yield from _holder(result)
        if result.node in hints:
            yield f"    hint: {hints[result.node]}"
        return
    bad = [f for f in result.findings if f.outcome not in QUIET]
    if bad:
        yield f"{result.node}  {len(bad)} of {len(result.findings)} checks"
        yield from _holder(result)
    for hint, findings in groupby(bad, key=lambda f: named_hint(f, result.node)):
        for finding in findings:
            yield f"    {finding.severity.value:<8}  {finding.check}  {_WORDS[finding.outcome]}: {sentence(finding)}"
        if hint:
            yield f"{'':14}hint: {one_line(hint)}"


def _holder(result: NodeFindings) -> Iterator[str]:
    """A node in a run is not as declared on its way."""
    if result.held_by:
        yield f"    held by {result.held_by}: it was being changed meanwhile; validate it again after that run"


def sentence(finding: Finding) -> str:
    """A finding on one line."""
    if finding.outcome is Outcome.COULD_NOT_RUN:
        return one_line(finding.reason)
    text = f"expected {one_line(finding.expected) or 'nothing'}, found {one_line(finding.found) or 'nothing'}"
    return f"{text} ({one_line(finding.reason)})" if finding.reason else text


def one_line(text: str) -> str:
    """Text of a node on one line, shortened; the JSON has the full text."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _WIDTH else flat[: _WIDTH - 3] + "..."


def findings_json_parts(results: Sequence[NodeFindings], run_id: str) -> Iterator[str]:
    """The JSON document, node by node, because that of a fleet does not fit in memory."""
    return out.json_parts(_head(results, run_id), "nodes", map(_node_json, results))


def _head(results: Sequence[NodeFindings], run_id: str) -> dict[str, Any]:
    outcomes = Counter(f.outcome for r in results for f in r.findings)
    return {
        "run_id": run_id,
        "summary": {
            "nodes": dict(Counter(_state(r).replace(" ", "_") for r in results)),
            "checks": {o.value: outcomes[o] for o in Outcome},
        },
    }


def _node_json(result: NodeFindings) -> dict[str, Any]:
    return {
        "name": result.node,
        "status": result.status.value,
        "detail": result.detail,
        "at": result.at,
        "duration_s": round(result.duration_s, 3),
        "view": result.view,
        "cpu_quota": result.cpu_quota,
        "held_by": result.held_by,
        "findings": [_finding_json(f, result.node) for f in result.findings],
    }


def _finding_json(finding: Finding, node: str) -> dict[str, Any]:
    data = {**finding.to_json(), "hint": named_hint(finding, node)}
    return data if finding.outcome in QUIET else data | repair_of_finding(finding).to_json()


def junit_parts(results: Iterable[NodeFindings]) -> Iterator[str]:
    """A test suite per node, a test case per check; a node without findings is one error. Yields one piece per node."""
    return parts(ET.Element("testsuites", name="clusterctl validate"), map(_suite, results))


def _suite(result: NodeFindings) -> ET.Element:
    suite = ET.Element("testsuite", name=result.node, time=f"{result.duration_s:.3f}")
    if result.status is not NodeStatus.OK:
        case = ET.SubElement(suite, "testcase", classname=result.node, name="node")
        ET.SubElement(case, "error", type=result.status.value, message=result.detail)
    for finding in result.findings:
        _case(suite, result.node, finding)
    cases = list(suite)
    suite.set("tests", str(len(cases)))
    for tag, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(name, str(sum(1 for c in cases if c.find(tag) is not None)))
    return suite


_TAGS = {
    Outcome.FAIL: "failure",
    Outcome.COULD_NOT_RUN: "error",
    Outcome.NOT_APPLICABLE: "skipped",
    Outcome.WAIVED: "skipped",
    Outcome.WARN: "system-out",
}


def _case(suite: ET.Element, node: str, finding: Finding) -> None:
    case = ET.SubElement(suite, "testcase", classname=f"{node}.{finding.role}", name=finding.check)
    tag = _TAGS.get(finding.outcome)
    if tag:
        message = finding.reason if tag == "skipped" else sentence(finding)
        if finding.outcome is Outcome.WARN:
            ET.SubElement(case, tag).text = f"warning: {message}"
            return
        result = ET.SubElement(case, tag, type=finding.severity.value, message=message)
        result.text = named_hint(finding, node) or None
