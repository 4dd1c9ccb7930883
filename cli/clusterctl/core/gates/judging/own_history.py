"""A device against its own earlier values: what got slower although it reaches its floor and is among its peers. Pure."""

from __future__ import annotations

from dataclasses import replace
from itertools import starmap
from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.core.gates.judging.without_limit import NO_LIMIT
from clusterctl.core.lemons.owners import device_key, names_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import DeviceValue, GateResult, Outcome
from clusterctl.model.own_history import LAST_RUNS, VALUE_RULES, HistoryKey

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from clusterctl.model.own_history import PastResult
    from clusterctl.model.part import PartRow

# The weight of the newest value in the exponentially weighted moving average (S. W. Roberts, Technometrics 1, 1959); the NIST/SEMATECH e-Handbook,
# 6.3.2.4, recommends 0.2 to 0.3. With 0.2 a device that loses 1 % with each run is 3.4 % below it.
_WEIGHT = 0.2
# Share of the average by which a value is too low. Assumed: no public source states it; tools repeat to 0.3 to 0.5 % on one healthy node.
BELOW = 0.03
# A new machine of the same name, and parts that all devices of a node share.
_SHARED_KINDS = frozenset({"system", "chassis", "baseboard", "cpu", "dimm"})


def usual_values(past: Iterable[PastResult], parts: Iterable[PartRow] = ()) -> dict[HistoryKey, float]:
    """The average of the last five values of each device that has as many; of several in a run the lowest counts.

    `past`: oldest first. A result of a node counts for the node by its worst value, and for each of its devices by that one's. What was measured before a part of `parts` took another one's place is another device's history.
    """
    since = _replaced(parts)
    runs: dict[HistoryKey, dict[str, float]] = {}
    for one in past:
        for key, value in _values(one.result):
            if not _is_earlier(one, key, since):
                own = runs.setdefault(key, {})
                own[one.run_id] = min(own.get(one.run_id, value), value)
    return {key: _average(tuple(own.values())[-LAST_RUNS:]) for key, own in runs.items() if len(own) >= LAST_RUNS}


def of_earlier_parts(parts: Iterable[PartRow]) -> Callable[[PastResult], bool]:
    """Whether a result was measured before a part of `parts` took another one's place: it is of another device."""
    since = _replaced(parts)
    return lambda one: _is_earlier(one, key_of(one.result), since)


def key_of(result: GateResult) -> HistoryKey:
    """Whose value a result has: that of a pair is its device's; the lowest of a node is of whichever device that was."""
    device = result.device if result.peers else ""
    return HistoryKey(result.node, device, result.figure, result.tool_version, result.simulated)


def is_low(result: GateResult, usual: Mapping[HistoryKey, float]) -> bool:
    """Whether a result passes, and its device, or one of its devices, is 3 % below what that usually reads."""
    return bool(_low(result, usual))


def against_history(result: GateResult, usual: Mapping[HistoryKey, float], repeated: Collection[str] | None = None) -> Iterator[GateResult]:
    """A warning where a result is low, and stayed so if its device was measured again in the same burn-in; for each low device of a node beside the node's result.

    `repeated`: the devices of which a repeat has a figure; None where the node was measured once.
    """
    low = _low(result, usual)
    if not low or low[0][0] != key_of(result):
        yield result
    for key, value in low:
        average = usual[key]
        text = (
            f"{limit_text(value)} {result.unit} is {100 * (1 - value / average):.1f} % below its own average of the last {LAST_RUNS} runs, "
            f"{limit_text(average)} {result.unit}, {_repeat_text(key.device, repeated)}"
        )
        warning = replace(
            result,
            outcome=Outcome.WARN,
            rule="history",
            reason=GateReason.BELOW_HISTORY,
            detail="; ".join(filter(None, (text, result.detail))),
            hint=f"find out what changed on {result.node}: `clusterctl history {result.node}`; compare clocks, temperature, driver and link state with the runs before",
        )
        if key == key_of(result):
            yield warning
        else:
            yield replace(warning, device=key.device, value=value, found=f"{limit_text(value)} {result.unit}", detail=text, by_device=())


def _repeat_text(device: str, repeated: Collection[str] | None) -> str:
    if repeated is None:
        return "not repeated"
    return "also when it was repeated" if device in repeated or (repeated and not device) else "the repeat gave no figure"


def _low(result: GateResult, usual: Mapping[HistoryKey, float]) -> tuple[tuple[HistoryKey, float], ...]:
    """What is low of a passing result, with its value: devices that have a history of their own; where none has, or all are low, what the result as a whole is of."""
    if result.rule not in VALUE_RULES or result.outcome is not Outcome.PASS:
        return ()
    known = [(key, value) for key, value in _values(result) if key in usual]
    low = [(key, value) for key, value in known if value < usual[key] * (1 - BELOW)]
    of_node = [(key, value) for key, value in low if key == key_of(result)]
    if of_node and len(low) == len(known):
        return tuple(of_node)
    return tuple(one for one in low if one not in of_node)


def _values(result: GateResult) -> tuple[tuple[HistoryKey, float], ...]:
    """What a result is the value of, then its single devices; nothing where it has no value."""
    if result.own_value is None:
        return ()
    key = key_of(result)
    return ((key, result.own_value), *((replace(key, device=one.device), one.value) for one in result.by_device))


def with_repeats(first: Sequence[GateResult], again: Sequence[GateResult]) -> tuple[GateResult, ...]:
    """The results of a gate that was repeated on a node: the better of two passes, and everything else that the repeat found."""
    return (*with_better(first, again), *(r for r in again if r.outcome is not Outcome.PASS and r.rule != NO_LIMIT))


def with_better(first: Iterable[GateResult], again: Iterable[GateResult]) -> Iterator[GateResult]:
    """The first results, of two passes of a figure the better one, with the better value of each device."""
    passed = {r.figure: r for r in again if _is_value(r)}
    for result in first:
        repeat = passed.get(result.figure) if _is_value(result) else None
        if repeat is None:
            yield result
            continue
        by_device = _better_of_each(result.by_device, repeat.by_device)
        if (repeat.value or 0.0) > (result.value or 0.0):
            text = f"{result.found} at first"
            yield replace(repeat, detail="; ".join(filter(None, (repeat.detail, text))), by_device=by_device)
        else:
            yield replace(result, by_device=by_device)


def _better_of_each(first: Sequence[DeviceValue], again: Sequence[DeviceValue]) -> tuple[DeviceValue, ...]:
    values = {one.device: one.value for one in first}
    for one in again:
        values[one.device] = max(one.value, values.get(one.device, one.value))
    return tuple(starmap(DeviceValue, values.items()))


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
            for device in [""] if row.part.kind in _SHARED_KINDS else sorted(names_of(row.part)):
                found.setdefault((row.node, device), []).append(row)
    return found


def _starts(since: Mapping[tuple[str, str], Sequence[PartRow]], key: HistoryKey) -> Iterable[PartRow]:
    """The replacements that end the history of a device; that of a node ends with any of its parts."""
    for (node, device), rows in since.items():
        if node == key.node and (not device or not key.device or device == device_key(key.device)):
            yield from rows


def _is_earlier(one: PastResult, key: HistoryKey, since: Mapping[tuple[str, str], Sequence[PartRow]]) -> bool:
    return any(_is_before(one, start) for start in _starts(since, key))


def _is_before(one: PastResult, start: PartRow) -> bool:
    """The run that found a part first may have measured it afterwards."""
    return one.run_at < start.first_seen and one.run_id != start.first_run
