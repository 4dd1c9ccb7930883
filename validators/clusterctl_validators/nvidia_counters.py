"""Error counters of NVIDIA GPUs: pure readers of `nvidia-smi -q -x` and `nvidia-smi nvlink -e`."""

import re
import xml.etree.ElementTree as ET
from typing import Dict, Mapping, Optional, Union

from clusterctl_validators.gpu import Gpu, UnreadableGpuError
from clusterctl_validators.nvidia_smi import parse_query

_GPU_HEADER = re.compile(r"\s*GPU (\d+):")
# Up to NVLink 4: `Link 0: CRC Errors: 0`. NVLink 5 has other names: `Link 0: FEC Errors - 3: 175`, `Link 0: Symbol BER: 15e-255`.
_LINK_COUNTER = re.compile(r"\s*Link (\d+): ([A-Za-z][A-Za-z0-9 -]*): (\d{1,20}(?:[eE]-?\d{1,3})?)\s*$")
# Since R560; microseconds since the driver was loaded. R535 called them clocks_throttle_reasons_counters.
_CLOCK_COUNTER = re.compile(r"clocks_(?:event|throttle)_reasons_counters_(\w+)$")


def gpu_counters(text: str) -> Dict[str, Dict[str, int]]:
    """`GPU <bus id>` -> counter -> value. Flags count 1 where they are set.

    Raises:
        UnreadableGpuError: as `parse_query`, or a GPU has no counter of a known name.
    """
    log = parse_query(text)
    if log.attached != len(log.gpus):
        raise UnreadableGpuError("nvidia-smi counts {} GPUs and describes {}".format(log.attached, len(log.gpus)), lost=True)
    elements = ET.fromstring(text).findall("gpu")  # noqa: S314 parsed once already
    found = {"GPU " + gpu.bus_id: _known({**_state(gpu), **_element(element)}) for gpu, element in zip(log.gpus, elements)}
    for device, counters in found.items():
        if not counters:
            raise UnreadableGpuError("nvidia-smi shows no known error counter of " + device)
    return found


def nvlink_counters(text: str) -> Dict[str, Dict[str, Union[int, float]]]:
    """`GPU <index> NVLink <number>` -> counter -> value; a bit error rate is a fraction.

    Raises:
        UnreadableGpuError: the output shows no counter of any link, or one that is no number of this world.
    """
    found: Dict[str, Dict[str, Union[int, float]]] = {}
    gpu = ""
    for line in text.splitlines():
        header, counter = _GPU_HEADER.match(line), _LINK_COUNTER.match(line)
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
        "remapped_rows": gpu.remapped_uncorrectable,
        "row_remap_pending": _flag(gpu.remap_pending),
        "row_remap_failure": _flag(gpu.remap_failure),
        "retired_pages": gpu.retired_pages,
        "page_retirement_pending": _flag(gpu.retirement_pending),
        "recovery_action": None if gpu.recovery_action is None else int(gpu.recovery_action != "None"),
    }


def _element(element: ET.Element) -> Dict[str, Optional[int]]:
    found: Dict[str, Optional[int]] = {"pcie_replays": _number(element.findtext("pci/replay_counter"))}
    for part in element.iter():
        clock = _CLOCK_COUNTER.match(part.tag)
        if clock:
            found[clock.group(1) + "_us"] = _number(part.text)
    return found


def _number(text: Optional[str]) -> Optional[int]:
    found = re.match(r"\s*(\d+)", text or "")
    return int(found.group(1)) if found else None


def _flag(word: Optional[str]) -> Optional[int]:
    return None if word is None else int(word == "Yes")


def _known(counters: Mapping[str, Optional[int]]) -> Dict[str, int]:
    return {name: value for name, value in counters.items() if value is not None}
