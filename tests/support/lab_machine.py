"""A simulated machine in a folder: redirects the paths of the simulator there."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from clusterctl_lab.faults import make_fault
from clusterctl_lab.simulator import machine, pci_drivers, state

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from clusterctl_lab.simulator.hardware import Hardware

BOOT = "11111111-2222-3333-4444-555555555555"


@dataclass
class LabMachine:
    """Gives the simulator packages, modules, flags and faults."""

    root: Path

    def install(self, **packages: str) -> None:
        for name, version in packages.items():
            self._write(self.root / "packages" / name.replace("_", "-"), version)

    def provide(self, **modules: str) -> None:
        for name, version in modules.items():
            self._write(self.root / "modules" / name, version)

    def load(self, **modules: str) -> None:
        for name, version in modules.items():
            self._write(self.root / "loaded" / name / "version", version)

    def flag(self, *names: str) -> None:
        for name in names:
            self._write(self.root / "run" / name, "1")

    def age_s(self, flag: str, seconds: float) -> None:
        """A flag was set so many seconds ago; `boot_id` is set at boot."""
        then = time.time() - seconds
        os.utime(self.root / "run" / flag, (then, then))

    def inject_fault(self, name: str, device: str = "", option: str = "") -> None:
        file = self.root / "faults.json"
        rows = json.loads(file.read_text()) if file.exists() else []
        file.write_text(json.dumps([*rows, asdict(make_fault(name, device, option, BOOT))]))

    def gpu_stack(self, version: str = "580.126.20") -> None:
        """Set up the GPU stack of a provisioned node."""
        self.install(nvidia_utils_580=version, libnccl2="2.28.9", nccl_tests="2.17.6", datacenter_gpu_manager_4_cuda13="4.5.2")
        self.load(nvidia=version, nvidia_peermem=version)
        self.flag("fabric", "persistence")

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def simulate_hardware(kind: Hardware, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the simulator use this hardware."""
    monkeypatch.setattr(machine, "THIS", kind)
    monkeypatch.setattr(machine, "NUMA_NODES", kind.numa_nodes)
    monkeypatch.setattr(machine, "CPUS", kind.sockets * kind.cores_per_socket * kind.threads_per_core)
    monkeypatch.setattr(machine, "GPUS", len(kind.gpu_addresses))
    monkeypatch.setattr(machine, "HCAS", len(kind.hca_addresses))


def lab_machine(root: Path, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    """A healthy machine without packages, booted an hour ago."""
    for name, path in {
        "FAULTS": "faults.json",
        "RUN": "run",
        "BOOT_ID": "run/boot_id",
        "PACKAGES": "packages",
        "MODULES": "modules",
        "LOADED": "loaded",
        "INFOROM": "gpu-inforom.json",
    }.items():
        monkeypatch.setattr(state, name, str(root / path))
    monkeypatch.setattr(pci_drivers, "SYS", str(root / "sys"))
    (root / "run").mkdir()
    (root / "run" / "boot_id").write_text(f"{BOOT}\n")
    (root / "loaded").mkdir()
    made = LabMachine(root)
    made.age_s("boot_id", 3600)
    return made
