"""A device against its own earlier values: what got slower although it reaches its floor and is among its peers. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.core.gates.judging.without_limit import NO_LIMIT
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.own_history import LAST_RUNS, VALUE_RULES, HistoryKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from clusterctl.model.own_history import PastResult
    from clusterctl.model.part import PartRow

# The weight of the newest value in the exponentially weighted moving average (S. W. Roberts, Technometrics 1, 1959); the NIST/SEMATECH e-Handbook,
# 6.3.2.4, recommends 0.2 to 0.3. With 0.2 a device that loses 1 % with each run is 3.4 % below it.
_WEIGHT = 0.2
# Share of the average by which a value is too low. Assumed: no public number says it; tools repeat to 0.3 to 0.5 % on one healthy node.
BELOW = 0.03
# A new machine of the same name, and parts that all devices of a node share.
_SHARED_KINDS = frozenset({"system", "chassis", "baseboard", "cpu", "dimm"})


def usual_values(past: Iterable[PastResult], parts: Iterable[PartRow] = ()) -> dict[HistoryKey, float]:
    """The average of the last five values of each device that has as many; of several in a run the lowest counts.

    `past`: oldest first. What was measured before a part of `parts` took another one's place is another device's history.
    """
    is_earlier = of_earlier_parts(parts)
    runs: dict[HistoryKey, dict[str, float]] = {}
    for one in past:
        key = key_of(one.result)
        value = one.result.own_value
        if value is None or is_earlier(one):
            continue
        own = runs.setdefault(key, {})
        own[one.run_id] = min(own.get(one.run_id, value), value)
    return {key: _average(tuple(own.values())[-LAST_RUNS:]) for key, own in runs.items() if len(own) >= LAST_RUNS}


def of_earlier_parts(parts: Iterable[PartRow]) -> Callable[[PastResult], bool]:
    """Whether a result was measured before a part of `parts` took another one's place: it is of another device."""
    since = _replaced(parts)
    return lambda one: any(_is_before(one, start) for start in _starts(since, key_of(one.result)))


def key_of(result: GateResult) -> HistoryKey:
    """Whose value a result has: that of a pair is its device's; the lowest of a node is of whichever device that was."""
    device = result.device if result.peers else ""
    return HistoryKey(result.node, device, result.figure, result.tool_version, result.simulated)


def is_low(result: GateResult, usual: Mapping[HistoryKey, float]) -> bool:
    """Whether a result passes, and is 3 % below what its device usually reads."""
    if result.own_value is None or result.rule not in VALUE_RULES or result.outcome is not Outcome.PASS:
        return False
    average = usual.get(key_of(result))
    return average is not None and result.own_value < average * (1 - BELOW)


def against_history(result: GateResult, usual: Mapping[HistoryKey, float], *, repeated: bool) -> GateResult:
    """A warning where a result is low, and stayed so if its device was measured again in the same burn-in."""
    if not is_low(result, usual):
        return result
    average, value = usual[key_of(result)], result.own_value or 0.0
    detail = (
        f"{limit_text(value)} {result.unit} is {100 * (1 - value / average):.1f} % below its own average of the last {LAST_RUNS} runs, "
        f"{limit_text(average)} {result.unit}, {'also when it was repeated' if repeated else 'not repeated'}"
    )
    return replace(
        result,
        outcome=Outcome.WARN,
        rule="history",
        reason=GateReason.BELOW_HISTORY,
        detail="; ".join(filter(None, (detail, result.detail))),
        hint=f"find out what changed on {result.node}: `clusterctl history {result.node}`; compare clocks, temperature, driver and link state with the runs before",
    )


def with_repeats(first: Sequence[GateResult], again: Sequence[GateResult]) -> tuple[GateResult, ...]:
    """The results of a gate that was repeated on a node: the better of two passes, and everything else that the repeat found."""
    passed = {r.figure: r for r in again if _is_value(r)}
    merged = []
    for result in first:
        repeat = passed.get(result.figure) if _is_value(result) else None
        if repeat is not None and (repeat.value or 0.0) > (result.value or 0.0):
            text = f"{result.found} at first"
            merged.append(replace(repeat, detail="; ".join(filter(None, (repeat.detail, text)))))
        else:
            merged.append(result)
    return (*merged, *(r for r in again if r.outcome is not Outcome.PASS and r.rule != NO_LIMIT))


def _is_value(result: GateResult) -> bool:
    return result.outcome is Outcome.PASS and result.rule in VALUE_RULES and result.value is not None


def _average(values: Sequence[float]) -> float:
    average = values[0]
    for value in values[1:]:
        average += _WEIGHT * (value - average)
    return average


def _replaced(parts: Iterable[PartRow]) -> dict[tuple[str, str], list[PartRow]]:
    """(node, device) -> parts that took the place of another one; under the empty device those that all devices share."""
    rows = tuple(parts)
    ended = {(r.node, r.part.kind, r.part.slot) for r in rows if r.ended_run}
    found: dict[tuple[str, str], list[PartRow]] = {}
    for row in rows:
        if not row.ended_run and (row.node, row.part.kind, row.part.slot) in ended:
            device = "" if row.part.kind in _SHARED_KINDS else row.part.name
            found.setdefault((row.node, device), []).append(row)
    return found


def _starts(since: Mapping[tuple[str, str], Sequence[PartRow]], key: HistoryKey) -> Iterable[PartRow]:
    """The replacements that end the history of a device; that of a node ends with any of its parts."""
    for (node, device), rows in since.items():
        if node == key.node and (not device or not key.device or device == key.device):
            yield from rows


def _is_before(one: PastResult, start: PartRow) -> bool:
    """The run that saw a part first may have measured it afterwards."""
    return one.run_at < start.first_seen and one.run_id != start.first_run
