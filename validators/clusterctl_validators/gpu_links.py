"""Judges the active links between a GPU and others: how many there are, which are down, and the rate of the slowest."""

from typing import Mapping

from clusterctl_validators.finding import Severity
from clusterctl_validators.record import UNDECLARED, Record


def judge_gpu_links(record: Record, index: int, active: Mapping[int, float], *, expected: int, floor: float, hint: str) -> None:
    """`active`: link -> its rate in GB/s; links that are down are counted, and have no rate."""
    at = "hardware.gpu[{}].".format(index)
    found = _counted(active, expected)
    record.ok(at + "nvlinks", len(active) == expected, expected=expected, found=found, severity=Severity.CRITICAL, hint=hint)
    if not floor or not active:
        record.not_applicable(at + "nvlink_rate", "no link is active" if floor else UNDECLARED)
        return
    slow = {number: rate for number, rate in active.items() if rate < floor}
    shown = ", ".join("link {}: {:g}".format(number, rate) for number, rate in sorted(slow.items())) or "{:g}".format(min(active.values()))
    expected_rate, found_rate = ">= {:g} GB/s".format(floor), shown + " GB/s"
    record.ok(at + "nvlink_rate", not slow, expected=expected_rate, found=found_rate, severity=Severity.CRITICAL, hint=hint)


def _counted(active: Mapping[int, float], expected: int) -> str:
    """How many are active, and which are down where their numbers are known: boards with fewer links by design need not number them from 0."""
    down = sorted(set(range(expected)) - set(active))
    known = active and down and max(active) < expected
    return str(len(active)) + (", down: " + ", ".join(map(str, down)) if known else "")
