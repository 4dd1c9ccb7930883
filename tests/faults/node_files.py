"""A node as validators read it: files below a folder, output of commands."""

from __future__ import annotations

import fnmatch
import json
from functools import cache, cached_property
from multiprocessing.util import Finalize
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from clusterctl.core.gates.planning.devices import nvme_disks_of
from clusterctl_lab.simulator import machine, pseudo_files, sysfs_iommu, sysfs_pci, sysfs_rdma
from clusterctl_validators import boot_log, test_bios, test_hardware, test_infiniband, test_nvidia_driver, test_nvlink_domain
from clusterctl_validators.probe import CommandResult
from clusterctl_validators.role_modules import role_of_module
from clusterctl_validators.sources import LocalSource, owner_and_mode_of
from faults import bmc_readings, domain_outputs, gpu_outputs
from faults.snapshots import BEFORE_S, BOOT, with_address
from faults.world import nodes, spec
from support.checks import run_some_checks
from support.nvme_log import smart_log

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from clusterctl_validators.finding import Finding
    from faults.rack_kinds import RackKind
    from faults.world import Rack

_NOW_S = 1_763_632_800
_BOOTED = "2025-11-20T09:00:00+00:00"
_FAULT_AT = "2025-11-20T09:30:00+00:00"
_SHOW = "systemctl show -p Id,LoadState,ActiveState,UnitFileState --"
# As the profiles declare it: adapters reach memory past the IOMMU, on Grace through it.
_CMDLINE, _CMDLINE_OF_GRACE = "intel_iommu=on iommu=pt", "iommu.passthrough=0"
_LINK = {f"{which}_link_{what}": text for which in ("current", "max") for what, text in (("speed", "32.0 GT/s PCIe"), ("width", "4"))}
_FABRIC_MANAGER = "nvidia-fabricmanager.service"
# Of the validators, those that read hardware; what a role installs is the subject of other tests.
_CHECKS = {
    test_hardware: (),
    test_infiniband: ("test_counters",),
    test_nvidia_driver: ("test_fabric_manager",),
    test_nvlink_domain: (),
    test_bios: ("test_leak_detectors", "test_chassis_parts"),
}


class FaultyNode(LocalSource):
    """The healthy node with the changes of a fault; a file with no text is absent."""

    def __init__(self, rack: Rack, node: str) -> None:
        super().__init__(str(_healthy(rack.kind)))
        self._rack, self._node = rack, node
        self._smart = {c.path: c.value for c in rack.of("smart", node)}
        changed = {with_address(c.path, c): c.value for c in rack.of("file", node) if c.when != "load"}
        disks = {f"/sys/class/nvme/{disk}/device/{name}": text for disk in self._smart for name, text in _LINK.items()}
        self._files = {**disks, **_counted(rack, node), **(domain_outputs.files(rack, node) if machine.THIS.rack_nvlink else {}), **changed}
        self._absent = {path for path, text in changed.items() if not text} | {
            f"/sys/bus/pci/devices/{machine.THIS.gpu_addresses[c.gpu or 0]}" for c in rack.of("gpu_gone", node) if c.when != "load"
        }

    def read(self, path: str) -> str | None:
        """The text of a file; None if absent."""
        if any(path == gone or path.startswith(f"{gone}/") for gone in self._absent):
            return None
        return self._files[path] if path in self._files else super().read(path)

    def glob(self, pattern: str) -> list[str]:
        """The paths that match, sorted."""
        found = {*super().glob(pattern), *(path for path in self._files if fnmatch.fnmatchcase(path, pattern))}
        return sorted(p for p in found if not any(p == gone or p.startswith(f"{gone}/") for gone in self._absent))

    def owner_and_mode(self, path: str) -> tuple[str, str] | None:
        """Owner and mode of a file."""
        return owner_and_mode_of(self.run(["stat", "-c", "%U %a", path], 20))

    def nvme_smart_log(self, controller: str) -> bytes:
        """The SMART log of a disk, of which only those with a fault are shown."""
        return smart_log(**json.loads(self._smart[controller]))

    def run(self, argv: Sequence[str], timeout_s: float) -> CommandResult:
        """The output of a command."""
        words = " ".join(argv)
        answer = self._answers.get(words)
        if answer is None:
            return CommandResult(None, error=f"{argv[0]}: No such file or directory")
        return answer if isinstance(answer, CommandResult) else CommandResult(0, stdout=answer)

    @cached_property
    def _answers(self) -> dict[str, str | CommandResult]:
        rack, node = self._rack, self._node
        refused = [c for c in rack.of("smi_answer", node) if c.when != "load"]
        report = CommandResult(15, stdout=refused[0].value) if refused else gpu_outputs.report(rack, node, loaded=False)
        stopped = {c.path for c in rack.of("unit", node)}
        version = spec(rack.kind).roles["nvidia_driver"]["nvidia_driver_fabric_manager_version"]
        return {
            "nvidia-smi -q -x": report,
            "nvidia-smi nvlink -s": gpu_outputs.nvlinks(rack, node),
            "nvidia-smi nvlink -e": gpu_outputs.nvlink_errors(rack, node, loaded=False),
            "nvidia-smi topo -m": gpu_outputs.topology(rack, node),
            " ".join(boot_log.JOURNAL): _journal(rack, node),
            "lscpu -J": _lscpu(),
            "lsblk -J -o NAME,TYPE,MOUNTPOINT": _disks(nvme_disks_of(nodes(rack.kind)[0]) - len(rack.of("disk", node))),
            "date +%s": f"{_NOW_S}\n",
            "nv-fabricmanager --version": f"Fabric Manager version is : {version}\n",
            **{f"{_SHOW} {unit}": _unit(unit, active=unit not in stopped) for unit in (_FABRIC_MANAGER, test_nvlink_domain.UNIT)},
            **(domain_outputs.answers(rack, node) if machine.THIS.rack_nvlink else {}),
        }


