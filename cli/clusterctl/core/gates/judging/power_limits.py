"""GPUs under load whose power limit is below that of their peers: it is named, and explains a low clock before cooling does. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median_high
from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.core.gates.judging.peers import LEAST_PEERS
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from clusterctl.core.gates.judging.gpu_trace import Loaded
    from clusterctl.model.gate_result import GateResult

# node and GPU
Key = tuple[str, str]

# The GPUs of one node are a comparison: a tray of an NVL72 rack has four.
LEAST_GPUS = 4
# Limits are set in whole watts and alike. Assumed: 2 % less lowers a clock by less than equal GPUs differ.
_BELOW = 0.02
# Assumed: a limit explains a low clock where the GPU takes nine tenths of it; one that takes less is held back by something else.
_REACHED = 0.9


@dataclass(frozen=True, slots=True)
class UsualLimit:
    """The power limit that most peers of a GPU have, and how many these are, itself included."""

    watts: float
    peers: int


def usual_limits(loaded: Mapping[Key, Loaded], classes: Mapping[str, Hashable]) -> dict[Key, UsualLimit]:
    """Of each GPU that has enough peers: the higher one of its node and of all of its class; of two that are as frequent, the higher."""
    groups: dict[tuple[int, Hashable], dict[Key, float]] = {}
    for key, load in loaded.items():
        if load.power_limit_w is not None:
            for place in ((LEAST_GPUS, key[0]), (LEAST_PEERS, classes[key[0]])):
                groups.setdefault(place, {})[key] = load.power_limit_w
    found: dict[Key, UsualLimit] = {}
    for (least, _), limits in groups.items():
        if len(limits) < least:
            continue
        usual = UsualLimit(median_high(limits.values()), len(limits))
        for key in limits:
            found[key] = max(found.get(key, usual), usual, key=lambda u: (u.watts, u.peers))
    return found


def by_power_limit(
    blank: GateResult, loaded: Mapping[Key, Loaded], usual: Mapping[Key, UsualLimit], clocks: Sequence[GateResult]
) -> Iterator[GateResult]:
    """The power limits of a node, and of the results about its clocks those that no limit explains.

    A limit that is low fails or warns as the clock that it lowers; one that lowers none warns.
    """
    blank = replace(blank, rule="power_limit", metric="power_limit", unit="W")
    own = {key: usual[key] for key in sorted(usual) if key[0] == blank.node}
    explained, low = set(), False
    for key, peers in own.items():
        load = loaded[key]
        if load.power_limit_w is None or load.power_limit_w >= (1 - _BELOW) * peers.watts:
            continue
        low = True
        slow = next((c for c in clocks if c.device == key[1] and c.reason is GateReason.BELOW_PEERS), None) if _is_reached(load) else None
        outcome, detail = (Outcome.WARN, "") if slow is None else (slow.outcome, f"; its clock: {slow.found}, {slow.detail}")
        explained |= {key[1]} if slow is not None else set()
        yield replace(
            blank,
            outcome=outcome,
            device=key[1],
            expected=f"{limit_text(peers.watts)} W",
            found=f"{limit_text(load.power_limit_w)} W",
            value=load.power_limit_w,
            limit=peers.watts,
            reason=GateReason.POWER_LIMIT_LOW,
            detail=f"{1 - load.power_limit_w / peers.watts:.0%} below most of its {peers.peers} peers{detail}",
        )
    if own and not low:
        watts = dict.fromkeys(limit_text(loaded[key].power_limit_w or 0.0) for key in own)
        yield replace(blank, found=f"{', '.join(watts)} W")
    yield from (c for c in clocks if c.device not in explained)


def _is_reached(load: Loaded) -> bool:
    """Whether it takes as much as it may, as far as that is reported."""
    return load.power_w is None or load.power_limit_w is None or load.power_w >= _REACHED * load.power_limit_w
