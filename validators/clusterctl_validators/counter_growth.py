"""Growth of a port's link counters since a snapshot."""

import json
from dataclasses import dataclass
from typing import Dict, Mapping


class UnreadableSnapshotError(Exception):
    """No snapshot exists that the counters can be compared with."""


@dataclass(frozen=True)
class Snapshot:
    """Link counters at one time.

    Attributes:
        taken_at: the earliest time of a port.
        times: `mlx5_0/1` -> when its counters were stored, where that is known.
        ports: `mlx5_0/1` -> counter -> value.
    """

    taken_at: str
    times: Mapping[str, str]
    boot_id: str
    ports: Mapping[str, Mapping[str, int]]

    def time_of(self, port: str) -> str:
        """When the counters of a port were stored."""
        return self.times.get(port, self.taken_at)


def parse_snapshot(text: str) -> Snapshot:
    """Raises UnreadableSnapshotError."""
    try:
        data = json.loads(text)
        ports = {port: {name: int(value) for name, value in counters.items()} for port, counters in data["ports"].items()}
        times = {port: str(at) for port, at in data.get("times", {}).items()}
        return Snapshot(str(data["taken_at"]), times, str(data["boot_id"]), ports)
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise UnreadableSnapshotError("the counter snapshot is not readable: {}: {}".format(type(e).__name__, e)) from e


def growth(now: int, then: int) -> int:
    """The increase of a counter. One that went down was reset, so it counts from zero."""
    return now - then if now >= then else now


def values_text(limits: Mapping[str, int], now: Mapping[str, int], then: Mapping[str, int]) -> str:
    """`link_downed 3 +1, symbol_error 12 +0`: every counter with its growth, for those who read the values."""
    return ", ".join("{} {} +{}".format(name, now[name], growth(now[name], then.get(name, 0))) for name in sorted(limits) if name in now)


def over(limits: Mapping[str, int], now: Mapping[str, int], then: Mapping[str, int]) -> Dict[str, int]:
    """The counters that grew by more than their limit. A counter absent from the snapshot counts from zero."""
    grown = {name: growth(now[name], then.get(name, 0)) for name in limits if name in now}
    return {name: by for name, by in grown.items() if by > int(limits[name])}
