"""nvidia-smi: GPUs (`-q -x`), rows of chosen fields (`--query-gpu`), links (`nvlink -s`), error counters (`nvlink -e`), paths to HCAs (`topo -m`)."""

import re
import xml.etree.ElementTree as ET
from functools import lru_cache
from typing import Dict, List, Optional, Sequence, Tuple, Union

from .gpu import EccCounts, Gpu, GpuLog, GpuPart, GpuUnderLoad, UnreadableGpuError
from .lost_gpu import from_message, refuse_lost

PROGRAM = "nvidia-smi"
QUERY = (PROGRAM, "-q", "-x")
NVLINKS = (PROGRAM, "nvlink", "-s")
NVLINK_COUNTERS = (PROGRAM, "nvlink", "-e")
TOPOLOGY = (PROGRAM, "topo", "-m")
VERSION = (PROGRAM, "--version")
PART_FIELDS = ("index", "pci.bus_id", "serial", "name")

# counters have 64 bits
_NUMBER = re.compile(r"-?\d{1,20}(?!\d)(\.\d+)?")
_INDEX = re.compile(r"[0-9]{1,9}")
_GPU_HEADER = re.compile(r"^GPU (\d+):")
_LINK = re.compile(r"^\s+Link (\d+): (\d+(?:\.\d+)?) GB/s\s*$")
# R610 writes it behind the value of a field that it will drop: `610.57.04 [Deprecated; ... Use KMD Version instead]`.
_DEPRECATED = re.compile(r"\s*\[Deprecated[^\]]*\]\s*$")
_CEILING = "gpu_power_readings/gpu_ceiling_power_limit/"
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
_GPU_OF_LINKS = re.compile(r"\s*GPU (\d+):")
# Up to NVLink 4: `Link 0: CRC Errors: 0`. NVLink 5 has other names: `Link 0: FEC Errors - 3: 175`, `Link 0: Symbol BER: 15e-255`.
_LINK_COUNTER = re.compile(r"\s*Link (\d+): ([A-Za-z][A-Za-z0-9 -]*): (\d{1,20}(?:[eE]-?\d{1,3})?)\s*$")
# Since R560; microseconds since the driver was loaded. R535 called them clocks_throttle_reasons_counters.
_CLOCK_COUNTER = re.compile(r"clocks_(?:event|throttle)_reasons_counters_(\w+)$")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
# Azure's thermal test reads the same (ai-infrastructure-on-azure@a01b073, thermal_test.sh); `clocks_event_reasons` was `clocks_throttle_reasons` before R535.
_LOAD_FIELDS = (
    "index",
    "pci.bus_id",
    "clocks.sm",
    "power.draw",
    "enforced.power.limit",
    "temperature.gpu",
    "temperature.gpu.tlimit",
    "temperature.memory",
    "clocks_event_reasons.active",
)
# nvml.h, nvmlClocksEventReasons: bits that a healthy GPU does not show, whatever its load. 0x4, the software power cap, is normal under load.
_HEAT_BIT, _BRAKE_BIT = 0x40, 0x80
_SLOWDOWNS = {0x8: "HW slowdown", _HEAT_BIT: "HW thermal slowdown", _BRAKE_BIT: "HW power brake slowdown"}
# Assumed: locked clocks (-lgc) set 0x2 (nvml.h: ApplicationsClocksSetting, before that UserDefinedClocks) as -ac does; recorded GPUs under load have 0x0 or 0x4.
_IDLE, _USER_CLOCKS, _SW_THERMAL = 0x1, 0x2, 0x20


def fields_argv(fields: Sequence[str], units: bool = True) -> List[str]:
    """The command that prints one row of these fields per GPU, which `parse_row` reads."""
    return [PROGRAM, "--query-gpu=" + ",".join(fields), "--format=csv,noheader" + ("" if units else ",nounits")]


