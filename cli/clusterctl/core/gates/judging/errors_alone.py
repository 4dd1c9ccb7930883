"""Errors below every limit of a device whose equals have none: under the same load a part that counts alone wears out, or is badly seated. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from clusterctl.core.gates.judging.peers import LEAST_PEERS

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

# Corrected by the hardware or sent again, and not raised by congestion (`port_xmit_discards`) or by design (FEC of NVLink 5).
COMPARED = frozenset(
    {
        *("ecc_sram_correctable", "ecc_dram_correctable", "pcie_replays", "aer_correctable"),
        *("symbol_error", "port_rcv_errors", "dimm_ce_count", "ce_noinfo_count"),
    }
)
# Azure's azure_gpu_ecc.nhc takes 10,000 for the limit of volatile errors; `load_errors` has none.
_WITHOUT_LIMIT = 10_000.0
# Assumed: a device is alone from a tenth of its limit on, five errors at least, and with ten times as many as all equals but the worst twentieth.
_SHARE, _LEAST, _TIMES, _OTHERS = 0.1, 5.0, 10.0, 0.05


class Growth(NamedTuple):
    """How much a counter grew under the load, and its limit over that time; None = it has none."""

    grown: float
    limit: float | None


# (device, counter) -> its growth
NodeGrowth = dict[tuple[str, str], Growth]


@dataclass(frozen=True, slots=True)
class Alone:
    """A device that counted errors while its equals did not.

    Attributes:
        equals: the devices that were compared, itself included.
        most: the growth that all others but the worst of them, a twentieth at most, did not exceed.
    """

    node: str
    device: str
    counter: str
    growth: Growth
    equals: int
    most: float


def alone(grown: Mapping[str, NodeGrowth], classes: Mapping[str, Hashable]) -> Iterator[Alone]:
    """The devices that are alone, in the order of `grown` (node -> growths); `classes`: node -> what makes its parts equal to those of others."""
    counted: dict[tuple[Hashable, str], list[float]] = {}
    for node, own in grown.items():
        for (_, counter), growth in own.items():
            if counter in COMPARED:
                counted.setdefault((classes[node], counter), []).append(growth.grown)
    usual = {key: _usual(values) for key, values in counted.items() if len(values) >= LEAST_PEERS}
    for node, own in grown.items():
        for (device, counter), growth in own.items():
            key = (classes[node], counter)
            if key in usual and growth.grown >= max(_least(growth), _TIMES * usual[key]):
                yield Alone(node, device, counter, growth, len(counted[key]), usual[key])


def _usual(values: list[float]) -> float:
    """What the others do not exceed: one of them, or a twentieth, may be as bad."""
    return sorted(values, reverse=True)[max(1, int(_OTHERS * len(values)))]


def _least(growth: Growth) -> float:
    return max(_LEAST, _SHARE * (_WITHOUT_LIMIT if growth.limit is None else growth.limit))
