"""From how many on it is too often. Every command imports it with the configuration. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.trouble_counts import TroubleCounts

SHORT_DAYS = 30
LONG_DAYS = 90
# Over three times as long twice as many: a slow lemon is found, and one bad month alone is not counted twice.
LONG_FACTOR = 2
REPEATED_WITHIN_DAYS = 7

# Counting exclusions, tickets and times out of service per node over 28 days is how Meta found its lemons (arXiv 2410.21680, section on lemon nodes);
# its thresholds are not public, so these numbers are assumed. In arXiv 2605.09370, 3 of 63 nodes caused half of all exclusions.
# Boots: failures of a node while its job ran are among what Meta's lemons were found by, too.
# Link: a NVLink flapped for five days before it ended a job (marin-community/marin#8934).
DEFAULTS: Mapping[str, int] = {
    "exclusions": 3,
    "repairs": 3,
    "repeated_repairs": 1,
    "suspicions": 6,
    "collisions": 10,
    "link_flap_days": 3,
    "unplanned_boots": 3,
}


def limits_problem(value: object) -> str:
    """What is wrong with limits as clusterctl.yml gives them; empty if nothing is."""
    if not isinstance(value, dict):
        return f"{value!r} is not a mapping of counts"
    unknown = [str(name) for name in value if name not in DEFAULTS]
    if unknown:
        return f"unknown count {unknown[0]!r}; counts: {', '.join(DEFAULTS)}"
    for name, number in value.items():
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            return f"{name}: {number!r} is not a whole number from 0 on"
    return ""


def limits_of(value: Mapping[str, int]) -> TroubleCounts:
    """Checked limits, with the defaults for what is left out."""
    from clusterctl.model.trouble_counts import TroubleCounts  # noqa: PLC0415 a dataclass costs a millisecond, and most commands need none

    return TroubleCounts(**{**DEFAULTS, **value})
