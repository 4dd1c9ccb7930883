"""The values that `nvidia-smi -q` prints as text and `-q -x` as XML."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Union

from . import gemm_load, machine, nvlink_fabric, pcie_training, state

if TYPE_CHECKING:
    from .gemm_load import GpuLoad
    from .gpus import GpuView

Tree = dict[str, Union[str, "Tree"]]

_NA = "N/A"
_OLD = "Requested functionality has been deprecated"
_NO_DOMAIN = "00000000-0000-0000-0000-000000000000"
# The default partition of a rack (NVIDIA/k8s-test-infra, qx-gb300.xml).
_RACK_CLIQUE = "32766"


def gpu_tree(view: GpuView, driver: str) -> Tree:
    """All values of one GPU; keys are the XML tags."""
    gpu, this = view.gpu, machine.THIS
    domain, bus, device = gpu.bus_id.split(":")
    load = gemm_load.now(gpu.index, state.read_faults())
    generation, lanes = pcie_training.now(this.gpu_addresses[gpu.index])
    return {
        "product_name": this.gpu_model,
        "product_brand": "NVIDIA",
        "product_architecture": this.gpu_architecture,
        "display_mode": _OLD,
        "display_attached": "No",
        "display_active": "Disabled",
        "persistence_mode": "Enabled" if view.persistence else "Disabled",
        "addressing_mode": "None",
        "mig_mode": {"current_mig": _switch(on=view.modes.mig), "pending_mig": _switch(on=view.modes.mig)},
        "accounting_mode": "Disabled",
        "driver_model": {"current_dm": _NA, "pending_dm": _NA},
        "serial": gpu.serial,
        "uuid": gpu.uuid,
        "minor_number": str(view.minor),
        "vbios_version": "96.00.A5.00.01",
        "multigpu_board": "No",
        "board_id": f"0x{int(bus, 16) << 8:x}",
        "board_part_number": "692-2G520-0200-000",
        "gpu_part_number": "2330-885-A1",
        "platformInfo": {"module_id": str(gpu.index + 1), "host_id": "0", "peer_type": "Switch Connected"},
        "inforom_version": {"img_version": "G520.0200.00.05", "oem_object": "2.1", "ecc_object": "7.16", "pwr_object": _NA},
        "gpu_virtualization_mode": {"virtualization_mode": "None", "host_vgpu_mode": _NA},
        "gpu_recovery_action": "Drain and Reset" if view.remap_failure else "None",
        "gsp_firmware_version": driver if view.gsp else _NA,
        "pci": {
            "pci_bus": bus,
            "pci_device": device[:2],
            "pci_domain": domain[4:],
            "pci_device_id": f"{this.gpu_pci_id:04X}10DE",
            "pci_bus_id": gpu.bus_id,
            "pci_sub_system_id": "16C110DE",
            "pci_gpu_link_info": {
                "pcie_gen": {
                    "max_link_gen": str(this.pcie_gen),
                    "current_link_gen": str(generation),
                    "device_current_link_gen": str(generation),
                    "max_device_link_gen": str(this.pcie_gen),
                },
                "link_widths": {"max_link_width": "16x", "current_link_width": f"{lanes}x"},
            },
            "replay_counter": "0",
            "replay_rollover_counter": "0",
        },
        "performance_state": "P0",
        "clocks_event_reasons": _reasons(view, load),
        "clocks_event_reasons_counters": _reason_counters(view),
        "fb_memory_usage": {
            "total": f"{this.gpu_memory_mib} MiB",
            "reserved": "479 MiB",
            "used": "0 MiB",
            "free": f"{this.gpu_memory_mib - 479} MiB",
        },
        "bar1_memory_usage": {"total": "131072 MiB", "used": "1 MiB", "free": "131071 MiB"},
        "compute_mode": view.modes.compute,
        "utilization": {"gpu_util": "0 %", "memory_util": "0 %", "encoder_util": "0 %", "decoder_util": "0 %"},
        "ecc_mode": {"current_ecc": _switch(on=view.modes.ecc), "pending_ecc": _switch(on=view.modes.ecc_pending)},
        "ecc_errors": _ecc(view),
        "retired_pages": {
            "multiple_single_bit_retirement": {"retired_count": _NA, "retired_pagelist": _NA},
            "double_bit_retirement": {"retired_count": _NA, "retired_pagelist": _NA},
            "pending_blacklist": _NA,
            "pending_retirement": _NA,
        },
        "remapped_rows": _remapped(view),
        "temperature": {
            "gpu_temp": f"{load.temperature_c} C",
            "gpu_temp_tlimit": f"{load.margin_c} C",
            "memory_temp": f"{load.temperature_c + 8} C",
        },
        "gpu_power_readings": _power(view, load),
        "clocks": {
            "graphics_clock": f"{load.clock_mhz} MHz",
            "sm_clock": f"{load.clock_mhz} MHz",
            "mem_clock": "2619 MHz",
            "video_clock": "765 MHz",
        },
        "max_clocks": {"graphics_clock": "1980 MHz", "sm_clock": "1980 MHz", "mem_clock": "2619 MHz", "video_clock": "1545 MHz"},
        "fabric": fabric_tree(joined=view.fabric),
        "processes": "",
    }


def _reasons(view: GpuView, load: GpuLoad) -> Tree:
    names = [
        "applications_clocks_setting",
        "sw_power_cap",
        "hw_slowdown",
        "hw_thermal_slowdown",
        "hw_power_brake_slowdown",
        "sync_boost",
        "sw_thermal_slowdown",
    ]
    bits = {
        "gpu_idle": gemm_load.IDLE,
        "sw_power_cap": gemm_load.POWER_CAP,
        "hw_slowdown": gemm_load.HW_SLOWDOWN,
        "hw_thermal_slowdown": gemm_load.HW_THERMAL,
    }
    loaded: Tree = {f"clocks_event_reason_{name}": "Active" for name, bit in bits.items() if load.reasons & bit}
    braked: Tree = {"clocks_event_reason_hw_power_brake_slowdown": "Active"} if view.power_brake_us else {}
    none: Tree = {f"clocks_event_reason_{name}": "Not Active" for name in ("gpu_idle", *names)}
    return none | loaded | braked


def _reason_counters(view: GpuView) -> Tree:
    counted = {"sw_power_cap": view.sw_therm_us, "sync_boost": 0, "sw_therm_slowdown": view.sw_therm_us}
    times = {**counted, "hw_therm_slowdown": 0, "hw_power_brake": view.power_brake_us}
    return {f"clocks_event_reasons_counters_{name}": f"{microseconds} us" for name, microseconds in times.items()}


def _ecc(view: GpuView) -> Tree:
    zero: Tree = {"sram_correctable": "0", "sram_uncorrectable_parity": "0", "sram_uncorrectable_secded": "0", "dram_correctable": "0"}
    return {
        "volatile": {**zero, "dram_uncorrectable": str(view.uncorrected_now)},
        "aggregate": {**zero, "dram_uncorrectable": str(view.remapped_rows), "sram_threshold_exceeded": "No"},
    }


def _remapped(view: GpuView) -> Tree:
    none = 1 if view.remap_failure else 0
    banks = {"max": 2560 - none, "high": 0, "partial": 0, "low": 0, "none": none}
    return {
        "remapped_row_corr": "0",
        "remapped_row_unc": str(view.remapped_rows),
        "remapped_row_pending": "Yes" if view.remap_pending else "No",
        "remapped_row_failure": "Yes" if view.remap_failure else "No",
        "row_remapper_histogram": {f"row_remapper_histogram_{name}": f"{count} bank(s)" for name, count in banks.items()},
    }


def _switch(*, on: bool) -> str:
    return "Enabled" if on else "Disabled"


def _power(view: GpuView, load: GpuLoad) -> Tree:
    limit, board = f"{view.modes.power_w:.2f} W", f"{machine.THIS.gpu_power_limit_w}.00 W"
    least = f"{machine.THIS.gpu_power_min_w}.00 W"
    draw = f"{view.modes.power_w * load.power_share:.2f} W"
    result: Tree = {"power_state": _OLD, "average_power_draw": draw, "instant_power_draw": draw, "current_power_limit": limit}
    return result | {"requested_power_limit": limit, "default_power_limit": board, "min_power_limit": least, "max_power_limit": board}


def fabric_tree(*, joined: bool) -> Tree:
    """The element `fabric` of one GPU. GPUs whose NVSwitches are on their board belong to no NVLink domain."""
    reporting = machine.THIS.fabric_reporting
    if not reporting:
        return {"state": "N/A", "status": "N/A", "cliqueId": "N/A", "clusterUuid": "N/A", "health": {"summary": "N/A"}}
    result: Tree = {"state": "Completed" if joined else "In Progress", "status": "Success" if joined else "N/A"}
    if not machine.THIS.rack_nvlink:
        summary = "Healthy" if reporting == "health" and joined else "N/A"
        return result | {"cliqueId": "0", "clusterUuid": _NO_DOMAIN, "health": {"summary": summary}}
    if not joined:
        return result | {"cliqueId": "N/A", "clusterUuid": "N/A", "health": {"summary": "N/A"}}
    healthy = {"bandwidth": "Full", "route_recovery_in_progress": "False", "route_unhealthy": "False", "access_timeout_recovery": "False"}
    health: Tree = {"summary": "Healthy", **healthy, "incorrect_configuration": "None"}
    return result | {"cliqueId": _RACK_CLIQUE, "clusterUuid": nvlink_fabric.cluster_uuid(os.uname().nodename), "health": health}
