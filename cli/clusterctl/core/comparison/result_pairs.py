"""The gate results of two runs, paired; how large a difference must be to be significant. Pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.core.gates.judging.peers import LEAST_PEERS, LEAST_SPREAD, TO_SIGMA
from clusterctl.model.own_history import VALUE_RULES
from clusterctl.model.run_comparison import ComparedResult, ResultPair, RunChange
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from clusterctl.model.gate_result import GateResult

    Pair = tuple[GateResult | None, GateResult | None]

# Of other results (counted errors, ranks) no noise is known.
_RATES = frozenset(VALUE_RULES)
# A modified z-score beyond it is an outlier (Iglewicz and Hoaglin, 1993).
_OUTLIER = 3.5


def paired(before: Sequence[GateResult], after: Sequence[GateResult]) -> list[Pair]:
    """The results of a node in both runs: by gate, metric and device, several of those in the order of their limits.

    A gate may name only its lowest device: what is left over once for a gate and metric in each run is the same result.
    """
    left, right = _by_key(before), _by_key(after)
    pairs: list[Pair] = []
    lonely: dict[tuple[str, str], tuple[list[GateResult], list[GateResult]]] = defaultdict(lambda: ([], []))
    for key in sorted({*left, *right}):
        ours, theirs = left.get(key, []), right.get(key, [])
        both = min(len(ours), len(theirs))
        pairs += map(_of_same_devices, ours, theirs)
        lonely[key[:2]][0].extend(ours[both:])
        lonely[key[:2]][1].extend(theirs[both:])
    for ours, theirs in lonely.values():
        if len(ours) == len(theirs) == 1:
            pairs.append((ours[0], theirs[0]))
        else:
            pairs += [(one, _among(right, one)) for one in ours]
            pairs += [(_among(left, one), one) for one in theirs]
    return sorted(pairs, key=_order)


def _of_same_devices(before: GateResult, after: GateResult) -> Pair:
    """Both as the worst of the devices that both have the values of: what one run names by itself is a pair of its own."""
    ours, theirs = ({one.device: one.value for one in result.by_device} for result in (before, after))
    common = ours.keys() & theirs.keys()
    if ours.keys() == theirs.keys() or not common or not _is_rate(before, after):
        return before, after
    first, second = (replace(r, value=min(own[name] for name in common)) for r, own in ((before, ours), (after, theirs)))
    return first, second


def _among(results: Mapping[tuple[str, str, str], Sequence[GateResult]], named: GateResult) -> GateResult | None:
    """The device of `named` in a result of the other run that has the value of each; None if there is none."""
    for result in results.get((named.gate, named.metric, ""), ()):
        value = next((one.value for one in result.by_device if one.device == named.device), None)
        if value is not None and result.unit == named.unit:
            return replace(result, device=named.device, value=value, found=f"{limit_text(value)} {result.unit}", by_device=())
    return None


def noises_percent(pairs: Iterable[Pair]) -> dict[tuple[str, str], float]:
    """Gate and metric -> the difference up to which nothing is reported, from the differences of all nodes and devices.

    It is that of an outlier among them. Around their median, so that what made all of them slower is not noise; and no less than what two
    runs of a healthy node differ by (`LEAST_SPREAD`), which alone counts where there are fewer than `LEAST_PEERS`.
    """
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for before, after in pairs:
        difference = difference_percent(before, after)
        if difference is not None and before and _is_rate(before, after):
            found[before.gate, before.metric].append(difference)
    return {key: _OUTLIER / TO_SIGMA * _spread_percent(own) for key, own in found.items()}


def difference_percent(before: GateResult | None, after: GateResult | None) -> float | None:
    """Of the second value from the first."""
    if before is None or after is None or before.unit != after.unit:
        return None
    if before.value is None or after.value is None or not before.value:
        return None
    return (after.value / before.value - 1) * 100


def result_pairs(pairs: Sequence[Pair], noises: Mapping[tuple[str, str], float]) -> Iterator[ResultPair]:
    """The pairs of a node, each with what changed."""
    measured = (_outcomes(p[0] for p in pairs), _outcomes(p[1] for p in pairs))
    for before, after in pairs:
        known = after or before
        if known is None:
            continue
        difference = difference_percent(before, after)
        noise = noises.get((known.gate, known.metric)) if _is_rate(before, after) else None
        change = _change_of(before, after, measured) or _by_value(difference, noise)
        yield ResultPair(known.gate, known.metric, known.unit, _side(before), _side(after), _rounded(difference), _rounded(noise), change)


def _by_key(results: Sequence[GateResult]) -> dict[tuple[str, str, str], list[GateResult]]:
    found: dict[tuple[str, str, str], list[GateResult]] = defaultdict(list)
    for result in sorted(results, key=lambda r: (r.limit or 0.0, r.rule)):
        found[result.gate, result.metric, result.device].append(result)
    return found


def _order(pair: Pair) -> tuple[str, str, str]:
    known = pair[1] or pair[0]
    return (known.gate, known.metric, known.device) if known else ("", "", "")


def _is_rate(before: GateResult | None, after: GateResult | None) -> bool:
    return before is not None and after is not None and {before.rule, after.rule} <= _RATES


def _spread_percent(differences: Sequence[float]) -> float:
    if len(differences) < LEAST_PEERS:
        return LEAST_SPREAD * 100
    middle = median(differences)
    return max(median(abs(d - middle) for d in differences), LEAST_SPREAD * 100)


def _outcomes(results: Iterable[GateResult | None]) -> dict[str, bool]:
    """Gate -> whether all of its results are good."""
    found: dict[str, bool] = {}
    for one in results:
        if one:
            found[one.gate] = found.get(one.gate, True) and one.outcome in GOOD
    return found


def _change_of(
    before: GateResult | None, after: GateResult | None, measured: tuple[Mapping[str, bool], Mapping[str, bool]]
) -> RunChange | None:
    """By the outcomes; None where both are good. What one run has no result for is read from the gate: it passed as a whole, or did not."""
    if before and after:
        return change_of_outcomes(good_before=before.outcome in GOOD, good_after=after.outcome in GOOD)
    if after and after.outcome not in GOOD and after.gate in measured[0]:
        return RunChange.NEWLY_FAILS if measured[0][after.gate] else RunChange.STILL_FAILS
    if before and before.outcome not in GOOD and measured[1].get(before.gate):
        return RunChange.NEWLY_PASSES
    return RunChange.ONLY_AFTER if after else RunChange.ONLY_BEFORE


def change_of_outcomes(*, good_before: bool, good_after: bool) -> RunChange | None:
    """What two outcomes mean; None where both are good."""
    if good_before:
        return None if good_after else RunChange.NEWLY_FAILS
    return RunChange.NEWLY_PASSES if good_after else RunChange.STILL_FAILS


def _by_value(difference: float | None, noise: float | None) -> RunChange:
    if difference is None or noise is None or abs(difference) <= noise:
        return RunChange.SAME
    return RunChange.LOWER if difference < 0 else RunChange.HIGHER


def _side(result: GateResult | None) -> ComparedResult | None:
    if result is None:
        return None
    margin = (result.value / result.limit - 1) * 100 if result.rule in _RATES and result.value is not None and result.limit else None
    reason = result.reason.value if result.reason else None
    return ComparedResult(
        result.outcome.value,
        result.rule,
        reason,
        result.device,
        result.value,
        result.limit,
        _rounded(margin),
        result.found,
        result.simulated,
    )


def _rounded(percent: float | None) -> float | None:
    return None if percent is None else round(percent, 2)
