"""What this machine is at this moment: its faults, loaded modules, installed stub packages, running daemons."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

FAULTS = "/var/lib/clusterctl-lab/faults.json"
RUN = "/run/clusterctl-lab"
BOOT_ID = f"{RUN}/boot_id"
PACKAGES = "/usr/lib/clusterctl-lab/packages"
MODULES = "/usr/lib/clusterctl-lab/modules"
LOADED = "/sys/module"
# What the boards of the GPUs keep over reboots.
INFOROM = "/usr/lib/clusterctl-lab/gpu-inforom.json"


@dataclass(frozen=True)
class Fault:
    """One fault. `device`: HCA name or GPU index; `boot_id`: set where the fault ends with that boot."""

    name: str
    device: str = ""
    option: str = ""
    boot_id: str = ""


@dataclass(frozen=True)
class Faults:
    """The active faults of a node."""

    active: tuple[Fault, ...] = ()

    def of(self, name: str, device: str | None = None) -> list[Fault]:
        """Faults of a kind, on one device if given."""
        return [f for f in self.active if f.name == name and device in (None, f.device)]

    def missing_gpus(self) -> set[int]:
        """GPUs that are not on the bus."""
        return {int(f.device) for f in self.of("gpu_missing")}

    def lost_gpus(self) -> set[int]:
        """GPUs that fell off the bus while in use: still listed by the kernel, dead for the driver until the next boot."""
        return {int(f.device) for f in self.of("xid") if f.option == "79"}

    def trained_gbps(self) -> dict[str, int]:
        """HCAs whose link trained below the line rate, with that rate."""
        return {f.device: int(f.option) for f in self.of("hca_downtrained")}

    def hca_factor(self, hca: str, line_rate_gbps: int) -> float:
        """The part of the line rate that an HCA really carries."""
        factor = 1.0
        for fault in self.of("hca_degraded", hca):
            factor *= float(fault.option)
        for fault in self.of("hca_downtrained", hca):
            factor *= float(fault.option) / line_rate_gbps
        return factor

    def nccl_factor(self) -> float:
        """The part of its usual bus bandwidth that NCCL reaches here."""
        factor = 1.0
        for fault in self.of("nccl_slow"):
            factor *= float(fault.option)
        return factor


def read_faults(path: str = "", boot_id_path: str = "") -> Faults:
    """The faults that hold in this boot; none where the file is not there."""
    try:
        with open(path or FAULTS, encoding="utf-8") as file:
            rows = json.load(file)
    except FileNotFoundError:
        return Faults()
    now = read(boot_id_path or BOOT_ID)
    faults = (Fault(r["name"], r.get("device", ""), r.get("option", ""), r.get("boot_id", "")) for r in rows)
    return Faults(tuple(f for f in faults if f.boot_id in ("", now)))


def read(path: str) -> str:
    """The stripped text of a file; empty where it is absent."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def installed_version(package: str) -> str:
    """The upstream version of an installed stub package; empty where it is not installed."""
    return read(f"{PACKAGES}/{package}")


def is_module_loaded(module: str) -> bool:
    """Whether a kernel module is loaded."""
    return os.path.isdir(f"{LOADED}/{module.replace('-', '_')}")


def driver_version() -> str:
    """The version of the loaded NVIDIA driver; empty where none is loaded."""
    return read(f"{LOADED}/nvidia/version")


def flag(name: str) -> str:
    """A fact that a daemon of this machine left: `fabric`, `persistence`."""
    return read(f"{RUN}/{name}")


def set_flag(name: str, value: str) -> None:
    """Leave such a fact; an empty value takes it away."""
    if value:
        with open(f"{RUN}/{name}", "w", encoding="utf-8") as file:
            file.write(value + "\n")
    elif os.path.exists(f"{RUN}/{name}"):
        os.unlink(f"{RUN}/{name}")
