"""How much the error counters of a node may grow under the load of a burn-in. A counter that is not listed is recorded and not judged."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

_MICROSECONDS_PER_MINUTE = 60e6


class Per(StrEnum):
    """What a growth is allowed for."""

    RUN = "run"
    MINUTE = "minute"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class GrowthLimit:
    """The growth that is allowed between two snapshots.

    Attributes:
        growth: a count in total or per minute; for `Per.TIME` the share of the time, of a counter in microseconds.
        warns: more than this is a warning, and holds no node back.
    """

    growth: float
    source: str
    per: Per = Per.RUN
    warns: bool = False

    def over(self, minutes: float) -> float:
        """The growth allowed over a time; a limit per minute counts at least one."""
        if self.per is Per.MINUTE:
            return self.growth * max(minutes, 1.0)
        return self.growth * minutes * _MICROSECONDS_PER_MINUTE if self.per is Per.TIME else self.growth

    def span(self, minutes: float) -> str:
        """The time that the limit was computed for, as text; empty where time does not matter."""
        return "" if self.per is Per.RUN else f" in {minutes:.1f} min"


_MEMORY = "NVIDIA GPU Memory Error Management: reset or replace before further use"
_SOAK = "Azure thermal stress test: any hardware thermal slowdown or power brake fails, the software power cap is normal"
_SOFT = (
    "assumed: 1 % of the time; a healthy GB200 tray counted 3.4 to 7.3 s on three of its four GPUs (NVIDIA/k8s-test-infra, qx-gb200.xml)"
)
_REPLAYS = "DCGM health watch: more than 8 PCIe replays per minute"
_CORRECTABLE = "assumed: no public limit; each replay is a correctable error, so the limit of replays"
_NVLINK = "facebookresearch/gcm check nvlink: 0 for replay, recovery and CRC errors"
_PORT = "limits of role infiniband (infiniband_counter_limits)"
_AER = "PCIe: an uncorrectable error loses a transaction"
_EDAC = "kernel EDAC: an uncorrectable error loses data"

DEFAULT_LIMITS: dict[str, GrowthLimit] = {
    **dict.fromkeys(("ecc_sram_uncorrectable", "ecc_dram_uncorrectable", "remapped_rows", "retired_pages"), GrowthLimit(0, _MEMORY)),
    **dict.fromkeys(("row_remap_pending", "row_remap_failure", "page_retirement_pending", "recovery_action"), GrowthLimit(0, _MEMORY)),
    **dict.fromkeys(("hw_therm_slowdown_us", "hw_power_brake_us"), GrowthLimit(0, _SOAK)),
    "sw_therm_slowdown_us": GrowthLimit(0.01, _SOFT, Per.TIME, warns=True),
    "pcie_replays": GrowthLimit(8, _REPLAYS, Per.MINUTE),
    **dict.fromkeys(("nvlink_replay_errors", "nvlink_recovery_errors", "nvlink_crc_errors"), GrowthLimit(0, _NVLINK)),
    **dict.fromkeys(("nvlink_rx_errors", "nvlink_rx_remote_errors", "nvlink_local_link_integrity_errors"), GrowthLimit(0, _NVLINK)),
    **dict.fromkeys(("nvlink_malformed_packet_errors", "nvlink_buffer_overrun_errors"), GrowthLimit(0, _NVLINK)),
    **dict.fromkeys(("symbol_error", "link_error_recovery", "link_downed"), GrowthLimit(0, _PORT)),
    **dict.fromkeys(("excessive_buffer_overrun_errors", "local_link_integrity_errors"), GrowthLimit(0, _PORT)),
    "port_rcv_errors": GrowthLimit(100, _PORT),
    "port_xmit_discards": GrowthLimit(1000, _PORT),
    "aer_fatal": GrowthLimit(0, _AER),
    "aer_nonfatal": GrowthLimit(0, _AER),
    "aer_correctable": GrowthLimit(8, _CORRECTABLE, Per.MINUTE),
    "ue_count": GrowthLimit(0, _EDAC),
}