def load_argv(index: Optional[int] = None) -> List[str]:
    """The command whose output `parse_load` reads; about one GPU only, where it is named."""
    argv = fields_argv(_LOAD_FIELDS, units=False)
    return argv if index is None else [*argv, "-i", str(index)]


def parse_load(text: str) -> List[GpuUnderLoad]:
    """The GPUs of one output of `load_argv`. Raises UnreadableGpuError if it is none."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise unreadable("nvidia-smi printed nothing")
    found = []
    for line in lines:
        row = parse_row(line, _LOAD_FIELDS)
        index, bits = row["index"], row["clocks_event_reasons.active"]
        if not re.match(r"\d{1,3}$", index) or not re.match(r"0x[0-9a-fA-F]{1,16}$", bits):
            raise unreadable("nvidia-smi printed {!r}, which is not a row of a GPU".format(line))
        reasons = int(bits, 16)
        clock, power, limit, temperature, margin, memory = (_plain_number(row[name]) for name in _LOAD_FIELDS[2:-1])
        slowdowns = tuple(name for bit, name in _SLOWDOWNS.items() if reasons & bit)
        idle, held_back = bool(reasons & _IDLE), bool(reasons & _SW_THERMAL)
        braked = bool(reasons & _BRAKE_BIT) and not reasons & _HEAT_BIT
        bus, locked = row["pci.bus_id"], bool(reasons & _USER_CLOCKS)
        found.append(
            GpuUnderLoad(int(index), bus, clock, power, limit, temperature, margin, memory, slowdowns, idle, held_back, braked, locked)
        )
    if len({gpu.index for gpu in found}) < len(found):
        raise unreadable("nvidia-smi printed a GPU twice")
    return found


def _plain_number(cell: str) -> Optional[float]:
    return float(cell) if re.match(r"-?\d{1,7}(\.\d{1,6})?$", cell) else None


def ecc_argv(index: int, enabled: bool) -> List[str]:
    """The command that sets ECC of a GPU; in force after a reboot."""
    return [PROGRAM, "-i", str(index), "-e", str(int(enabled))]


def power_argv(index: int, limit_w: float) -> List[str]:
    """The command that sets the power limit of a GPU; in force at once."""
    return [PROGRAM, "-i", str(index), "-pl", "{:.0f}".format(limit_w)]


def unreadable(reason: str) -> UnreadableGpuError:
    """The error for unusable output; some outputs report that a GPU is lost."""
    return from_message(reason)


def explain(stdout: str, stderr: str, rc: Optional[int], error: str) -> str:
    """Why nvidia-smi failed, in one line: its own first line, or the reason why it did not run."""
    words = (stderr.strip() or stdout.strip()).splitlines()
    return error or "nvidia-smi exit {}: {}".format(rc, words[0] if words else "no output")


def parse_row(line: str, fields: Sequence[str]) -> Dict[str, str]:
    """Field -> value as printed, from one line of `fields_argv`. Raises UnreadableGpuError if the line has another number of columns."""
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != len(fields):
        raise unreadable("nvidia-smi printed {!r}, which is not a row of a GPU".format(line))
    return dict(zip(fields, cells))


def parse_parts(text: str) -> List[GpuPart]:
    """From rows of `PART_FIELDS`; any other line is left out. nvidia-smi writes a PCI domain of eight digits, sysfs one of four."""
    found = []
    for line in text.splitlines():
        try:
            row = parse_row(line, PART_FIELDS)
        except UnreadableGpuError:
            continue
        if _INDEX.fullmatch(row["index"]):
            bus_id = re.sub("^0000(?=[0-9a-f]{4}:)", "", row["pci.bus_id"].lower())
            found.append(GpuPart(int(row["index"]), bus_id, row["name"], row["serial"]))
    return found


def reported(cell: str) -> str:
    """The value of a cell; empty if the GPU does not have it."""
    return "" if "N/A" in cell or cell == "[Not Supported]" else cell


@lru_cache(maxsize=4)
def parse_query(text: str) -> GpuLog:
    """Parse the XML of `nvidia-smi -q -x` (drivers R450 to R595). Raises UnreadableGpuError if it is empty, truncated or not XML, or if a GPU is lost."""
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
    version = _text(root, "kmd_version", "driver_version")
    if attached is None or version is None:
        raise unreadable("nvidia-smi -q -x lacks the driver version or the number of attached GPUs")
    refuse_lost(root.findall("gpu"))
    gpus = tuple(_gpu(i, element) for i, element in enumerate(root.findall("gpu")))
    return GpuLog(version, _text(root, "cuda_umd_version", "cuda_version") or "", attached, gpus)


def _text(element: ET.Element, *paths: str) -> Optional[str]:
    for path in paths:
        text = _DEPRECATED.sub("", element.findtext(path) or "").strip()
        if text and text not in ("N/A", "[N/A]", "Not Supported"):
            return text
    return None


def _integer(element: ET.Element, *paths: str) -> Optional[int]:
    number = _number(element, *paths)
    return None if number is None else int(number)


def _number(element: ET.Element, *paths: str) -> Optional[float]:
    found = _NUMBER.match(_text(element, *paths) or "")
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


def _power_limit_at(kind: str) -> Tuple[str, str]:
    """Where drivers up to R595 print a power limit, and R610."""
    return "gpu_power_readings/{}_power_limit".format(kind), "{}{}_power_limit".format(_CEILING, kind)


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
        power_limit_w=_number(gpu, *_power_limit_at("current"), "power_readings/enforced_power_limit"),
        power_min_w=_number(gpu, *_power_limit_at("min"), "power_readings/min_power_limit"),
        power_max_w=_number(gpu, *_power_limit_at("max"), "power_readings/max_power_limit"),
        fabric_state=_text(gpu, "fabric/state"),
        fabric_status=_text(gpu, "fabric/status"),
        fabric_clique=_text(gpu, "fabric/cliqueId"),
        fabric_cluster=_text(gpu, "fabric/clusterUuid"),
        fabric_health=_fabric_health(gpu),
        volatile=_ecc(gpu, "volatile"),
        aggregate=_ecc(gpu, "aggregate"),
        sram_threshold_exceeded=_text(gpu, "ecc_errors/aggregate/sram_threshold_exceeded"),
        remapped_uncorrectable=_integer(gpu, "remapped_rows/remapped_row_unc"),
        remap_pending=_text(gpu, "remapped_rows/remapped_row_pending"),
        remap_failure=_text(gpu, "remapped_rows/remapped_row_failure"),
        banks_without_rows=_integer(gpu, _HISTOGRAM + "none"),
        banks_with_few_rows=_integer(gpu, _HISTOGRAM + "low"),
        channel_repair_pending=_text(gpu, "ecc_errors/channel_repair_pending"),
        tpc_repair_pending=_text(gpu, "ecc_errors/tpc_repair_pending"),
        unrepairable_memory=_text(gpu, "ecc_errors/unrepairable_memory"),
        power_brake=_text(gpu, *_POWER_BRAKE),
        fabric_problems=_fabric_problems(gpu),
        retired_pages=_sum(gpu, retired + "multiple_single_bit_retirement/retired_count", retired + "double_bit_retirement/retired_count"),
        retirement_pending=_text(gpu, retired + "pending_retirement"),
        recovery_action=_text(gpu, "gpu_recovery_action"),
        compute_processes=_compute_processes(gpu),
        compute_mode=_text(gpu, "compute_mode"),
        power_profiles=_text(gpu, "power_profiles/power_profile_requested_profiles"),
    )


def _fabric_health(gpu: ET.Element) -> Optional[str]:
    """The summary; drivers before R580 print only its parts (575.51.02), so there it is theirs. Assumed: in the words of R580."""
    by_parts = gpu.find("fabric/health/summary") is None and any(_text(gpu, "fabric/health/" + name) for name in _FABRIC_HEALTH)
    return ("Unhealthy" if _fabric_problems(gpu) else "Healthy") if by_parts else _text(gpu, "fabric/health/summary")


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


def gpu_counters(text: str) -> Dict[str, Dict[str, int]]:
    """`GPU <bus id>` -> counter -> value. Flags count 1 where they are set.

    Raises:
        UnreadableGpuError: as `parse_query`, or a GPU has no counter of a known name.
    """
    log = parse_query(text)
    if log.attached != len(log.gpus):
        raise UnreadableGpuError("nvidia-smi counts {} GPUs and describes {}".format(log.attached, len(log.gpus)), lost=True)
    elements = ET.fromstring(text).findall("gpu")  # noqa: S314 parsed once already
    shown = {"GPU " + gpu.bus_id: {**_state(gpu), **_element(element)} for gpu, element in zip(log.gpus, elements)}
    found = {device: {name: value for name, value in own.items() if value is not None} for device, own in shown.items()}
    for device, counters in found.items():
        if not counters:
            raise UnreadableGpuError("nvidia-smi shows no known error counter of " + device)
    return found


def nvlink_counters(text: str) -> Dict[str, Dict[str, Union[int, float]]]:
    """`GPU <index> NVLink <number>` -> counter -> value; a bit error rate is a fraction.

    Raises:
        UnreadableGpuError: the output shows no counter of any link, or one that is not finite.
    """
    found: Dict[str, Dict[str, Union[int, float]]] = {}
    gpu = ""
    for line in text.splitlines():
        header, counter = _GPU_OF_LINKS.match(line), _LINK_COUNTER.match(line)
        if header:
            gpu = header.group(1)
        elif counter and gpu:
            name = "nvlink_" + "_".join(re.findall("[a-z0-9]+", counter.group(2).lower()))
            found.setdefault("GPU {} NVLink {}".format(gpu, counter.group(1)), {})[name] = _link_value(counter.group(3))
    if not found:
        raise UnreadableGpuError("nvidia-smi shows no error counter of any NVLink")
    return found


def _link_value(text: str) -> Union[int, float]:
    value = int(text) if text.isdigit() else float(text)
    if value == float("inf"):
        raise UnreadableGpuError("nvidia-smi nvlink -e shows {}".format(text))
    return value


def _state(gpu: Gpu) -> Dict[str, Optional[int]]:
    return {
        "ecc_sram_uncorrectable": gpu.volatile.sram_uncorrectable,
        "ecc_dram_uncorrectable": gpu.volatile.dram_uncorrectable,
        "ecc_sram_correctable": gpu.volatile.sram_correctable,
        "ecc_dram_correctable": gpu.volatile.dram_correctable,
        "ecc_dram_uncorrectable_aggregate": gpu.aggregate.dram_uncorrectable,
        "remapped_rows": gpu.remapped_uncorrectable,
        "row_remap_pending": _flag(gpu.remap_pending),
        "row_remap_failure": _flag(gpu.remap_failure),
        "channel_repair_pending": _flag(gpu.channel_repair_pending),
        "tpc_repair_pending": _flag(gpu.tpc_repair_pending),
        "unrepairable_memory": _flag(gpu.unrepairable_memory),
        "retired_pages": gpu.retired_pages,
        "page_retirement_pending": _flag(gpu.retirement_pending),
        "recovery_action": None if gpu.recovery_action is None else int(gpu.recovery_action != "None"),
    }


def _element(element: ET.Element) -> Dict[str, Optional[int]]:
    found: Dict[str, Optional[int]] = {"pcie_replays": _whole(element.findtext("pci/replay_counter"))}
    for part in element.iter():
        clock = _CLOCK_COUNTER.match(part.tag)
        if clock:
            found[clock.group(1) + "_us"] = _whole(part.text)
    return found


def _whole(text: Optional[str]) -> Optional[int]:
    found = re.match(r"\s*(\d+)", text or "")
    return int(found.group(1)) if found else None


def _flag(word: Optional[str]) -> Optional[int]:
    return None if word is None else int(word == "Yes")
