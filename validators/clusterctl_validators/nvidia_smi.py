"""Pure readers of nvidia-smi: `-q -x` (GPUs), `nvlink -s` (links), `topo -m` (paths between HCAs and GPUs)."""

import re
import xml.etree.ElementTree as ET
from functools import lru_cache
from typing import Dict, Optional, Tuple

from clusterctl_validators.gpu import EccCounts, Gpu, GpuLog, UnreadableGpuError

_LOST = re.compile(r"Unable to determine the device handle|GPU is lost|fallen off the bus|No devices were found", re.IGNORECASE)
_GPU_HEADER = re.compile(r"^GPU (\d+):")
_LINK = re.compile(r"^\s+Link (\d+): (\d+(?:\.\d+)?) GB/s\s*$")
_HISTOGRAM = "remapped_rows/row_remapper_histogram/row_remapper_histogram_"
_POWER_BRAKE = (
    "clocks_event_reasons/clocks_event_reason_hw_power_brake_slowdown",
    "clocks_throttle_reasons/clocks_throttle_reason_hw_power_brake_slowdown",
)
# What a healthy fabric shows (recorded GB200 and GB300 trays); degraded ones show `Degraded`, `True` or what is misconfigured.
_FABRIC_HEALTH = {
    "bandwidth": ("Full",),
    "route_recovery_in_progress": ("False",),
    "route_unhealthy": ("False",),
    "access_timeout_recovery": ("False",),
    "incorrect_configuration": ("None", "False"),
}
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def unreadable(reason: str) -> UnreadableGpuError:
    """The error for unusable output; some outputs report that a GPU is lost."""
    return UnreadableGpuError(reason, lost=bool(_LOST.search(reason)))


def explain(stdout: str, stderr: str, rc: Optional[int], error: str) -> str:
    """Why nvidia-smi failed, in one line: its own first line, or the reason why it did not run."""
    words = (stderr.strip() or stdout.strip()).splitlines()
    return error or "nvidia-smi exit {}: {}".format(rc, words[0] if words else "no output")


@lru_cache(maxsize=4)
def parse_query(text: str) -> GpuLog:
    """Parse the XML of `nvidia-smi -q -x` (drivers R450 to R595). Raises UnreadableGpuError if it is empty, truncated or not XML."""
    if not text.strip():
        raise unreadable("nvidia-smi printed nothing")
    try:
        root = ET.fromstring(text)  # noqa: S314 the tool of the vendor, run here as root
    except ET.ParseError as e:
        first = text.strip().splitlines()[0]
        raise unreadable(first if not first.startswith("<") else "the XML of nvidia-smi is truncated: {}".format(e)) from e
    if root.tag != "nvidia_smi_log":
        raise unreadable("not the XML of nvidia-smi -q -x: <{}>".format(root.tag))
    attached = _integer(root, "attached_gpus")
    version = _text(root, "driver_version")
    if attached is None or version is None:
        raise unreadable("nvidia-smi -q -x lacks the driver version or the number of attached GPUs")
    gpus = tuple(_gpu(i, element) for i, element in enumerate(root.findall("gpu")))
    return GpuLog(version, _text(root, "cuda_version") or "", attached, gpus)


def _text(element: ET.Element, *paths: str) -> Optional[str]:
    for path in paths:
        text = (element.findtext(path) or "").strip()
        if text and text not in ("N/A", "[N/A]", "Not Supported"):
            return text
    return None


def _integer(element: ET.Element, *paths: str) -> Optional[int]:
    number = _number(element, *paths)
    return None if number is None else int(number)


def _number(element: ET.Element, *paths: str) -> Optional[float]:
    found = re.match(r"-?\d+(\.\d+)?", _text(element, *paths) or "")
    return float(found.group(0)) if found else None


def _sum(element: ET.Element, *paths: str) -> Optional[int]:
    parts = [n for n in (_integer(element, p) for p in paths) if n is not None]
    return sum(parts) if parts else None


def _ecc(gpu: ET.Element, kind: str) -> EccCounts:
    at = "ecc_errors/" + kind + "/"
    sram = _sum(gpu, at + "sram_uncorrectable", at + "sram_uncorrectable_parity", at + "sram_uncorrectable_secded")
    # Volta and older count memory errors as single and double bit.
    dram_ce = _integer(gpu, at + "dram_correctable", at + "single_bit/device_memory")
    dram_ue = _integer(gpu, at + "dram_uncorrectable", at + "double_bit/device_memory")
    return EccCounts(_integer(gpu, at + "sram_correctable", at + "single_bit/total"), sram, dram_ce, dram_ue)


def _compute_processes(gpu: ET.Element) -> Optional[int]:
    """Compute processes, without those that only use graphics."""
    element = gpu.find("processes")
    if element is None or (element.text or "").strip() == "N/A":
        return None
    return sum("C" in (p.findtext("type") or "C") for p in element.findall("process_info"))


