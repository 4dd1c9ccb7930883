"""From how many on it is too often. Imported by the configuration: standard library only. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from clusterctl.model.trouble_counts import TroubleCounts

if TYPE_CHECKING:
    from collections.abc import Mapping

SHORT_DAYS = 30
LONG_DAYS = 90
# Twice the limit of a third of the time: a slow lemon is found, and bad luck in one month is not counted twice.
LONG_FACTOR = 2
REPEATED_WITHIN_DAYS = 7

# Counting exclusions, tickets and times out of service per node over 28 days is how Meta found its lemons (arXiv 2410.21680, section on lemon nodes);
# its thresholds are not public, so these numbers are assumed. In arXiv 2605.09370, 3 of 63 nodes caused half of all exclusions.
# Link: a NVLink flapped for five days before it ended a job (marin-community/marin#8934).
DEFAULT_LIMITS = TroubleCounts(exclusions=3, repairs=3, repeated_repairs=1, suspicions=6, collisions=10, link_flap_days=3)
NAMES = tuple(asdict(DEFAULT_LIMITS))


def limits_problem(value: object) -> str:
    """What is wrong with limits as clusterctl.yml gives them; empty if nothing is."""
    if not isinstance(value, dict):
        return f"{value!r} is no mapping of counts"
    unknown = [str(name) for name in value if name not in NAMES]
    if unknown:
        return f"unknown count {unknown[0]!r}; counts: {', '.join(NAMES)}"
    for name, number in value.items():
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            return f"{name}: {number!r} is no whole number from 0 on"
    return ""


def limits_of(value: Mapping[str, int]) -> TroubleCounts:
    """Checked limits, with the defaults for what is left out."""
    return TroubleCounts(**{**asdict(DEFAULT_LIMITS), **value})
