"""Two runs side by side: tables of what changed, or the document `comparison`."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from clusterctl.core import timestamps
from clusterctl.model.run_comparison import RunChange
from clusterctl.model.running_text import counted, fold_names
from clusterctl.terminal import out
from clusterctl.terminal.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterctl.model.run_comparison import ChangedVersion, ComparedNode, ComparedResult, ComparisonDocument, ResultPair

_RESULTS = ("NODE", "GATE", "METRIC", "DEVICE", "BEFORE", "AFTER", "DIFFERENCE", "NOISE", "FLOOR", "CHANGE")
_CHECKS = ("NODE", "CHECK", "BEFORE", "AFTER", "CHANGE")
_PARTS = ("NODE", "PART", "SERIAL BEFORE", "SERIAL AFTER")
_VERSIONS = ("NODE", "VERSION OF", "BEFORE", "AFTER")


def show_comparison(found: ComparisonDocument, output: str) -> None:
    """Print what changed, and how much did not; the document has every result."""
    if output != "table":
        out.emit(output, "comparison", asdict(found))
        return
    for word, run in (("before", found.before), ("after", found.after)):
        words = f"{run.id}  {run.verb} {run.target}  {timestamps.short(run.started_at)}  {run.status}"
        out.print_text(f"{word + ':':8}{printable(words)}")
    for columns, rows in comparison_tables(found):
        if rows:
            out.print_text("")
            out.table(columns, rows)
    out.print_text("\n" + comparison_summary(found))


def comparison_tables(found: ComparisonDocument) -> tuple[tuple[Sequence[str], Sequence[Sequence[str]]], ...]:
    """(columns, rows) of what changed: results, checks, parts, versions."""
    versions = [_version_row("all", v) for v in found.versions]
    return (
        (_RESULTS, [row for n in found.nodes for row in _result_rows(n)]),
        (
            _CHECKS,
            [
                (n.name, c.check, _answer(c.before, c.found_before), _answer(c.after, c.found_after), _word(c.change))
                for n in found.nodes
                for c in n.checks
            ],
        ),
        (_PARTS, [(n.name, p.name or p.kind, p.before or "none", p.after or "none") for n in found.nodes for p in n.parts]),
        (_VERSIONS, [*versions, *(_version_row(n.name, v) for n in found.nodes for v in n.versions)]),
    )


def _result_rows(node: ComparedNode) -> Iterator[tuple[str, ...]]:
    for pair in node.results:
        if pair.change is not RunChange.SAME:
            yield (
                node.name,
                pair.gate,
                pair.metric or "-",
                _device(pair),
                _value(pair.before, pair.unit),
                _value(pair.after, pair.unit),
                _percent(pair.difference_percent),
                "-" if pair.noise_percent is None else f"{pair.noise_percent:.1f} %",
                " -> ".join(_percent(s.margin_percent if s else None) for s in (pair.before, pair.after)),
                _word(pair.change),
            )


def _device(pair: ResultPair) -> str:
    named = dict.fromkeys(s.device or "-" for s in (pair.before, pair.after) if s)
    return " -> ".join(named)


def _value(side: ComparedResult | None, unit: str) -> str:
    if side is None:
        return "-"
    value = side.found if side.value is None else f"{side.value:g} {unit}"
    return _answer("" if side.outcome == "pass" else side.outcome, value) + (" [simulated]" if side.simulated else "")


def _answer(outcome: str, found: str) -> str:
    return ": ".join(w for w in (outcome.replace("_", " "), found) if w) or "-"


def _version_row(node: str, changed: ChangedVersion) -> tuple[str, ...]:
    return node, changed.name, changed.before or "none", changed.after or "none"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:+.1f} %"


def _word(change: RunChange) -> str:
    return change.value.replace("_", " ")


def comparison_summary(found: ComparisonDocument) -> str:
    """How much changed, in a sentence."""
    changes = Counter(p.change for n in found.nodes for p in n.results) + Counter(c.change for n in found.nodes for c in n.checks)
    changed = [f"{_word(c)}: {changes[c]}" for c in RunChange if changes[c] and c is not RunChange.SAME]
    same = f"{counted(changes[RunChange.SAME], 'result')} the same or within noise"
    one_sided = [f"not {word}: {fold_names(names)}" for word, names in _one_sided(found) if names]
    return "; ".join([", ".join(changed), same, *one_sided] if changed else [same, *one_sided]) + "."


def _one_sided(found: ComparisonDocument) -> Iterator[tuple[str, list[str]]]:
    yield "before", [n.name for n in found.nodes if not n.in_before]
    yield "after", [n.name for n in found.nodes if not n.in_after]
