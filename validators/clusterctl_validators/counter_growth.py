"""How much the link counters of a port grew since a snapshot of them."""

import json
from dataclasses import dataclass
from typing import Dict, Mapping


class UnreadableSnapshotError(Exception):
    """There is no snapshot that counters can be compared with."""


@dataclass(frozen=True)
class Snapshot:
    """What the counters said. `ports`: `mlx5_0/1` -> counter -> value."""

    taken_at: str
    boot_id: str
    ports: Mapping[str, Mapping[str, int]]


def parse_snapshot(text: str) -> Snapshot:
    """Raises UnreadableSnapshotError."""
    try:
        data = json.loads(text)
        ports = {port: {name: int(value) for name, value in counters.items()} for port, counters in data["ports"].items()}
        return Snapshot(str(data["taken_at"]), str(data["boot_id"]), ports)
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise UnreadableSnapshotError("the snapshot of counters cannot be read: {}: {}".format(type(e).__name__, e)) from e


def growth(now: int, then: int) -> int:
    """A counter that went down was reset meanwhile: it counts from zero."""
    return now - then if now >= then else now


def over(limits: Mapping[str, int], now: Mapping[str, int], then: Mapping[str, int]) -> Dict[str, int]:
    """The counters that grew by more than their limit. One that is absent from the snapshot grew from zero."""
    grown = {name: growth(now[name], then.get(name, 0)) for name in limits if name in now}
    return {name: by for name, by in grown.items() if by > int(limits[name])}
