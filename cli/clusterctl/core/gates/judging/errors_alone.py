"""Errors below every limit of a device whose equals have none: a part that counts alone wears out, or is badly seated. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from clusterctl.core.gates.judging.peers import LEAST_PEERS

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

_HEAT = "sw_therm_slowdown_us"
# Corrected by the hardware or sent again, or held back by heat, and not raised by congestion (`port_xmit_discards`) or by design (FEC of NVLink 5).
COMPARED = frozenset(
    {
        *("ecc_sram_correctable", "ecc_dram_correctable", "pcie_replays", "aer_correctable"),
        *("symbol_error", "port_rcv_errors", "rx_pcs_symbol_err_phy", "rx_symbol_err_phy", "rx_crc_errors_phy"),
        *("dimm_ce_count", "ce_noinfo_count", _HEAT),
    }
)
# Azure's azure_gpu_ecc.nhc takes 10,000 for the limit of volatile errors; `load_errors` has none.
_WITHOUT_LIMIT = 10_000.0
# Assumed: a device is alone from a tenth of its limit on, five errors at least, and with ten times as many as all equals but the worst twentieth.
_SHARE, _LEAST, _TIMES, _OTHERS = 0.1, 5.0, 10.0, 0.05
# Assumed: of heat half of its limit; three GPUs of one healthy GB200 tray counted seconds (NVIDIA/k8s-test-infra, qx-gb200.xml).
_SHARE_OF_HEAT = 0.5


class Counted(NamedTuple):
    """How much a device counted in a time, or how many seconds it took, and the limit of that; None = it has none."""

    amount: float
    limit: float | None


# (device, counter) -> what was counted
NodeCounts = dict[tuple[str, str], Counted]


@dataclass(frozen=True, slots=True)
class Alone:
    """A device that counted errors while its equals did not.

    Attributes:
        equals: the devices that were compared, itself included.
        most: the count that all others but the worst of them, a twentieth at most, did not exceed.
    """

    node: str
    device: str
    counter: str
    counted: Counted
    equals: int
    most: float


def alone(counts: Mapping[str, NodeCounts], classes: Mapping[str, Hashable]) -> Iterator[Alone]:
    """The devices that are alone, in the order of `counts` (node -> its counts); `classes`: node -> what makes its parts equal to those of others."""
    equals: dict[tuple[Hashable, str], list[float]] = {}
    for node, own in counts.items():
        for (_, counter), counted in own.items():
            equals.setdefault((classes[node], counter), []).append(counted.amount)
    usual = {key: usual_most(values) for key, values in equals.items() if len(values) >= LEAST_PEERS}
    for node, own in counts.items():
        for (device, counter), counted in own.items():
            key = (classes[node], counter)
            if key in usual and counted.amount >= max(_least(counter, counted), _TIMES * usual[key]):
                yield Alone(node, device, counter, counted, len(equals[key]), usual[key])


def usual_most(values: list[float]) -> float:
    """What the others do not exceed: one of them, or a twentieth, may be as bad."""
    return sorted(values, reverse=True)[max(1, int(_OTHERS * len(values)))]


def _least(counter: str, counted: Counted) -> float:
    share = _SHARE_OF_HEAT if counter == _HEAT else _SHARE
    return max(_LEAST, share * (_WITHOUT_LIMIT if counted.limit is None else counted.limit))
