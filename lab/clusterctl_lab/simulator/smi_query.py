"""nvidia-smi --query-gpu=... and --query-remapped-rows=... --format=csv[,noheader][,nounits]."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from .smi_set import selected_gpus
from .smi_tree import Tree, gpu_tree

if TYPE_CHECKING:
    from .gpus import GpuView

# Field -> path in the values of `-q -x`, where the unit is part of the value; here it is part of the header.
_PATHS = {
    "name": "product_name",
    "gpu_name": "product_name",
    "serial": "serial",
    "gpu_serial": "serial",
    "uuid": "uuid",
    "gpu_uuid": "uuid",
    "pci.bus_id": "pci/pci_bus_id",
    "gpu_bus_id": "pci/pci_bus_id",
    "vbios_version": "vbios_version",
    "persistence_mode": "persistence_mode",
    "pstate": "performance_state",
    "compute_mode": "compute_mode",
    "mig.mode.current": "mig_mode/current_mig",
    "mig.mode.pending": "mig_mode/pending_mig",
    "ecc.mode.current": "ecc_mode/current_ecc",
    "ecc.mode.pending": "ecc_mode/pending_ecc",
    "pcie.link.gen.current": "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
    "pcie.link.gen.max": "pci/pci_gpu_link_info/pcie_gen/max_link_gen",
    "pcie.link.width.current": "pci/pci_gpu_link_info/link_widths/current_link_width",
    "pcie.link.width.max": "pci/pci_gpu_link_info/link_widths/max_link_width",
    "memory.total": "fb_memory_usage/total",
    "memory.used": "fb_memory_usage/used",
    "memory.free": "fb_memory_usage/free",
    "utilization.gpu": "utilization/gpu_util",
    "utilization.memory": "utilization/memory_util",
    "temperature.gpu": "temperature/gpu_temp",
    "temperature.memory": "temperature/memory_temp",
    "temperature.gpu.tlimit": "temperature/gpu_temp_tlimit",
    "power.draw": "gpu_power_readings/average_power_draw",
    "power.limit": "gpu_power_readings/current_power_limit",
    "enforced.power.limit": "gpu_power_readings/current_power_limit",
    "power.min_limit": "gpu_power_readings/min_power_limit",
    "power.default_limit": "gpu_power_readings/default_power_limit",
    "power.max_limit": "gpu_power_readings/max_power_limit",
    "clocks.sm": "clocks/sm_clock",
    "clocks.current.sm": "clocks/sm_clock",
    "clocks.mem": "clocks/mem_clock",
    "clocks.max.sm": "max_clocks/sm_clock",
    "fabric.state": "fabric/state",
    "fabric.status": "fabric/status",
    "gpu_recovery_action": "gpu_recovery_action",
    "gsp.mode.current": "",
    "clocks_event_reasons.active": "",
    "ecc.errors.uncorrected.volatile.total": "ecc_errors/volatile/dram_uncorrectable",
    "ecc.errors.uncorrected.volatile.dram": "ecc_errors/volatile/dram_uncorrectable",
    "ecc.errors.uncorrected.aggregate.total": "ecc_errors/aggregate/dram_uncorrectable",
    "ecc.errors.uncorrected.aggregate.dram": "ecc_errors/aggregate/dram_uncorrectable",
    "ecc.errors.corrected.volatile.total": "ecc_errors/volatile/dram_correctable",
    "remapped_rows.correctable": "remapped_rows/remapped_row_corr",
    "remapped_rows.uncorrectable": "remapped_rows/remapped_row_unc",
    "remapped_rows.pending": "remapped_rows/remapped_row_pending",
    "remapped_rows.failure": "remapped_rows/remapped_row_failure",
}
# In the order of their bits.
_REASONS = (
    "gpu_idle",
    "applications_clocks_setting",
    "sw_power_cap",
    "hw_slowdown",
    "sync_boost",
    "sw_thermal_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
)
_UNIT = re.compile(r" (MiB|W|C|%|MHz|GB)$")


def run_query(views: list[GpuView], driver: str, query: str, words: list[str]) -> int:
    """Print the table for the option `query`. Returns the exit status, which is not 0 for an unknown field."""
    kind, _, rest = query.partition("=")
    if kind not in ("--query-gpu", "--query-remapped-rows"):
        return 0  # there are no processes and no retired pages
    fields = [f.strip() for f in (rest or words[words.index(query) + 1]).split(",")]
    style = next((w.partition("=")[2] for w in words if w.startswith("--format=")), "csv").split(",")
    chosen = selected_gpus(views, words)
    if not chosen:
        print("No devices were found")
        return 6
    trees = [gpu_tree(v, driver) for v in chosen]
    for field in fields:
        if field not in _PATHS and field not in ("index", "count", "driver_version", "timestamp"):
            print(f'Field "{field}" is not a valid field to query.\n')
            return 2
    if "noheader" not in style:
        print(", ".join(_header(field, trees[0], units="nounits" not in style) for field in fields))
    for view, tree in zip(chosen, trees, strict=True):
        values = [_value(field, view, tree, driver, len(views)) for field in fields]
        print(", ".join(_UNIT.sub("", v) if "nounits" in style else _bare(v) for v in values))
    return 0


def _value(field: str, view: GpuView, tree: Tree, driver: str, count: int) -> str:
    own = {"index": str(view.minor), "count": str(count), "driver_version": driver, "timestamp": time.strftime("%Y/%m/%d %H:%M:%S.000")}
    if field in own:
        return own[field]
    if field == "gsp.mode.current":
        return "Enabled" if view.gsp else "Disabled"
    if field == "clocks_event_reasons.active":
        return f"0x{_reasons(tree):016x}"
    value: str | Tree = tree
    for part in _PATHS[field].split("/"):
        value = value[part] if isinstance(value, dict) else value
    return str(value).removesuffix("x") if "width" in field else str(value)


def _reasons(tree: Tree) -> int:
    """The bits of what holds the clock now (nvml.h, nvmlClocksEventReasons)."""
    reasons = tree["clocks_event_reasons"]
    shown = reasons if isinstance(reasons, dict) else {}
    return sum(1 << bit for bit, name in enumerate(_REASONS) if shown.get(f"clocks_event_reason_{name}") == "Active")


def _header(field: str, tree: Tree, *, units: bool) -> str:
    if field in ("index", "count", "driver_version", "timestamp", "gsp.mode.current", "clocks_event_reasons.active"):
        return field
    value: str | Tree = tree
    for part in _PATHS[field].split("/"):
        value = value[part] if isinstance(value, dict) else value
    found = _UNIT.search(str(value))
    return f"{field} [{found[1]}]" if units and found and found[1] != "C" else field


def _bare(value: str) -> str:
    """The value without the unit of temperatures, which CSV output omits."""
    return value.removesuffix(" C")
