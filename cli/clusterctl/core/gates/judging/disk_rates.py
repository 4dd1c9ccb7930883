"""The rates of disks among those of equal disks: of the node, and of the run. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.each_device import passing_devices
from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.core.gates.judging.peers import LEAST_PEERS, standings
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

# A tray of an NVL72 rack has four data disks.
LEAST_DISKS = 4
_RANK = {Outcome.FAIL: 0, Outcome.WARN: 1, Outcome.PASS: 2}


def judge_rates(
    blank: GateResult, rates: Mapping[tuple[str, str], float], classes: Mapping[tuple[str, str], Hashable], *, floored: bool
) -> Iterator[GateResult]:
    """The disks of the node of `blank` among the equal ones of its own, where there are four, and of the run, where there are ten.

    `rates`, `classes`: of all disks of the run, by node and disk; `floored`: a floor judges those that have no peers.
    """
    own = {key: rate for key, rate in rates.items() if key[0] == blank.node}
    beside = standings(own, classes, LEAST_DISKS)
    fleet = standings(rates, classes)
    low: list[GateResult] = []
    alone: list[str] = []
    passing: dict[str, float] = {}
    for key, rate in sorted(own.items()):
        # Assumed: the limits of all peers hold for disks, too. Oracle's check (oci-hpc, active_healthcheck.py) takes 2 %, no vendor states how far good disks differ.
        outcome, standing = min(((s.outcome, s) for s in (beside[key], fleet[key])), key=lambda o: _RANK[o[0]])
        if outcome is not Outcome.PASS:
            found = replace(blank, outcome=outcome, device=key[1], value=rate, expected="as its peers", reason=GateReason.BELOW_PEERS)
            low.append(replace(found, found=f"{limit_text(rate)} {blank.unit}", detail=standing.text(blank.unit)))
        elif all(s.peers < s.least for s in (beside[key], fleet[key])):
            alone.append(key[1])
        else:
            passing[key[1]] = rate
    yield from low
    if alone and not floored:
        detail = f"{', '.join(alone)}: fewer than {LEAST_DISKS} equal disks on the node, fewer than {LEAST_PEERS} in the run, and no floor"
        yield replace(blank, outcome=Outcome.COULD_NOT_RUN, rule="baseline", detail=detail, reason=GateReason.NO_BASELINE)
    elif passing:
        yield passing_devices(blank, passing, beside_bad=bool(low))
    elif not low:
        yield replace(blank, outcome=Outcome.NOT_APPLICABLE, detail=f"{len(own)} disks are not a comparison")
