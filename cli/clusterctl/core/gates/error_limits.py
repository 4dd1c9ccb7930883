"""How much the error counters of a node may grow under the load of a burn-in. A counter that is not listed has no limit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LINK = "nvlink_"
_SECONDS_PER_MINUTE = 60.0
_MINUTES_PER_HOUR = 60.0
_MINUTES_PER_DAY = 1440.0
_MICROSECONDS_PER_MINUTE = 60e6


class Per(StrEnum):
    """What a growth is allowed for."""

    RUN = "run"
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    BIT = "bit"
    WORD = "word"
    TIME = "time"
    NOW = "now"


@dataclass(frozen=True, slots=True)
class GrowthLimit:
    """The growth that is allowed between two snapshots.

    Attributes:
        growth: a count in total, per minute, hour or day; for `Per.BIT` a share of the bits that the link carries in this time, for `Per.WORD` one of its code words
            without an error; for `Per.TIME` the share of the time, of a counter in microseconds; for `Per.NOW` the value after the load, whatever it was before.
        warns: more than this is a warning, and holds no node back.
        milder: a second, lower limit, for those that this one lets pass.
    """

    growth: float
    source: str
    per: Per = Per.RUN
    warns: bool = False
    milder: GrowthLimit | None = None

    def over(self, minutes: float, rate_gbps: float = 0.0, words: float = 0.0) -> float:
        """The growth allowed over a time and these code words; a limit per minute or day counts at least one, one per code word at least ten.

        Of an unknown number of bits any error is allowed.
        """
        if self.per is Per.WORD:
            return max(self.growth * words, _FEW)
        if self.per is Per.BIT:
            return max(self.growth * rate_gbps * 1e9 * minutes * _SECONDS_PER_MINUTE, 1.0) if rate_gbps else float("inf")
        if self.per is Per.HOUR:
            return max(self.growth * minutes / _MINUTES_PER_HOUR, 1.0)
        if self.per is Per.MINUTE:
            return self.growth * max(minutes, 1.0)
        if self.per is Per.DAY:
            return self.growth * max(minutes / _MINUTES_PER_DAY, 1.0)
        return self.growth * minutes * _MICROSECONDS_PER_MINUTE if self.per is Per.TIME else self.growth

    def span(self, minutes: float) -> str:
        """The time that the limit was computed for, as text; empty where time does not matter."""
        return "" if self.per in (Per.RUN, Per.NOW) else f" in {minutes:.1f} min"


_MEMORY = "NVIDIA GPU Memory Error Management: reset or replace before further use"
_REPAIRS = "NVIDIA's manual of nvidia-smi: the GPU waits for a repair, or has memory that cannot be repaired"
_SOAK = "Azure thermal stress test: any hardware thermal slowdown or power brake fails, the software power cap is normal"
_SOFT = (
    "assumed: 1 % of the time; a healthy GB200 tray counted 3.4 to 7.3 s on three of its four GPUs (NVIDIA/k8s-test-infra, qx-gb200.xml)"
)
_REPLAYS = "DCGM health watch: more than 8 PCIe replays per minute"
_CORRECTABLE = "assumed: no public limit; each replay is a correctable error, so the limit of replays"
_NVLINK = "facebookresearch/gcm check nvlink: 0 for replay, recovery and CRC errors"
# Names of driver 595.91.07 on B300; up to NVLink 4 there are the three above, and none of these.
_NVLINK_5 = "GoogleCloudPlatform/cluster-toolkit pull 5942 (GB200, GB300): none that error correction leaves; 15e-255 is a rate of zero"
_NVLINK_5_SITE = "one site's check of NVLink 5 (nvlink_health_check.sh, index id 69349713510): rates up to 1e-12"
_NVLINK_5_ERRORS = (
    "malformed_packet_errors",
    "buffer_overrun_errors",
    "rx_errors",
    "rx_remote_errors",
    "rx_general_errors",
    "local_link_integrity_errors",
    "effective_errors",
    "symbol_errors",
    "link_recovery_successful_events",
    "link_recovery_failed_events",
    "tx_discards",
)
# A million or a thousand of a run, as before, refused healthy links of long burn-ins: each receives 78 million code words a second.
_FEC = (
    "what error correction repairs loses nothing: cluster-toolkit pull 5942 ignores it; a check of NVLink 5 (nvlink_health.py, index id 60612555038) "
    "found 1e-9 of the code words on healthy links, 1e-7 on marginal ones, and warns from 1e-8, and of three symbols in one above a handful in 1e13"
)
_MULTIPLE = 3
_FEW = 10.0
_CLEAN_WORDS = "nvlink_fec_errors_0"
# Sent again by the physical layer, so nothing is lost.
_RETRIES = "assumed: R610 counts them, and no output of it on a healthy link is public"
# Traffic, code words without an error, and errors before correction, which healthy links count by the million.
_NO_ERRORS = re.compile(r"nvlink_(?:[rt]x_(?:packets|bytes)|fec_errors_0|raw_\w+|plr_xmit_blocks)$")
_SYMBOLS = "NVIDIA NVSentinel, nic-health-monitor: more than 120 symbol errors an hour are fatal"
_CABLES = "NVIDIA DGX SuperPOD cabling guide: each cable is tested to less than one error in 1e15 bits; InfiniBand allows one in 1e12"
_PHY = "Linux, mlx5 counters.rst: packets that a bad cable or transceiver cost; as port_rcv_errors of InfiniBand"
_PHY_LOST = "Linux, mlx5 counters.rst: cable or transceiver may need to be replaced; as link_downed of InfiniBand"
_PORT = "limits of role infiniband (infiniband_counter_limits)"
_AER = "PCIe: an uncorrectable error loses a transaction"
_DIMM = "mcelog: more than 10 corrected errors of a DIMM in 24 h"
_EDAC = "kernel EDAC: an uncorrectable error loses data"

# A link that recovered before the load may have done so while it trained, and may do it for days before it ends a job (marin-community/marin issue 8934).
_SINCE_THE_DRIVER = GrowthLimit(0, _NVLINK, Per.NOW, warns=True)
_RECOVERED = "marin-community/marin issue 9086: of 5,760 links of GB200 one had recovered, 505 times, and failed five days later"
_RECOVERED_SINCE_THE_DRIVER = GrowthLimit(0, _RECOVERED, Per.NOW, warns=True)

DEFAULT_LIMITS: dict[str, GrowthLimit] = {
    **dict.fromkeys(("ecc_sram_uncorrectable", "ecc_dram_uncorrectable", "remapped_rows", "retired_pages"), GrowthLimit(0, _MEMORY)),
    **dict.fromkeys(("row_remap_pending", "row_remap_failure", "page_retirement_pending", "recovery_action"), GrowthLimit(0, _MEMORY)),
    **dict.fromkeys(("channel_repair_pending", "tpc_repair_pending", "unrepairable_memory"), GrowthLimit(0, _REPAIRS)),
    **dict.fromkeys(("hw_therm_slowdown_us", "hw_power_brake_us"), GrowthLimit(0, _SOAK)),
    "sw_therm_slowdown_us": GrowthLimit(0.01, _SOFT, Per.TIME, warns=True),
    "pcie_replays": GrowthLimit(8, _REPLAYS, Per.MINUTE),
    **dict.fromkeys(
        ("nvlink_replay_errors", "nvlink_recovery_errors", "nvlink_crc_errors"), GrowthLimit(0, _NVLINK, milder=_SINCE_THE_DRIVER)
    ),
    **{LINK + name: GrowthLimit(0, _NVLINK_5) for name in _NVLINK_5_ERRORS},
    "nvlink_total_link_recovery_events": GrowthLimit(0, _NVLINK_5, milder=_RECOVERED_SINCE_THE_DRIVER),
    "nvlink_effective_ber": GrowthLimit(1e-9, _NVLINK_5, Per.NOW, milder=GrowthLimit(1e-12, _NVLINK_5_SITE, Per.NOW, warns=True)),
    "nvlink_symbol_ber": GrowthLimit(1e-12, _NVLINK_5_SITE, Per.NOW, milder=GrowthLimit(1e-25, _NVLINK_5, Per.NOW, warns=True)),
    "nvlink_plr_xmit_retry_blocks": GrowthLimit(0, _RETRIES, warns=True),
    **{
        f"nvlink_fec_errors_{symbols}": GrowthLimit(1e-8 if symbols < _MULTIPLE else 1e-11, _FEC, Per.WORD, warns=True)
        for symbols in range(1, 16)
    },
    # The same symbols, which an Ethernet port counts under another name.
    **dict.fromkeys(
        ("symbol_error", "rx_pcs_symbol_err_phy"),
        GrowthLimit(120, _SYMBOLS, Per.HOUR, milder=GrowthLimit(1e-15, _CABLES, Per.BIT, warns=True)),
    ),
    **dict.fromkeys(("rx_symbol_err_phy", "rx_crc_errors_phy"), GrowthLimit(100, _PHY)),
    "link_down_events_phy": GrowthLimit(0, _PHY_LOST),
    **dict.fromkeys(("link_error_recovery", "link_downed"), GrowthLimit(0, _PORT)),
    **dict.fromkeys(("excessive_buffer_overrun_errors", "local_link_integrity_errors"), GrowthLimit(0, _PORT)),
    "port_rcv_errors": GrowthLimit(100, _PORT),
    "port_xmit_discards": GrowthLimit(1000, _PORT),
    "aer_fatal": GrowthLimit(0, _AER),
    "aer_nonfatal": GrowthLimit(0, _AER),
    "aer_correctable": GrowthLimit(8, _CORRECTABLE, Per.MINUTE),
    "ue_count": GrowthLimit(0, _EDAC),
    **dict.fromkeys(("dimm_ce_count", "ce_noinfo_count"), GrowthLimit(10, _DIMM, Per.DAY)),
}


def clean_words(then: Mapping[str, float], now: Mapping[str, float]) -> float:
    """The code words without an error that a link received between two readings of its counters; 0 where it does not count them."""
    before, after = then.get(_CLEAN_WORDS, 0), now.get(_CLEAN_WORDS, 0)
    return after - before if after >= before else after  # one that went down was reset, and counts from zero


def is_unknown_link_counter(name: str) -> bool:
    """Whether a counter of an NVLink is neither limited by default nor known to be none of errors after correction."""
    return name.startswith(LINK) and name not in DEFAULT_LIMITS and _NO_ERRORS.match(name) is None