def _gpu(index: int, gpu: ET.Element) -> Gpu:
    link = "pci/pci_gpu_link_info/"
    retired = "retired_pages/"
    return Gpu(
        index=index,
        bus_id=gpu.get("id", ""),
        serial=_text(gpu, "serial") or "",
        model=_text(gpu, "product_name") or "",
        architecture=_text(gpu, "product_architecture"),
        vbios=_text(gpu, "vbios_version") or "",
        memory_mib=_integer(gpu, "fb_memory_usage/total"),
        persistence=_text(gpu, "persistence_mode"),
        ecc_current=_text(gpu, "ecc_mode/current_ecc"),
        ecc_pending=_text(gpu, "ecc_mode/pending_ecc"),
        pcie_gen_max=_integer(gpu, link + "pcie_gen/max_link_gen"),
        pcie_width_current=_integer(gpu, link + "link_widths/current_link_width"),
        pcie_width_max=_integer(gpu, link + "link_widths/max_link_width"),
        mig_current=_text(gpu, "mig_mode/current_mig"),
        mig_pending=_text(gpu, "mig_mode/pending_mig"),
        gsp_firmware=_text(gpu, "gsp_firmware_version"),
        power_limit_w=_number(gpu, "gpu_power_readings/current_power_limit", "power_readings/enforced_power_limit"),
        power_min_w=_number(gpu, "gpu_power_readings/min_power_limit", "power_readings/min_power_limit"),
        power_max_w=_number(gpu, "gpu_power_readings/max_power_limit", "power_readings/max_power_limit"),
        fabric_state=_text(gpu, "fabric/state"),
        fabric_status=_text(gpu, "fabric/status"),
        fabric_clique=_text(gpu, "fabric/cliqueId"),
        fabric_cluster=_text(gpu, "fabric/clusterUuid"),
        fabric_health=_text(gpu, "fabric/health/summary"),
        volatile=_ecc(gpu, "volatile"),
        aggregate=_ecc(gpu, "aggregate"),
        sram_threshold_exceeded=_text(gpu, "ecc_errors/aggregate/sram_threshold_exceeded"),
        remapped_uncorrectable=_integer(gpu, "remapped_rows/remapped_row_unc"),
        remap_pending=_text(gpu, "remapped_rows/remapped_row_pending"),
        remap_failure=_text(gpu, "remapped_rows/remapped_row_failure"),
        banks_without_rows=_integer(gpu, _HISTOGRAM + "none"),
        banks_with_few_rows=_integer(gpu, _HISTOGRAM + "low"),
        power_brake=_text(gpu, *_POWER_BRAKE),
        fabric_problems=_fabric_problems(gpu),
        retired_pages=_sum(gpu, retired + "multiple_single_bit_retirement/retired_count", retired + "double_bit_retirement/retired_count"),
        retirement_pending=_text(gpu, retired + "pending_retirement"),
        recovery_action=_text(gpu, "gpu_recovery_action"),
        compute_processes=_compute_processes(gpu),
    )


def _fabric_problems(gpu: ET.Element) -> str:
    shown = {name: _text(gpu, "fabric/health/" + name) for name in _FABRIC_HEALTH}
    return ", ".join("{} {}".format(n, text) for n, text in shown.items() if text not in (None, *_FABRIC_HEALTH[n], "Not Supported"))


def parse_nvlinks(text: str) -> Dict[int, Dict[int, float]]:
    """GPU index -> active NVLink -> GB/s in one direction, from `nvidia-smi nvlink -s`. Raises UnreadableGpuError if no GPU is listed.

    A link that is down has a word in place of a rate: `<inactive>`, or `inActive` on Blackwell.
    """
    active: Dict[int, Dict[int, float]] = {}
    gpu = -1
    for line in text.splitlines():
        header, link = _GPU_HEADER.match(line), _LINK.match(line)
        if header:
            gpu = int(header.group(1))
            active[gpu] = {}
        elif link and gpu >= 0:
            active[gpu][int(link.group(1))] = float(link.group(2))
    if not active:
        raise unreadable("nvidia-smi nvlink -s lists no GPU")
    return active


def parse_topology(text: str) -> Dict[str, Dict[int, str]]:
    """HCA -> GPU index -> path (`PIX`, `PXB`, `PHB`, `NODE`, `SYS`) from `nvidia-smi topo -m`. Raises UnreadableGpuError if no GPU is listed."""
    columns: Tuple[str, ...] = ()
    rows: Dict[str, Tuple[str, ...]] = {}
    names: Dict[str, str] = {}
    for raw in text.splitlines():
        line = _ANSI.sub("", raw).strip()
        words = tuple(line.split())
        if not columns:
            columns = tuple(w for w in words if re.match(r"(GPU|NIC|mlx5_)\S*\d+$", w)) if line.startswith("GPU0") else ()
        elif re.match(r"NIC\d+: \S+$", line):
            names[words[0].rstrip(":")] = words[1]
        elif words and re.match(r"(GPU\d+|NIC\d+|mlx5_\S+)$", words[0]):
            rows[words[0]] = words[1:]
    if not columns:
        raise unreadable("nvidia-smi topo -m lists no GPU")
    gpus = {int(c[3:]): i for i, c in enumerate(columns) if c.startswith("GPU")}
    return {
        names.get(row, row): {g: cells[i] for g, i in gpus.items() if i < len(cells)} for row, cells in rows.items() if row[:3] != "GPU"
    }
