"""The output formats of nvidia-smi: XML, text, table, GPU list, NVLink status, topology."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from . import machine, nvlink_error_counters, nvlink_fabric, state
from .smi_tree import Tree, gpu_tree

if TYPE_CHECKING:
    from .gpus import GpuView

_LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

"""

_ALL_INACTIVE = "NVML: Unable to retrieve NVLink information as all links are inActive\n"


def query_xml(views: list[GpuView], driver: str, cuda: str) -> str:
    """The output of `nvidia-smi -q -x`."""
    head = f'<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">\n<nvidia_smi_log>\n\t<timestamp>{time.ctime()}</timestamp>\n'
    head += f"\t<driver_version>{driver}</driver_version>\n\t<cuda_version>{cuda}</cuda_version>\n\t<attached_gpus>{len(views)}</attached_gpus>\n"
    body = "".join(f'\t<gpu id="{v.gpu.bus_id}">\n{_xml(gpu_tree(v, driver), 2)}\t</gpu>\n' for v in views)
    return f"{head}{body}</nvidia_smi_log>\n"


def _xml(tree: Tree, depth: int) -> str:
    pad = "\t" * depth
    parts = []
    for tag, value in tree.items():
        inner = f"\n{_xml(value, depth + 1)}{pad}" if isinstance(value, dict) else value
        parts.append(f"{pad}<{tag}>{inner}</{tag}>\n")
    return "".join(parts)


def query_text(views: list[GpuView], driver: str, cuda: str) -> str:
    """The output of `nvidia-smi -q`."""
    head = f"\n==============NVSMI LOG==============\n\n{'Timestamp':<42}: {time.ctime()}\n{'Driver Version':<42}: {driver}\n"
    head += f"{'CUDA Version':<42}: {cuda}\n\n{'Attached GPUs':<42}: {len(views)}\n"
    return head + "".join(f"GPU {v.gpu.bus_id}\n{_plain(gpu_tree(v, driver), 4)}\n" for v in views)


def _plain(tree: Tree, indent: int) -> str:
    lines = []
    for tag, value in tree.items():
        name = " " * indent + tag.replace("_", " ").title().replace("Ecc", "ECC").replace("Uuid", "UUID").replace("Vbios", "VBIOS")
        lines.append(f"{name}\n{_plain(value, indent + 4)}" if isinstance(value, dict) else f"{name:<42}: {value}\n")
    return "".join(lines)


def summary_table(views: list[GpuView], driver: str, cuda: str) -> str:
    """The output of `nvidia-smi` without arguments."""
    bar = "+-----------------------------------------+------------------------+----------------------+\n"
    text = f"{time.ctime()}\n+{'-' * 89}+\n| NVIDIA-SMI {driver:<22} Driver Version: {driver:<14} CUDA Version: {cuda:<9}|\n{bar}"
    text += "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
    text += "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
    text += "|                                         |                        |               MIG M. |\n"
    text += "|=========================================+========================+======================|\n"
    for v in views:
        on = "On" if v.persistence else "Off"
        text += f"| {v.minor:>3}  {machine.THIS.gpu_model:<26} {on:>5}  |   {v.gpu.bus_id} Off | {v.uncorrected_now:>20} |\n"
        text += f"| N/A  {30 + v.gpu.index:>3}C    P0             {68 + v.gpu.index:>3}W /  {machine.THIS.gpu_power_limit_w}W |"
        text += f"       0MiB /  {machine.THIS.gpu_memory_mib}MiB |      0%      Default |\n"
        text += f"|                                         |                        |             Disabled |\n{bar}"
    text += f"\n+{'-' * 89}+\n| Processes:{'':<78}|\n|  No running processes found{'':<61}|\n+{'-' * 89}+\n"
    return text


def gpu_list(views: list[GpuView]) -> str:
    """The output of `nvidia-smi -L`; a GPU that fell off the bus is listed with an error."""
    lost = "Unable to determine the device handle for GPU{}: {}: Unknown Error\n"
    good = "GPU {}: {} (UUID: {})\n"
    return "".join(
        lost.format(v.minor, v.gpu.bus_id[4:]) if v.lost else good.format(v.minor, machine.THIS.gpu_model, v.gpu.uuid) for v in views
    )


def nvlink_status(views: list[GpuView]) -> str:
    """The output of `nvidia-smi nvlink -s`; what of inactive links is printed depends on the generation of the NVLinks."""
    links = "".join(f"\t Link {link}: {machine.THIS.nvlink_gbs} GB/s\n" for link in range(machine.THIS.nvlinks))
    if not nvlink_fabric.links_trained(state.read_faults()):
        down = "".join(f"\t Link {link}: <inactive>\n" for link in range(machine.THIS.nvlinks))
        links = _ALL_INACTIVE if machine.THIS.fabric_reporting == "health" else down
    return "".join(f"GPU {v.minor}: {machine.THIS.gpu_model} (UUID: {v.gpu.uuid})\n{links}" for v in views)


def nvlink_errors(views: list[GpuView]) -> str:
    """The output of `nvidia-smi nvlink -e`."""
    kinds = {(v.link_errors, v.link_losses) for v in views}
    links = {kind: nvlink_error_counters.links_text(bad=kind[0], losses=kind[1]) for kind in kinds}
    heads = ((f"GPU {v.minor}: {machine.THIS.gpu_model} (UUID: {v.gpu.uuid})", links[v.link_errors, v.link_losses]) for v in views)
    return "".join(f"{head}\n{text}\n" for head, text in heads)


def topology_matrix(views: list[GpuView]) -> str:
    """The output of `nvidia-smi topo -m`; each GPU shares a PCIe switch with the HCA of its rail."""
    gpus = [f"GPU{v.minor}" for v in views]
    nics = machine.live_hcas()
    text = (
        "\t\x1b[4m"
        + "\t".join([*gpus, *(f"NIC{n}" for n, _ in enumerate(nics)), "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])
        + "\x1b[0m\n"
    )
    for v in views:
        cells = [" X " if other is v else f"NV{machine.THIS.nvlinks}" for other in views]
        cells += [_path(v.gpu.index, nic) for nic in nics]
        affinity = machine.cpu_list(machine.cpus_of_numa_node(v.gpu.numa_node))
        text += f"GPU{v.minor}\t" + "\t".join([*cells, affinity, str(v.gpu.numa_node)]) + "\t\tN/A\n"
    for number, nic in enumerate(nics):
        cells = [_path(v.gpu.index, nic) for v in views]
        cells += [" X " if nic == other else _path(nic, other, near="NODE") for other in nics]
        text += f"NIC{number}\t" + "\t".join(cells) + "\t\t\t\t\n"
    return text + _LEGEND + "".join(f"  NIC{n}: {machine.hca_name(i)}\n" for n, i in enumerate(nics)) + "\n"


def _path(slot: int, other: int, near: str = "PIX") -> str:
    if slot == other:
        return near
    return "NODE" if machine.numa_node_of_slot(slot) == machine.numa_node_of_slot(other) else "SYS"


def version_text(library: str, driver: str) -> str:
    """The output of `nvidia-smi --version`."""
    text = f"NVIDIA-SMI version  : {library}\nNVML version        : {library.rpartition('.')[0]}\nDRIVER version      : {driver or 'Not Found'}\n"
    return text + "Hardware            : simulated\n"
