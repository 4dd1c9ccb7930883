"""The GPUs of this node as the driver reports them."""

from __future__ import annotations

import os
from dataclasses import dataclass

from . import gpu_modes, load, machine, nvlink_fabric, state

# Driver branch -> CUDA version.
_CUDA = {"570": "12.8", "575": "12.9", "580": "13.0", "590": "13.1"}
# The packages with NVML, by their repository: the newest names first.
LIBRARY_PACKAGES = ("libnvidia-compute-580-server", "libnvidia-compute-580", "nvidia-utils-580")


class NoDriverError(Exception):
    """nvidia-smi cannot run. Has its error message and exit code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True)
class GpuView:
    """A GPU with its current state. `minor` is its index among the GPUs on the bus; `lost` means that it fell off the bus while in use."""

    gpu: machine.Gpu
    minor: int
    fabric: bool
    persistence: bool
    remap_failure: bool
    remapped_rows: int
    uncorrected_now: int
    lost: bool
    modes: gpu_modes.GpuModes
    gsp: bool
    remap_pending: bool = False
    power_brake_us: int = 0
    sw_therm_us: int = 0
    link_errors: bool = False
    link_losses: int = 0


def cuda_version(driver: str) -> str:
    """The CUDA version that nvidia-smi prints for a driver."""
    return _CUDA.get(driver.partition(".")[0], "13.0")


def library_version() -> str:
    """The version of the installed NVML; empty without one."""
    return next((v for package in LIBRARY_PACKAGES if (v := state.installed_version(package))), "")


def require_driver(library: str) -> str:
    """The version of the loaded driver.

    Raises:
        NoDriverError: no driver is loaded, or its version differs from that of the library.
    """
    driver = state.driver_version()
    if not driver:
        text = (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
            "Make sure that the latest NVIDIA driver is installed and running."
        )
        raise NoDriverError(text, 9)
    if driver != library:
        text = f"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: {library.rpartition('.')[0]}"
        raise NoDriverError(text, 18)
    return driver


def gpu_views(node: str = "") -> list[GpuView]:
    """The GPUs on the bus.

    Raises:
        NoDriverError: there is none.
    """
    node = node or os.uname().nodename
    faults = state.read_faults()
    persistence = bool(state.flag("persistence"))
    present = [i for i in range(machine.GPUS) if i not in faults.missing_gpus()]
    if not present:
        raise NoDriverError("No devices were found", 6)
    gsp = "EnableGpuFirmware: 0" not in state.read(f"{state.RUN}/proc/driver/nvidia/params").splitlines()
    views = []
    for minor, index in enumerate(present):
        ecc = faults.of("ecc_uncorrectable", str(index))
        views.append(
            GpuView(
                gpu=machine.gpu(node, index),
                minor=minor,
                fabric=nvlink_fabric.gpu_joined(index, faults),
                persistence=persistence,
                remap_failure=bool(ecc),
                remapped_rows=8 if ecc else int(index in load.raised(faults, "row_remap")),
                uncorrected_now=1 if ecc else 0,
                lost=index in faults.lost_gpus(),
                modes=gpu_modes.current_modes(index),
                gsp=gsp,
                remap_pending=index in load.raised(faults, "row_remap"),
                link_errors=index in load.raised(faults, "nvlink_error"),
                link_losses=sum(int(f.option) for f in faults.of("nvlink_flaps", str(index))),
                sw_therm_us=_software_slowdown_us(index, raised=index in load.raised(faults, "sw_thermal")),
                power_brake_us=1_250_000 if index in load.raised(faults, "power_brake") else 0,
            )
        )
    return views


def _software_slowdown_us(index: int, *, raised: bool) -> int:
    """A healthy tray of a rack slows down by software now and then, three GPUs of its four (NVIDIA/k8s-test-infra, qx-gb200.xml)."""
    if raised:
        return 3_600_000_000
    up_s = float((state.read("/proc/uptime") or "0").split()[0])
    return int(up_s * 1000) if machine.THIS.rack_nvlink and index else 0


def require_fabric(views: list[GpuView]) -> None:
    """Check that all GPUs have joined the NVLink fabric.

    Raises:
        NoDriverError: one has not; the message is CUDA's.
    """
    if not all(view.fabric for view in views):
        raise NoDriverError("[CUDA_ERROR_SYSTEM_NOT_READY] system not yet initialized in expression cuInit(0)", 1)


def require_no_lost_gpu(views: list[GpuView]) -> None:
    """Check that no GPU fell off the bus.

    Raises:
        NoDriverError: one did.
    """
    for view in views:
        if view.lost:
            raise NoDriverError(f"Unable to determine the device handle for GPU{view.minor}: {view.gpu.bus_id[4:]}: Unknown Error", 15)
