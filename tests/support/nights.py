"""Nightly runs that measured the same nodes, in a store. Numbers are made up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from support.stores import a_node, a_result, a_run

if TYPE_CHECKING:
    from clusterctl.adapters.store import Store
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.records import RunRow

NIGHT_NAMES = tuple(f"r12-n{i:02d}" for i in range(1, 10))
NIGHT_BAD = NIGHT_NAMES[0]
DEVICES = ("mlx5_0", "mlx5_1")


def night_run(day: int) -> RunRow:
    """The run of a night of March."""
    return replace(a_run(f"202603{day:02d}-020000-burnin-aaaa", verb="burnin"), started_at=f"2026-03-{day:02d}T02:00:00.000000Z")


def write_nights(store: Store, days: range, *, bad_in: int, names: tuple[str, ...] = NIGHT_NAMES) -> RunRow:
    """Node i reads 190 + i Gb/s on both HCAs, but one of the first node 98.1 from the night `bad_in` on. The last run."""
    store.register([a_node(name, slot=i) for i, name in enumerate(NIGHT_NAMES, 1)])
    for day in days:
        store.start_run(night_run(day), names)
        found = [_of_night(name, device, low=day >= bad_in) for name in names for device in DEVICES]
        store.save_gate_results(night_run(day).id, found)
    return store.run(night_run(days[-1]).id)


def _of_night(name: str, device: str, *, low: bool) -> GateResult:
    if low and name == NIGHT_BAD and device == DEVICES[1]:
        return a_result(Outcome.FAIL, node=name, device=device)
    return replace(a_result(node=name, device=device), value=190.0 + int(name[-2:]))


def upper_result(outcome: Outcome, node: str, value: float) -> GateResult:
    """A latency, which is worse the higher it is."""
    of = a_result(outcome, node=node, gate="rdma_latency")
    reason = GateReason.ABOVE_LIMIT if outcome is Outcome.FAIL else None
    return replace(of, rule="upper_limit", metric="latency", value=value, limit=4.0, unit="us", reason=reason)
