"""What is wrong with this machine: the faults that `clusterctl lab fault` wrote."""

from __future__ import annotations

import json
from dataclasses import dataclass

FAULTS = "/var/lib/clusterctl-lab/faults.json"
BOOT_ID = "/run/clusterctl-lab/boot_id"


@dataclass(frozen=True)
class Fault:
    """One fault. `device`: HCA name or GPU index; `boot_id`: set where the fault ends with this boot."""

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
        """GPUs that fell off the bus."""
        return {int(f.device) for f in self.of("gpu_missing")}

    def trained_gbps(self) -> dict[str, int]:
        """HCAs whose link trained below the line rate, with that rate."""
        return {f.device: int(f.option) for f in self.of("hca_downtrained")}


def read_faults(path: str = FAULTS, boot_id_path: str = BOOT_ID) -> Faults:
    """The faults that hold in this boot; none where the file is not there."""
    try:
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)
    except FileNotFoundError:
        return Faults()
    with open(boot_id_path, encoding="utf-8") as file:
        now = file.read().strip()
    faults = (Fault(r["name"], r.get("device", ""), r.get("option", ""), r.get("boot_id", "")) for r in rows)
    return Faults(tuple(f for f in faults if f.boot_id in ("", now)))
