"""The records of serials: counts over 30 and 90 days, the score, and what is due. Pure."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING

from clusterctl.core import timestamps
from clusterctl.core.lemons.events import troubles
from clusterctl.core.lemons.lemon_limits import LONG_DAYS, LONG_FACTOR, REPEATED_WITHIN_DAYS, SHORT_DAYS
from clusterctl.core.lemons.owners import PartsThen
from clusterctl.model.part import Part
from clusterctl.model.trouble import LemonAction, TroubleKind, TroubleRecord
from clusterctl.model.trouble_counts import TroubleCounts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from clusterctl.model.trouble import Trouble, TroubleSources

_DAY_S = 86_400


def trouble_records(sources: TroubleSources, limits: TroubleCounts, now: str) -> tuple[TroubleRecord, ...]:
    """The record of every serial with an event in the last 90 days, the worst first."""
    parts = PartsThen(sources.parts)
    found: dict[tuple[str, str], tuple[Part, list[Trouble]]] = {}
    for trouble in _within(troubles(sources), now, LONG_DAYS):
        part = parts.owner(trouble)
        if part is None and trouble.device:
            continue  # the event of its node counts
        part = part or Part("node", "", trouble.node, "", "")
        found.setdefault((part.kind, part.serial or part.name), (part, []))[1].append(trouble)
    records = (_record(part, own, limits, now) for part, own in found.values())
    return tuple(sorted(records, key=_worst_first))


def count(own: Iterable[Trouble]) -> TroubleCounts:
    """How often each kind is among the events of one serial; flaps count by the day."""
    own = frozenset(own)

    def times(kind: TroubleKind) -> int:
        return len({t.run_id or t.at for t in own if t.kind is kind})

    return TroubleCounts(
        exclusions=times(TroubleKind.EXCLUSION),
        repairs=times(TroubleKind.REPAIR),
        repeated_repairs=repeated_repairs(own),
        suspicions=times(TroubleKind.SUSPICION),
        collisions=times(TroubleKind.COLLISION),
        link_flap_days=len({t.at[:10] for t in own if t.kind is TroubleKind.LINK_FLAP}),
        unplanned_boots=times(TroubleKind.UNPLANNED_BOOT),
    )


def score(days_30: TroubleCounts, days_90: TroubleCounts, limits: TroubleCounts) -> float:
    """The largest of count / limit over kinds and windows; the limits hold for 30 days, and over 90 days are twice as high."""
    ratios = [n / most for n, most in zip(astuple(days_30), astuple(limits), strict=True) if most]
    ratios += [n / (LONG_FACTOR * most) for n, most in zip(astuple(days_90), astuple(limits), strict=True) if most]
    return max(ratios, default=0.0)


def repeated_repairs(own: Collection[Trouble]) -> int:
    """Repairs after which the same serial was excluded again within seven days: the next repair would repeat them."""
    exclusions = {t.at for t in own if t.kind is TroubleKind.EXCLUSION}
    ends = ((t.at, timestamps.after(t.at, REPEATED_WITHIN_DAYS * _DAY_S)) for t in own if t.kind is TroubleKind.REPAIR)
    return sum(any(done < at <= end for at in exclusions) for done, end in ends)


def action(points: float, days_90: TroubleCounts, limits: TroubleCounts) -> LemonAction:
    """What is due over the limit; where that of repeated repairs is reached over 90 days, whatever was replaced, the fault stayed."""
    if limits.repeated_repairs and days_90.repeated_repairs >= LONG_FACTOR * limits.repeated_repairs:
        return LemonAction.RMA
    return LemonAction.FULL if points >= 1 else LemonAction.NONE


def _record(part: Part, own: list[Trouble], limits: TroubleCounts, now: str) -> TroubleRecord:
    short, long = count(_within(own, now, SHORT_DAYS)), count(own)
    points = score(short, long, limits)
    newest = max(own, key=lambda t: t.at)
    name = part.name if newest.device else newest.node
    due = action(points, long, limits)
    return TroubleRecord(part.serial, part.kind, newest.node, name, part.model, short, long, points, due, newest.at)


def _within(events: Iterable[Trouble], now: str, days: int) -> tuple[Trouble, ...]:
    since = timestamps.after(now, -days * _DAY_S)
    return tuple(t for t in events if t.at >= since)


def _worst_first(record: TroubleRecord) -> tuple[float, int, str, str, str]:
    return -record.score, -sum(astuple(record.days_90)), record.node, record.kind, record.serial
