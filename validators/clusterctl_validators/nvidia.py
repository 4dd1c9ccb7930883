"""NVIDIA GPUs: `nvidia-smi`, XID and SXid lines of the kernel log, and NVIDIA's advice, behind the vendor-independent interface."""

from typing import Dict, List, Mapping, Sequence, Tuple, Union

from clusterctl_tools import nvidia_smi
from clusterctl_tools.gpu import GpuLog, UnreadableGpuError
from clusterctl_tools.nvlink_losses import losses_by_gpu
from clusterctl_validators import kernel_log, nvlink5_errors
from clusterctl_validators.boot_log import UnreadableLogError
from clusterctl_validators.gpu import GpuAdvice, GpuEvent, GpuEvents
from clusterctl_validators.kernel_log import XidEvent
from clusterctl_validators.probe import Probe
from clusterctl_validators.xid_catalogue import (
    HARMLESS,
    HINTS,
    LOST_DATA,
    OF_OLDER_LINKS,
    RECOVERY_CODE,
    REPEAT,
    Action,
    action_for,
    recovery_action,
)

_VENDOR = "0x10de"
_GPU_PCI_CLASSES = ("0x0300", "0x0302")
_TIMEOUT_S = 60
# What prints the error counters, of GPUs and of their NVLinks.
COUNTER_COMMANDS: Tuple[str, ...] = (" ".join(nvidia_smi.QUERY),)
LINK_COUNTER_COMMANDS: Tuple[str, ...] = (" ".join(nvidia_smi.NVLINK_COUNTERS),)
VERSION_COMMAND: Tuple[str, ...] = nvidia_smi.VERSION
# Vendor and class of a GPU's PCI function, as sysfs shows them.
PCI_FUNCTIONS = r"0x10de 0x03"
# Lines of the kernel log that are about a GPU or an NVSwitch.
LOG_PATTERN = r"NVRM: Xid|SXid \("

ADVICE = GpuAdvice(
    missing="check the kernel log for XID 79; power-cycle the node, reseat the GPU board, then RMA",
    fabric=(
        "CUDA fails with error 802 until this is Completed. NVSwitches on the board: check nvidia-fabricmanager, whose version must "
        "equal the driver's. NVSwitches in rack trays: these and their fabric manager (NMX) must be up first"
    ),
    links="reset all GPUs of the board, restart the fabric manager; if the links stay down, RMA the GPU or the board; where all trays of a rack lack the same links, the switch tray is at fault (NMX)",
    link_flaps=(
        "a link that is lost again and again fails for good in the middle of a job: drain the node, reset all GPUs of the board and restart the "
        "fabric manager; if it goes on, RMA the GPU or the board; where other trays of a rack have it too, the switch tray is at fault (NMX)"
    ),
    switch="an NVSwitch failed, which affects all GPUs of the board; drain, power-cycle the node, then RMA the board",
    persistence="run `clusterctl provision NODE`: the role nvidia_driver enables nvidia-persistenced",
    row_remap="reset {gpu} (reboot); if the row-remap failure flag stays set, RMA",
    stress="check the kernel log for XIDs of {gpu}; reset it, run `dcgmi diag -r 3`; RMA if it fails again",
    corruption="wrong results are silent data corruption: keep the node out of the pool, run `dcgmi diag -r 4`, replace the part that it names",
    slow_copy="check link width and generation of the GPU under load (`nvidia-smi -q -d PERFORMANCE`) and its NVLinks; reseat it",
    slow_copy_on_board=(
        "check the links between GPU and processor (`nvidia-smi c2c -s`): both are soldered to one board, so reboot the node; "
        "if the copies stay slow, RMA the board"
    ),
    slow_collective=(
        "check `nvidia-smi nvlink -s`, fabric manager and clocks; a node without NVLS reaches about three quarters of the bandwidth"
    ),
    wrong_domain=(
        "a tray that is reached over its adapters is not in the NVLink domain: check `nvidia-imex-ctl -N`, and Fabric in `nvidia-smi -q`, on each tray"
    ),
    unusable_domain=(
        "NCCL cannot use the NVLink between the trays: check `nvidia-imex-ctl -N` and /dev/nvidia-caps-imex-channels on each of them"
    ),
    refused_multicast=(
        "the NVSwitches refuse to reduce (NVLS): check the fabric manager (nvidia-fabricmanager on the node, NMX in a rack with NVSwitch trays), "
        "and SXids in the kernel log; NCCL_NVLS_ENABLE=0 would only hide it"
    ),
    no_sharp=(
        "check NCCL_COLLNET_ENABLE in /etc/nccl.conf, that NCCL finds the SHARP plug-in (`Loaded collnet plugin SHARP` in its log), "
        "and sharp_am of the subnet manager"
    ),
    fabric_not_ready="CUDA does not start before the NVLink fabric is up: check nvidia-fabricmanager, and Fabric in `nvidia-smi -q`",
)


