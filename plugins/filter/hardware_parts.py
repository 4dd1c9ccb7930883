"""Compare the declared parts of a node with its actual ones, as pure functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.gpu import UnreadableGpuError
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.linux_files import (
    UnreadableFileError,
    gpu_memory_gib,
    parse_memory_gib,
    parse_os_release,
)
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.nvidia_smi import parse_row
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.util_linux import (
    UnreadableInventoryError,
    parse_lscpu,
    parse_nvme_data_disks,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_GPU_CLASSES = ("0x0300", "0x0302")
_HCA_CLASSES = ("0x0200", "0x0207")
_NVIDIA = "0x10de"
_IOMEM = "/proc/iomem:"
_RELEASE = "/etc/os-release:"
_NODE = re.compile(r"/sys/devices/system/node/(node\d+)/(cpulist|meminfo):(.*)")
_MODEL = "/sys/class/dmi/id/product_name"
# Not the second device of an adapter that a subnet manager of an XDR fabric has (smi1, rdma-dev.8).
_HCA_FIRMWARE = re.compile(r"/sys/class/infiniband/(?!smi)[^/]+/fw_ver")
_SMI_FIELDS = (
    "index",
    "hardware_gpu_model",
    "hardware_gpu_memory_min_mib",
    "hardware_gpu_vbios",
    "hardware_gpu_pcie_gen",
    "hardware_gpu_pcie_width",
)


def shortages(declared: dict[str, Any], sources: dict[str, str]) -> list[str]:
    """Missing parts that no role can provide, one line each; empty if none is missing.

    Args:
        declared: the role's arguments by name.
        sources: raw text by source: `lscpu` (JSON), `meminfo`, `sysfs` (`path:value` lines, of /etc/os-release, too, and of `vpd` of functions that manage
            NVSwitches), `lsblk` (JSON), `nvidia_smi` (CSV; empty without a driver).
    """
    lines = sources["sysfs"].splitlines()
    files = {path: value for path, _, value in (line.rpartition(":") for line in lines)}
    release = parse_os_release("\n".join(line[len(_RELEASE) :] for line in lines if line.startswith(_RELEASE)))
    missing = [*_platform(declared, sources, files, release), *_counted(declared, sources, files)]
    # One row for each port: what is counted is adapters.
    adapters = {hca["name"]: hca for hca in declared["hardware_hcas"]}
    for hca in adapters.values():
        missing += _hca(hca, files)
    return missing + [line for row in sources["nvidia_smi"].splitlines() for line in _gpu(declared, row)]


def _platform(declared: dict[str, Any], sources: dict[str, str], files: dict[str, str], release: str) -> Iterator[str]:
    """The machine and its release: what is installed for another one does not work."""
    found = {
        "architecture": _lscpu(sources["lscpu"]).get("Architecture", ""),
        "os": release,
    }
    for name, value in found.items():
        expected = declared[f"hardware_{name}"]
        if expected and value != expected:
            yield f"hardware_{name}: declared {expected}, found {value or 'nothing'}"
    models, model = declared["hardware_machines"], files.get(_MODEL, "").strip()
    if models and model not in models:
        yield f"hardware_machines: declared {' or '.join(models)}, found {model or 'nothing'}"


def _counted(declared: dict[str, Any], sources: dict[str, str], files: dict[str, str]) -> Iterator[str]:
    cpu = _lscpu(sources["lscpu"])
    gpus = [p for p in _functions(files, _GPU_CLASSES) if files.get(p + "vendor") == _NVIDIA]
    # Independent of names: the RDMA devices of a loaded driver; without a driver the PCI functions that could become one.
    networks = [p[: -len("fw_ver")] for p in files if _HCA_FIRMWARE.fullmatch(p)] or _functions(files, _HCA_CLASSES)
    hcas = [folder for folder in networks if folder + "vpd" not in files]
    counts: dict[str, tuple[str, Callable[[], int | None]]] = {
        "hardware_cpu_sockets": ("processor sockets", lambda: _number(cpu.get("Socket(s)", ""))),
        "hardware_cpu_cores_per_socket": ("cores per socket", lambda: _number(cpu.get("Core(s) per socket", ""))),
        "hardware_memory_min_gib": ("GiB of memory", lambda: _memory_gib(sources)),
        "hardware_gpus": ("GPUs on the PCI bus", lambda: len(gpus)),
        "hardware_hcas": ("HCAs", lambda: len(hcas)),
        "hardware_nvme_data_disks": ("NVMe data disks", lambda: _nvme_data_disks(sources["lsblk"], files)),
    }
    for argument, (what, count) in counts.items():
        expected = len({hca["name"] for hca in declared[argument]}) if isinstance(declared[argument], list) else declared[argument]
        if not expected:
            continue
        found = count()
        if found is None:
            yield f"{what}: declared {expected}, but the number on this node cannot be read"
        elif found < expected:
            yield f"{what}: declared {expected}, found {found}"


def _functions(files: dict[str, str], classes: tuple[str, ...]) -> list[str]:
    """The folders of PCI functions of these classes."""
    return [
        p[: -len("class")] for p, v in files.items() if p.startswith("/sys/bus/pci/") and p.endswith("/class") and v.startswith(classes)
    ]


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]+", text) else None


def _lscpu(text: str) -> dict[str, str]:
    try:
        return parse_lscpu(text)
    except UnreadableInventoryError:
        return {}


def _memory_gib(sources: dict[str, str]) -> int | None:
    lines = sources["sysfs"].splitlines()
    nodes = [found.groups() for found in map(_NODE.match, lines) if found]
    with_processors = {node for node, file, _ in nodes if file == "cpulist"}
    bare = [text for node, file, text in nodes if file == "meminfo" and node not in with_processors]
    try:
        return int(parse_memory_gib(sources["meminfo"]) - gpu_memory_gib("\n".join(x for x in lines if x.startswith(_IOMEM)), bare))
    except UnreadableFileError:
        return None


def _is_local(disk: str, files: dict[str, str]) -> bool:
    """Whether a controller of the disk is on PCIe; with native multipath it is below the disk's subsystem, and has another number."""
    found = [v for p, v in files.items() if p.startswith(f"/sys/block/{disk}/device/") and p.endswith("/transport")]
    return not found or "pcie" in found


def _nvme_data_disks(text: str, files: dict[str, str]) -> int | None:
    try:
        return sum(_is_local(disk, files) for disk in parse_nvme_data_disks(text))
    except UnreadableInventoryError:
        return None


def _hca(hca: dict[str, Any], files: dict[str, str]) -> Iterator[str]:
    firmware = files.get(f"/sys/class/infiniband/{hca['name']}/fw_ver", "")
    if hca.get("firmware") and firmware and firmware != hca["firmware"]:
        yield f"HCA {hca['name']}: firmware declared {hca['firmware']}, found {firmware}"


def _gpu(declared: dict[str, Any], row: str) -> Iterator[str]:
    try:
        gpu = parse_row(row, _SMI_FIELDS)
    except UnreadableGpuError as e:
        yield str(e)
        return
    index = gpu.pop("index")
    for argument, found in gpu.items():
        expected = declared[argument]
        short = expected and (not found.isdigit() or int(found) < expected if isinstance(expected, int) else found != expected)
        if short:
            yield f"GPU {index}: {argument} declared {expected}, found {found}"


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {"hardware_shortages": shortages}
