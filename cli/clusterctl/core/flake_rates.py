"""How often the repeat of an observed check or gate has another result. Pure."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from clusterctl.model.observed import ObservedRecord
from clusterctl_validators.finding import Outcome

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from clusterctl.model.observed import Observed
    from clusterctl.model.trouble import Trouble


def observed_records(seen: Iterable[Observed], repairs: Collection[Trouble]) -> tuple[ObservedRecord, ...]:
    """One record per item, those that failed most often first. What a repair lies between is not a repeat: it may have mended what failed."""
    items: dict[tuple[str, str], list[Observed]] = {}
    for one in seen:
        items.setdefault((one.name, one.rule), []).append(one)
    records = (_record(name, rule, own, repairs) for (name, rule), own in items.items())
    return tuple(sorted(records, key=lambda r: (-r.failed, -r.could_not_run, r.name, r.rule)))


def _record(name: str, rule: str, own: Sequence[Observed], repairs: Collection[Trouble]) -> ObservedRecord:
    repeated = contradicted = 0
    nodes = {o.node for o in own}
    for node in nodes:
        mended = sorted(r.at for r in repairs if r.node == node)
        for first, again in pairwise(sorted((o for o in own if o.node == node), key=lambda o: (o.at, o.run_id))):
            if first.outcome is not Outcome.FAIL or again.outcome is Outcome.COULD_NOT_RUN:
                continue
            if any(first.at < at <= again.at for at in mended):
                continue
            repeated += 1
            contradicted += again.outcome is not Outcome.FAIL
    failed, blind = (sum(o.outcome is outcome for o in own) for outcome in (Outcome.FAIL, Outcome.COULD_NOT_RUN))
    return ObservedRecord(name, rule, len(nodes), len(own), failed, blind, repeated, contradicted)
