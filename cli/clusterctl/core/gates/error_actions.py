"""The next action for an error counter that grew under load, by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

# What error_snapshot.py writes before the name of a port that leads to the NVSwitches.
SWITCH_LINK = "NVSwitch "
# What it writes between the name of an adapter and the number of a plane of its link: counters of the adapter's port in parts.
PLANE = "/plane "
_AGAIN = "then burn in again"
# NVIDIA GPU Memory Error Management: a remapping takes effect at a reset, a failed one is the criterion of an RMA; NVSentinel has the same for DCGM's errors.
_RESET = f"reset {{device}} or reboot {{node}}, {_AGAIN}; if it returns, run the field diagnostic and RMA the GPU"
_FIELD_DIAGNOSTIC = "run the field diagnostic on {device}, and RMA it"
_DIAGNOSE = "run the field diagnostic on {device}, RMA it if that fails; else watch it"
_CORRECTED = f"{_DIAGNOSE}: NVIDIA requires no action as long as errors are corrected"
# NVIDIA GPU Memory Error Management: a remapped row requires no action until a bank has no spare row left.
_WEARS_OUT = "its memory wears out: watch {device} and plan its replacement; nothing is to be done as long as every bank has a spare row"
_RECOVERY = "{device}: `nvidia-smi -q` shows under GPU Recovery Action what the driver recommends: reset it or reboot {node}"
_NVLINK = f"{{device}}: reset all GPUs of the board and restart the fabric manager, {_AGAIN}; RMA the GPU or the board if it returns"
_PCIE = f"power off {{node}} and reseat {{device}}, its riser or cable, {_AGAIN}; replace it if the errors return"
_CABLE = "{device}: reseat and clean the cable at both ends, then replace transceivers and cable, then the HCA, then the switch port"
_BOARD = f"{{device}}: a link inside the GPU baseboard: restart the fabric manager, {_AGAIN}; RMA the baseboard if it returns"
_DIMM = "find the DIMM of {device} in the event log of the BMC (`clusterctl bmc {node} --only log`), replace it, then burn in"
_POWER = "check power supplies, power shelf and cables of {node} (`clusterctl bmc {node}`); {device} is not at fault"
_COOLING = "compare inlet or coolant temperature, fans and power of {node} with its neighbours (`clusterctl bmc {node}`)"
_OTHER = "{metric} of {device} grows under load: drain the node, reseat or replace the part"

_BY_COUNTER = {
    **dict.fromkeys(("ecc_sram_uncorrectable", "ecc_dram_uncorrectable", "remapped_rows", "row_remap_pending"), _RESET),
    **dict.fromkeys(("page_retirement_pending", "channel_repair_pending", "tpc_repair_pending"), _RESET),
    **dict.fromkeys(("ecc_sram_correctable", "ecc_dram_correctable"), _CORRECTED),
    "ecc_dram_uncorrectable_aggregate": _DIAGNOSE,
    **dict.fromkeys(("row_remap_failure", "retired_pages", "unrepairable_memory"), _FIELD_DIAGNOSTIC),
    "recovery_action": _RECOVERY,
    "hw_power_brake_us": _POWER,
    **dict.fromkeys(("hw_therm_slowdown_us", "sw_therm_slowdown_us"), _COOLING),
    **dict.fromkeys(("dimm_ce_count", "ce_noinfo_count", "ue_count"), _DIMM),
    **dict.fromkeys(("symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "port_xmit_discards"), _CABLE),
    **dict.fromkeys(("excessive_buffer_overrun_errors", "local_link_integrity_errors"), _CABLE),
    **dict.fromkeys(("rx_pcs_symbol_err_phy", "rx_symbol_err_phy", "rx_crc_errors_phy", "link_down_events_phy"), _CABLE),
}
_BY_START = {"nvlink_": _NVLINK, "aer_": _PCIE, "pcie_": _PCIE}


def counters() -> Collection[str]:
    """Those that have an action by their whole name."""
    return _BY_COUNTER.keys()


def action_for_growth(counter: str, device: str, node: str) -> str:
    """What to do about `counter` of `device`."""
    if device.startswith(SWITCH_LINK):
        return _BOARD.format(device=device)
    text = _BY_COUNTER.get(counter) or next((t for start, t in _BY_START.items() if counter.startswith(start)), _OTHER)
    return text.format(node=node, device=device, metric=counter)


def action_for_one_alone(counter: str, device: str, node: str) -> str:
    """What to do about `counter` of `device`, whose equals have none."""
    return _WEARS_OUT.format(device=device) if counter in ("remapped_rows", "retired_pages") else action_for_growth(counter, device, node)
