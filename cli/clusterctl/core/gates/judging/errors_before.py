"""What the devices of a node had counted before the load: since boot, or in their life. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.gates.error_limits import DEFAULT_LIMITS
from clusterctl.core.gates.judging.errors_alone import Counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterctl.core.gates.judging.errors_alone import NodeCounts
    from clusterctl.core.parsers.error_snapshot import ErrorSnapshot

_SECONDS_PER_MINUTE = 60.0
# counter -> the variable that declares how much of it passes
_DECLARED = {
    "ecc_sram_correctable": "hardware_ecc_sram_correctable_max",
    "ecc_dram_correctable": "hardware_ecc_dram_correctable_max",
    "ecc_dram_uncorrectable_aggregate": "hardware_ecc_aggregate_dram_uncorrectable_max",
    "remapped_rows": "hardware_remapped_rows_max",
    "retired_pages": "hardware_retired_pages_max",
}
# Those of which the limit is a rate, so that it is one for the time since boot, too. Not `symbol_error`: a port counts them while its link trains.
_SINCE_BOOT = ("pcie_replays", "aer_correctable", "dimm_ce_count", "ce_noinfo_count")


def counted_before(before: ErrorSnapshot, counters: Mapping[str, Mapping[str, float]], declared: Mapping[str, object]) -> NodeCounts:
    """The counts that equal devices are compared by.

    Args:
        before: the snapshot before the load.
        counters: of that snapshot: device -> counter -> value.
        declared: the variables of the role hardware of that node; a counter whose limit is not declared is left out.
    """
    limits = dict(_limits(before, declared))
    found: NodeCounts = {}
    for device, own in counters.items():
        for counter, limit in limits.items():
            if counter in own:
                found[device, counter] = Counted(own[counter], limit)
    return found


def _limits(before: ErrorSnapshot, declared: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    for counter, variable in _DECLARED.items():
        most = declared.get(variable)
        if isinstance(most, int):
            yield counter, float(most)
    for counter in _SINCE_BOOT:
        yield counter, DEFAULT_LIMITS[counter].over(before.uptime_s / _SECONDS_PER_MINUTE)
