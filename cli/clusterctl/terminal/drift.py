"""Drift for people and for machines: text, JSON, YAML, JUnit."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from clusterctl.core import timestamps
from clusterctl.model.drift import DriftKind
from clusterctl.model.findings import status_hints
from clusterctl.model.running_text import counted
from clusterctl.terminal import out
from clusterctl.terminal.findings import one_line
from clusterctl.terminal.safe_text import printable
from clusterctl.terminal.xml_text import xml_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from clusterctl.model.drift import Deviation, DriftReport

FORMATS = (*out.FORMATS, "junit")
_SIGNS = {DriftKind.DRIFT: "!", DriftKind.PENDING: "~", DriftKind.UNKNOWN: "?"}


def show_drift(report: DriftReport, shown: Sequence[Deviation], body: dict[str, Any], output: str) -> None:
    """Print the result of a drift run."""
    if output == "table":
        out.print_text("\n".join([*_lines(report, shown), *_actions(body["actions"]), drift_summary(report, len(shown))]))
    elif output == "junit":
        out.print_text(junit(report))
    else:
        keys = {(d.node, d.check) for d in shown}
        out.emit(output, "drift", {**body, "findings": [f for f in body["findings"] if (f["node"], f["check"]) in keys]})


def drift_summary(report: DriftReport, shown: int) -> str:
    """The last line."""
    counts = Counter(d.kind for d in report.deviations)
    older = len(report.deviations) - shown
    parts = [
        f"{counts[DriftKind.DRIFT]} drifted",
        f"{counts[DriftKind.PENDING]} pending",
        f"{counts[DriftKind.UNKNOWN]} could not be judged",
    ]
    more = f" {older} seen before are not shown." if older else ""
    return f"Drift: {counted(len(report.nodes), 'node')}, {len(report.lost)} lost; checks: {', '.join(parts)}.{more}"


def written(files: Sequence[Path]) -> None:
    """The files that were written."""
    out.print_text("\n".join(str(f) for f in files))


def _lines(report: DriftReport, shown: Sequence[Deviation]) -> Iterator[str]:
    hints = status_hints((x.node, x.status) for x in report.lost)
    for lost in report.lost:
        yield f"{lost.node}  {lost.status.value.replace('_', ' ')}: {_text(lost.detail)}".rstrip(": ")
        if lost.node in hints:
            yield f"    hint: {hints[lost.node]}"
    for node, group in groupby(shown, key=lambda d: d.node):
        yield node
        for d in group:
            yield f"  {_SIGNS[d.kind]} {d.kind.value:<7} {d.severity.value:<8} {d.check}: {_sentence(d)}"


def _sentence(d: Deviation) -> str:
    if d.kind is DriftKind.UNKNOWN:
        return f"could not run: {_text(d.found)}; since {timestamps.short(d.first_seen)}"
    before = f" (was {_text(d.then)})" if d.then else ""
    return f"expected {_text(d.expected) or 'nothing'}{before}, found {_text(d.found) or 'nothing'}; since {timestamps.short(d.first_seen)}"


def _actions(actions: Sequence[dict[str, str]]) -> Iterator[str]:
    for a in actions:
        yield f"{a['node']}  {a['action']}: {_text(a['detail'])}"


def junit(report: DriftReport) -> str:
    """A test suite per node, a failing case per deviation; a node without any passes as one case."""
    root = ET.Element("testsuites", name="clusterctl drift")
    lost = {x.node: x for x in report.lost}
    by_node: dict[str, list[Deviation]] = {}
    for d in report.deviations:
        by_node.setdefault(d.node, []).append(d)
    for node in report.nodes:
        suite = ET.SubElement(root, "testsuite", name=node)
        if node in lost or node not in by_node:
            case = ET.SubElement(suite, "testcase", classname=node, name="node")
            if node in lost:
                ET.SubElement(case, "error", type=lost[node].status.value, message=lost[node].detail)
        for d in by_node.get(node, []):
            case = ET.SubElement(suite, "testcase", classname=f"{node}.{d.role}", name=d.check)
            tag = "error" if d.kind is DriftKind.UNKNOWN else "failure"
            ET.SubElement(case, tag, type=f"{d.kind.value}.{d.severity.value}", message=_sentence(d)).text = d.hint
        suite.set("tests", str(len(suite)))
        for tag in ("failure", "error"):
            suite.set(f"{tag}s", str(sum(1 for c in suite if c.find(tag) is not None)))
    return xml_document(root)


def _text(text: str) -> str:
    """Text of a node on one line, without terminal control characters."""
    return printable(one_line(text))
