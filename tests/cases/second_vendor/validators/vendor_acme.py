"""GPUs of ACME, a vendor of a test: three commands."""

import json
from typing import Dict, FrozenSet, List, Mapping, Sequence, Union

from clusterctl_tools.gpu import Gpu, GpuLog, GpuPart, UnreadableGpuError
from clusterctl_validators.gpu import GpuAdvice, GpuEvent, GpuEvents, GpuVendor
from clusterctl_validators.probe import Probe

LIST = ("acme-smi", "list", "--json")
COUNTERS = "acme-smi counters --json"
ADVICE = GpuAdvice(
    missing="reseat the board of {gpu}", fabric="restart acme-fabricd", links="check the bridge", switch="replace the bridge"
)


class AcmeReader:
    """Reads `acme-smi list`."""

    tool = "acme-smi"
    near_paths: FrozenSet[str] = frozenset({"local"})
    advice = ADVICE

    def __init__(self, probe: Probe) -> None:
        self._probe = probe

    def query(self) -> GpuLog:
        result = self._probe.run(list(LIST))
        if result.rc != 0:
            raise UnreadableGpuError(result.error or result.stderr)
        found = json.loads(result.stdout)
        gpus = tuple(Gpu(g["id"], g["pci"], g["serial"], g["model"], memory_mib=g["memory_mib"]) for g in found["gpus"])
        return GpuLog(found["driver"], "", len(gpus), gpus)

    def on_pci(self) -> List[str]:
        return [gpu.bus_id for gpu in self.query().gpus]

    def active_links(self) -> Dict[int, Dict[int, float]]:
        return {}

    def link_losses(self) -> Dict[int, Dict[int, int]]:
        return {}

    def hca_paths(self) -> Dict[str, Dict[int, str]]:
        return {}

    def events(self) -> GpuEvents:
        return GpuEvents((), ())

    def ecc_command(self, index: int, enabled: bool) -> str:
        return "acme-smi ecc {} {}".format(index, enabled)

    def power_command(self, index: int, limit_w: float) -> str:
        return "acme-smi power {} {}".format(index, limit_w)


def read_parts(text: str) -> List[GpuPart]:
    """From `acme-smi list`."""
    return [GpuPart(g["id"], g["pci"], g["model"], g["serial"]) for g in json.loads(text)["gpus"]]


def error_counters(outputs: Mapping[str, str]) -> Dict[str, Mapping[str, Union[int, float]]]:
    """From `acme-smi counters`."""
    found: Dict[str, Mapping[str, Union[int, float]]] = json.loads(outputs[COUNTERS]) if COUNTERS in outputs else {}
    return found


def events_of(lines: Sequence[str]) -> GpuEvents:
    """`acme: fault <address>`."""
    faults = [line for line in lines if "acme: fault" in line]
    return GpuEvents(tuple(GpuEvent("", line.split()[-1], 7, line, False, "replace the board") for line in faults), ())


VENDOR = GpuVendor(
    name="acme",
    reader=AcmeReader,
    counter_commands=(COUNTERS,),
    link_counter_commands=(),
    version_command=("acme-smi", "version"),
    log_pattern="acme: fault",
    compute_devices=("/dev/acme0",),
    services=("acme-fabricd",),
    parts_command=LIST,
    read_parts=read_parts,
    error_counters=error_counters,
    events_of=events_of,
)
