"""The current state of this machine: faults, loaded modules, installed stub packages, running daemons."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace

FAULTS = "/var/lib/clusterctl-lab/faults.json"
RUN = "/run/clusterctl-lab"
BOOT_ID = f"{RUN}/boot_id"
# Its text is new after every loss of power; the lab's BMC writes it.
POWER_CUT = "/var/lib/clusterctl-lab/power-cut"
PACKAGES = "/usr/lib/clusterctl-lab/packages"
MODULES = "/usr/lib/clusterctl-lab/modules"
LOADED = "/sys/module"
# Settings that the GPU boards keep across reboots.
INFOROM = "/usr/lib/clusterctl-lab/gpu-inforom.json"


@dataclass(frozen=True)
class Fault:
    """One fault. `device`: HCA name or GPU index; `boot_id`: set if the fault ends with that boot."""

    name: str
    device: str = ""
    option: str = ""
    boot_id: str = ""


@dataclass(frozen=True)
class Faults:
    """The active faults of a node."""

    active: tuple[Fault, ...] = ()

    def of(self, name: str, device: str | None = None) -> list[Fault]:
        """The faults of a kind, on one device if it is given."""
        return [f for f in self.active if f.name == name and device in (None, f.device)]

    def missing_gpus(self) -> set[int]:
        """The GPUs that are not on the bus."""
        return {int(f.device) for f in self.of("gpu_missing")}

    def lost_gpus(self) -> set[int]:
        """The GPUs that fell off the bus while in use: the kernel still lists them, the driver cannot use them until the next boot."""
        return {int(f.device) for f in self.of("xid") if f.option == "79"}

    def trained_gbps(self) -> dict[str, int]:
        """The HCAs whose link trained below the line rate, with their rate in Gb/s."""
        return {f.device: int(f.option) for f in self.of("hca_downtrained")}

    def missing_hcas(self) -> set[str]:
        """The HCAs that are not on the bus, by their names on a healthy machine."""
        return {f.device for f in self.of("hca_missing")}

    def pcie_lanes(self) -> dict[str, int]:
        """The HCAs whose PCIe link trained with fewer lanes, with their number."""
        return {f.device: int(f.option) for f in self.of("hca_pcie_lanes")}

    def hca_factor(self, hca: str, line_rate_gbps: int) -> float:
        """The actual bandwidth of an HCA as a fraction of the line rate."""
        factor = 1.0
        for fault in self.of("hca_degraded", hca):
            factor *= float(fault.option)
        for fault in self.of("hca_downtrained", hca):
            factor *= float(fault.option) / line_rate_gbps
        return factor

    def gpudirect_factor(self, hca: str) -> float:
        """The bandwidth between an HCA and GPU memory as a fraction of that with host memory."""
        factor = 1.0
        for fault in self.of("gpudirect_slow", hca):
            factor *= float(fault.option)
        return factor

    def nccl_factor(self) -> float:
        """The bus bandwidth of NCCL as a fraction of the usual one."""
        factor = 1.0
        for fault in self.of("nccl_slow"):
            factor *= float(fault.option)
        return factor


def read_faults(path: str = "", boot_id_path: str = "") -> Faults:
    """The faults that are active in this boot; none if the file does not exist."""
    try:
        with open(path or FAULTS, encoding="utf-8") as file:
            rows = json.load(file)
    except FileNotFoundError:
        return Faults()
    now = read(boot_id_path or BOOT_ID)
    faults = (Fault(r["name"], r.get("device", ""), r.get("option", ""), r.get("boot_id", "")) for r in rows)
    return Faults(tuple(_with_current_name(f) for f in faults if f.boot_id in ("", now) and _has_card(f)))


def hca_names() -> dict[str, str]:
    """Name of an HCA on a healthy machine without udev rules -> its name since this boot, empty for a dead one; no entry means the same name."""
    names: dict[str, str] = json.loads(flag("hca-names") or "{}")
    return names


def _with_current_name(fault: Fault) -> Fault:
    """A fault belongs to a card, which may have another name now."""
    return fault if fault.name == "hca_missing" else replace(fault, device=hca_names().get(fault.device, fault.device))


def _has_card(fault: Fault) -> bool:
    return fault.name == "hca_missing" or hca_names().get(fault.device) != ""


def read(path: str) -> str:
    """The stripped text of a file; empty if it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def installed_version(package: str) -> str:
    """The upstream version of an installed stub package; empty if it is not installed."""
    return read(f"{PACKAGES}/{package}")


def is_module_loaded(module: str) -> bool:
    """Whether a kernel module is loaded."""
    return os.path.isdir(f"{LOADED}/{module.replace('-', '_')}")


def driver_version() -> str:
    """The version of the loaded NVIDIA driver; empty if none is loaded."""
    return read(f"{LOADED}/nvidia/version")


def flag(name: str) -> str:
    """The value of a flag that a daemon of this machine set, e.g. `fabric` or `persistence`."""
    return read(f"{RUN}/{name}")


def set_flag(name: str, value: str) -> None:
    """Set a flag; an empty value clears it."""
    if value:
        with open(f"{RUN}/.{name}", "w", encoding="utf-8") as file:
            file.write(value + "\n")
        os.replace(f"{RUN}/.{name}", f"{RUN}/{name}")  # nobody reads it empty
    elif os.path.exists(f"{RUN}/{name}"):
        os.unlink(f"{RUN}/{name}")