class NvidiaReader:
    """A `GpuReader`."""

    tool = nvidia_smi.PROGRAM
    near_paths = frozenset({"PIX", "PXB"})
    advice = ADVICE

    def __init__(self, probe: Probe) -> None:
        self._probe = probe

    def query(self) -> GpuLog:
        """`nvidia-smi -q -x`."""
        return nvidia_smi.parse_query(self._smi(nvidia_smi.QUERY))

    def on_pci(self) -> List[str]:
        """Display and 3D controllers of NVIDIA; its NVSwitches are bridges."""
        vendors = self._probe.glob("/sys/bus/pci/devices/*/vendor")
        return [p.rpartition("/")[0] for p in vendors if self._probe.read(p) == _VENDOR and self._is_gpu(p)]

    def active_links(self) -> Dict[int, Dict[int, float]]:
        """NVLinks, by `nvidia-smi nvlink -s`."""
        return nvidia_smi.parse_nvlinks(self._smi(nvidia_smi.NVLINKS))

    def link_losses(self) -> Dict[int, Dict[int, int]]:
        """Recoveries of NVLinks, by `nvidia-smi nvlink -e`."""
        return losses_by_gpu(nvidia_smi.nvlink_counters(self._smi(nvidia_smi.NVLINK_COUNTERS)))

    def hca_paths(self) -> Dict[str, Dict[int, str]]:
        """`nvidia-smi topo -m`."""
        return nvidia_smi.parse_topology(self._smi(nvidia_smi.TOPOLOGY))

    def events(self) -> GpuEvents:
        """XIDs and SXids."""
        try:
            found = kernel_log.read(self._probe)
        except UnreadableLogError as e:
            raise UnreadableGpuError(str(e)) from e
        return _gpu_events(found)

    def ecc_command(self, index: int, enabled: bool) -> str:
        """The setting is in force after a reboot."""
        return " ".join(nvidia_smi.ecc_argv(index, enabled))

    def power_command(self, index: int, limit_w: float) -> str:
        """The setting is in force at once."""
        return " ".join(nvidia_smi.power_argv(index, limit_w))

    def _smi(self, argv: Sequence[str]) -> str:
        result = self._probe.run(argv, timeout_s=_TIMEOUT_S)
        if result.rc != 0:
            raise nvidia_smi.unreadable(nvidia_smi.explain(result.stdout, result.stderr, result.rc, result.error))
        return result.stdout

    def _is_gpu(self, vendor_file: str) -> bool:
        return (self._probe.read(vendor_file[: -len("vendor")] + "class") or "").startswith(_GPU_PCI_CLASSES)


def events_of(lines: Sequence[str]) -> GpuEvents:
    """XIDs and SXids in some lines of a kernel log, which may be none."""
    return _gpu_events(kernel_log.parse("\n".join(lines) or "-"))


def error_counters(outputs: Mapping[str, str]) -> Dict[str, Mapping[str, Union[int, float]]]:
    """Device -> error counter -> value, from the outputs of the counter commands. Raises UnreadableGpuError."""
    found: Dict[str, Mapping[str, Union[int, float]]] = {}
    for command, output in outputs.items():
        if command in COUNTER_COMMANDS:
            found.update(nvidia_smi.gpu_counters(output))
        elif command in LINK_COUNTER_COMMANDS:
            found.update(nvidia_smi.nvlink_counters(output))
    return found


def xid_action(code: int) -> Tuple[str, str]:
    """NVIDIA's action for an XID of which another tool than the kernel reports the number only: its name in the catalogue, and what to do, which may be empty."""
    action = Action.CHECK_MEMORY if code in LOST_DATA else action_for(code)
    return action.value, _hint(action)


def is_of_link(code: int) -> bool:
    """Whether an XID is about an NVLink of its GPU."""
    return code in OF_OLDER_LINKS | nvlink5_errors.CODES


def _hint(action: Action) -> str:
    return REPEAT if action is Action.RESTART_APP else HINTS.get(action, "")


def _gpu_events(found: kernel_log.KernelEvents) -> GpuEvents:
    return GpuEvents(tuple(_gpu_event(x) for x in found.xids), tuple(_switch_event(x) for x in found.sxids))


def _gpu_event(xid: XidEvent) -> GpuEvent:
    meaning = nvlink5_errors.decode(xid.code, xid.detail) if xid.code in nvlink5_errors.CODES else None
    if meaning:
        return _nvlink_event(xid, meaning)
    action = recovery_action(xid.detail) if xid.code == RECOVERY_CODE else action_for(xid.code)
    lost = xid.code in LOST_DATA
    advice = _hint(Action.CHECK_MEMORY if lost else action)
    suspects_application = action is Action.RESTART_APP and not lost
    return GpuEvent(
        xid.time,
        xid.pci,
        xid.code,
        xid.detail,
        action in HARMLESS,
        advice,
        suspects_application,
        lost,
        of_link=is_of_link(xid.code),
    )


def _nvlink_event(xid: XidEvent, meaning: nvlink5_errors.Meaning) -> GpuEvent:
    harmless = meaning.resolution is not nvlink5_errors.Resolution.RESET_GPU
    ignored = meaning.resolution is nvlink5_errors.Resolution.IGNORE and meaning.investigation is nvlink5_errors.Investigation.NONE
    advice = nvlink5_errors.advice(meaning)
    return GpuEvent(xid.time, xid.pci, xid.code, xid.detail, harmless, advice, notable=harmless and not ignored, of_link=True)


def _switch_event(sxid: XidEvent) -> GpuEvent:
    return GpuEvent(sxid.time, sxid.pci, sxid.code, sxid.detail, not kernel_log.is_fatal_sxid(sxid), ADVICE.switch)