def findings(rack: Rack, node: str, only: ModuleType | None = None) -> tuple[Finding, ...]:
    """What the validators find on a node, before any load, or one of them."""
    source, roles = FaultyNode(rack, node), spec(rack.kind).roles
    bmc = bmc_readings.reading(rack, node)
    found: list[Finding] = []
    for module, names in _CHECKS.items():
        if only in (None, module) and role_of_module(module) in roles:
            found += run_some_checks(module, dict(roles[role_of_module(module)]), source, names, bmc).values()
    return tuple(found)


def _unit(unit: str, *, active: bool) -> str:
    return f"Id={unit}\nLoadState=loaded\nActiveState={'active' if active else 'inactive'}\nUnitFileState=enabled\n"


def _journal(rack: Rack, node: str) -> str:
    lines = [f"{_FAULT_AT} kernel: {with_address(c.value, c)}" for c in rack.of("journal", node)]
    return "\n".join([f"{_BOOTED} kernel: Linux version 6.8.0-60-generic", *lines]) + "\n"


def _counted(rack: Rack, node: str) -> dict[str, str]:
    """The counters that a fault raised before the load, in the files of ports and memory."""
    found = {}
    for change in (c for c in rack.of("counter", node) if c.when == "always"):
        device, _, counter = change.path.rpartition(".")
        name, _, part = device.partition("/")
        folder = (
            f"/sys/class/infiniband/{name}/ports/{part}/counters" if name.startswith("mlx5") else f"/sys/devices/system/edac/mc/{device}"
        )
        found[f"{folder}/{counter}"] = change.value
    return found


def _lscpu() -> str:
    this = machine.THIS
    fields = {
        "Architecture:": "x86_64" if this.processor.vendor else "aarch64",
        "Thread(s) per core:": this.threads_per_core,
        "Core(s) per socket:": this.cores_per_socket,
        "Socket(s):": this.sockets,
    }
    return json.dumps({"lscpu": [{"field": name, "data": str(value)} for name, value in fields.items()]})


def _disks(count: int) -> str:
    disks = [{"name": f"nvme{i}n1", "type": "disk", "mountpoint": None} for i in range(count)]
    system = {"name": "nvme8n1", "type": "disk", "mountpoint": None, "children": [{"name": "nvme8n1p1", "type": "part", "mountpoint": "/"}]}
    return json.dumps({"blockdevices": [*disks, system]})


@cache
def _healthy(kind: RackKind) -> Path:
    """The files of a healthy node, which all nodes of a kind share; once per process."""
    this = kind.hardware
    root = Path(mkdtemp(prefix="faults-"))
    # Processes of a pool end without atexit.
    Finalize(None, rmtree, args=(root,), kwargs={"ignore_errors": True}, exitpriority=0)
    sys = str(root / "sys")
    pseudo_files.write_files(sys, {**sysfs_pci.files(set()), **sysfs_rdma.files("node", {})})
    pseudo_files.make_links(sys, {**sysfs_pci.links(set()), **sysfs_rdma.links()})
    ports = {f"{name}/1": {} for name in this.hca_names}  # type: ignore[var-annotated]
    texts: dict[str, str | int | bytes] = {
        "etc/os-release": 'ID=ubuntu\nVERSION_ID="24.04"',
        "proc/meminfo": f"MemTotal:       {this.memory_kib} kB",
        "proc/uptime": f"{BEFORE_S:.2f} 1.0",
        "proc/sys/kernel/random/boot_id": BOOT,
        "run/clusterctl/infiniband-counters.json": json.dumps({"taken_at": _BOOTED, "boot_id": BOOT, "ports": ports}),
        **{f"sys/devices/system/node/node{i}/cpulist": "0-55" for i in range(machine.NUMA_NODES)},
        **{f"sys/devices/system/edac/mc/mc0/dimm{i}/dimm_ce_count": 0 for i in range(machine.DIMMS)},
        **{f"sys/devices/system/edac/mc/mc0/dimm{i}/size": machine.DIMM_GIB * 1024 for i in range(machine.DIMMS)},
        "sys/devices/system/edac/mc/mc0/ce_noinfo_count": 0,
    }
    pseudo_files.write_files(str(root), texts)
    cmdline = _CMDLINE if this.processor.vendor else _CMDLINE_OF_GRACE
    pseudo_files.write_files(sys, sysfs_iommu.files(cmdline))
    pseudo_files.make_links(sys, sysfs_iommu.links(cmdline))
    return root
