"""What the page draws when a node or rack is opened: texts, rows and blocks that are equal are in it once. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from clusterctl.core import timestamps
from clusterctl.model.run_report import WORST_FIRST
from clusterctl.report.alike import AlikeRows, alike
from clusterctl.report.curve_rows import curve_data
from clusterctl.report.inert import visible
from clusterctl.report.load_rows import loads_data
from clusterctl.report.rows import bad_evidence, check_rows, gate_rows, good_evidence
from clusterctl.report.spreads import spreads
from clusterctl.report.timeline_rows import timeline_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.load_trace import NodeLoads
    from clusterctl.model.measured_curve import Curves, NodeCurve
    from clusterctl.model.run_report import Earlier, EvidenceLink, NodeSection
    from clusterctl.model.run_timeline import RunTimeline
    from clusterctl.report.alike import EvidenceRow
    from clusterctl.report.curve_rows import CurveData
    from clusterctl.report.heatmap_cells import Table
    from clusterctl.report.load_rows import NodeLoadData
    from clusterctl.report.spreads import Spread
    from clusterctl.report.timeline_rows import TimelineData
    from clusterctl_validators.finding import Finding, Outcome

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NodeData:
    """A node; every number is an index into the texts or blocks.

    Attributes:
        gates_from, checks_from: where they come from if not from this run, for people.
        bad: block of the rows to look at.
        gates, checks: blocks of the other rows, one for each gate or role.
        curves: of what is to be looked at.
        not_drawn: how many of these have no curve.
        steps: (time, from, to, reason).
        links: (the part of the address before the file's name, the name).
    """

    state: int
    reason: int
    place: int
    summary: int
    spec: int
    bad: int
    gates: tuple[int, ...]
    gates_from: int
    checks: tuple[int, ...]
    checks_from: int
    curves: tuple[CurveData, ...]
    not_drawn: int
    steps: tuple[tuple[int, int, int, int], ...]
    links: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class PageData:
    """The data of the page.

    Attributes:
        texts: every text, once; a text is safe to show.
        shapes: (outcome, severity, what, expected, source, hint, simulated, run) as texts; `simulated` is 0 or 1.
        rows: (shape, found, detail, device, found there, device, found there, ...): one row with what was found at each of its places.
        blocks: (title, rows ...).
        racks: (name, its nodes ...), nodes by place in `nodes`.
        names: of the nodes.
        tables: bandwidths, drawn when opened.
        spreads: values of this run, drawn when opened.
        loads: of GPUs, drawn when their node is opened.
        timeline: of the run, drawn when opened; None where none was read.
    """

    texts: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    rows: tuple[tuple[int, ...], ...]
    blocks: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    nodes: tuple[NodeData, ...]
    tables: tuple[Table, ...]
    spreads: tuple[Spread, ...]
    loads: tuple[NodeLoadData, ...]
    timeline: TimelineData | None

    def document(self) -> dict[str, Any]:
        """As plain JSON values."""
        nodes = [_fields(n) | {"curves": [_fields(c) for c in n.curves]} for n in self.nodes]
        drawn = {
            "tables": [_fields(t) for t in self.tables],
            "spreads": [_fields(s) for s in self.spreads],
            "loads": [asdict(n) for n in self.loads],
            "timeline": _fields(self.timeline) if self.timeline else None,
        }
        return _fields(self) | {"nodes": nodes} | drawn


def _fields(record: PageData | NodeData | CurveData | Table | Spread | TimelineData) -> dict[str, Any]:
    # Not `asdict`, which copies what is inside: at thousands of nodes that takes longer than all else.
    return {f.name: getattr(record, f.name) for f in fields(record)}


class _Once(dict[T, int]):
    """Values with the place of each, in order of first use."""

    def place(self, value: T) -> int:
        return self.setdefault(value, len(self))


class Details:
    """Collects the data of a page."""

    def __init__(self) -> None:
        self._texts: _Once[str] = _Once()
        self._shapes: _Once[tuple[int, ...]] = _Once()
        self._rows: _Once[tuple[int, ...]] = _Once()
        self._blocks: _Once[tuple[int, ...]] = _Once()
        self._seen: dict[tuple[tuple[Finding, ...], Earlier | None], int] = {}
        self._places: dict[str, int] = {}
        self._curves: dict[str, list[NodeCurve]] = {}
        self._not_drawn: dict[str, int] = {}
        self._text("")

    def collect(
        self,
        sections: Sequence[NodeSection],
        tables: Iterable[Table],
        curves: Curves,
        loads: Sequence[NodeLoads],
        timeline: RunTimeline | None,
    ) -> PageData:
        """The data of these nodes, in their order."""
        for curve in curves.drawn:
            self._curves.setdefault(curve.node, []).append(curve)
        self._not_drawn = dict(curves.left_out)
        nodes = tuple(self._node(s) for s in sections)
        names = tuple(visible(s.name) for s in sections)
        drawn = tuple(loads_data(loads, {s.name: i for i, s in enumerate(sections)}, self._text))
        return PageData(
            tuple(self._texts),
            tuple(self._shapes),
            tuple(self._rows),
            tuple(self._blocks),
            names,
            nodes,
            tuple(tables),
            spreads(sections),
            drawn,
            timeline_data(timeline) if timeline else None,
        )

    def _text(self, text: str) -> int:
        place = self._places.get(text)
        if place is None:
            place = self._places[text] = self._texts.place(visible(text))
        return place

    def _node(self, section: NodeSection) -> NodeData:
        record = section.record
        results, findings = good_evidence(section)
        bad_results, bad_findings = bad_evidence(section)
        return NodeData(
            state=self._text(section.state.value),
            reason=self._text(section.reason),
            place=self._text(" ".join(w for w in (record.rack, f"slot {record.slot}" if record.slot else "") if w)),
            summary=self._text(_summary(section)),
            spec=self._text(f"spec {record.spec_digest[:12] or 'none'} · profile {record.profile or 'none'}"),
            bad=self._block("", [*gate_rows(section, bad_results), *check_rows(section, bad_findings)]),
            gates=self._gates(section, results),
            gates_from=self._text(_provenance(section.gates_earlier)),
            checks=self._checks(section, findings),
            checks_from=self._text(_provenance(section.findings_earlier)),
            curves=tuple(curve_data(c, self._text) for c in self._curves.get(section.name, ())),
            not_drawn=self._not_drawn.get(section.name, 0),
            steps=tuple(
                (
                    self._text(timestamps.short(s.at)),
                    self._text(s.from_state.value.replace("_", " ")),
                    self._text(s.to_state.value.replace("_", " ")),
                    self._text(s.reason),
                )
                for s in section.steps
            ),
            links=tuple(self._link(link) for link in section.links),
        )

    def _gates(self, section: NodeSection, results: Sequence[GateResult]) -> tuple[int, ...]:
        by_gate = groupby(sorted(results, key=lambda g: g.gate), key=lambda g: g.gate)
        return tuple(self._block(gate, gate_rows(section, group)) for gate, group in by_gate)

    def _checks(self, section: NodeSection, findings: Sequence[Finding]) -> tuple[int, ...]:
        by_role = groupby(sorted(findings, key=lambda f: f.role), key=lambda f: f.role)
        return tuple(self._role(section, role, tuple(group)) for role, group in by_role)

    def _role(self, section: NodeSection, role: str, findings: tuple[Finding, ...]) -> int:
        # Most nodes of a fleet have the same findings: they are worked out once.
        key = (findings, section.findings_earlier)
        if key not in self._seen:
            self._seen[key] = self._block(role, check_rows(section, findings))
        return self._seen[key]

    def _block(self, title: str, rows: Sequence[EvidenceRow]) -> int:
        return self._blocks.place((self._text(title), *(self._row(r) for r in alike(rows))))

    def _row(self, group: AlikeRows) -> int:
        first = group.first
        words = (first.outcome.value, first.severity.value if first.severity else "", group.what, group.expected, first.source, group.hint)
        shape = self._shapes.place((*(self._text(w) for w in words), int(first.simulated), self._text(first.run)))
        places = () if group.count == 1 else ((self._text(_place(r, group)), self._text(r.found)) for r in group.rows)
        single = () if group.count > 1 or not first.device else (self._text(first.device), self._text(first.found))
        flat = (*single, *(i for pair in places for i in pair))
        return self._rows.place((shape, self._text(group.found), self._text(group.detail), *flat))

    def _link(self, link: EvidenceLink) -> tuple[int, int]:
        return self._text(link.href.removesuffix(link.text)), self._text(link.text)


def _place(row: EvidenceRow, group: AlikeRows) -> str:
    return row.what if group.what != row.what else row.device or row.what


def _summary(section: NodeSection) -> str:
    found = section.findings.findings if section.findings else ()
    return f"checks: {_counted_outcomes(f.outcome for f in found)} · gates: {_counted_outcomes(g.outcome for g in section.gate_results)}"


def _counted_outcomes(outcomes: Iterable[Outcome]) -> str:
    counts = Counter(outcomes)
    return ", ".join(f"{counts[o]} {o.value.replace('_', ' ')}" for o in sorted(counts, key=WORST_FIRST.__getitem__)) or "none"


def _provenance(earlier: Earlier | None) -> str:
    if earlier is None:
        return ""
    return f"from {', '.join(earlier.runs)}: {'still counts' if earlier.counts else 'no longer counts'}"
