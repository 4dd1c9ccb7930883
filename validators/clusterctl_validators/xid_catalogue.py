"""The action for each XID: NVIDIA's XID catalogue as data. An XID that is not listed fails, with support as its action."""

import re
from enum import Enum
from typing import Dict, FrozenSet, Tuple


class Action(str, Enum):
    """The catalogue's immediate actions, with its `workflow` entries distinguished."""

    IGNORE = "IGNORE"
    RESTART_APP = "RESTART_APP"
    SEE_EARLIER_XID = "SEE_EARLIER_XID"
    RESET_GPU = "RESET_GPU"
    RESTART_BM = "RESTART_BM"
    RESTART_VM = "RESTART_VM"
    CHECK_MECHANICALS = "CHECK_MECHANICALS"
    UPDATE_SWFW = "UPDATE_SWFW"
    CHECK_UVM = "CHECK_UVM"
    CHECK_MEMORY = "CHECK_MEMORY"
    CHECK_NVLINK = "CHECK_NVLINK"
    DRAIN_P2P = "DRAIN_P2P"
    ACTION_IN_MESSAGE = "ACTION_IN_MESSAGE"
    CONTACT_SUPPORT = "CONTACT_SUPPORT"


HARMLESS: FrozenSet[Action] = frozenset({Action.IGNORE, Action.RESTART_APP, Action.SEE_EARLIER_XID})

# Contained uncorrectable memory errors: the application lost data, and the row is remapped at the next reset (NVIDIA GPU Memory Error Management).
LOST_DATA: FrozenSet[int] = frozenset({94})
# NVLink up to generation 4, and errors of any that software defines; those of generation 5 are in nvlink5_errors.
OF_OLDER_LINKS: FrozenSet[int] = frozenset({74, 155})
# The driver's own recommendation, in the line (nvmlDeviceGpuRecoveryAction_t).
RECOVERY_CODE = 154
REPEAT = "a tool that is known to work raised it, so the application is not the first suspect: burn in again; if it returns, run `dcgmi diag -r 3`"

HINTS: Dict[Action, str] = {
    Action.RESET_GPU: "drain the node, reset the GPU (nvidia-smi --gpu-reset -i ID), then burn in again",
    Action.RESTART_BM: "reboot the node; if it recurs, power it off, reseat the GPU board and burn in; then RMA",
    Action.RESTART_VM: "restart the virtual machine",
    Action.CHECK_MECHANICALS: "check the auxiliary power cables and the seating of the GPU board",
    Action.UPDATE_SWFW: "bring driver and firmware to the declared versions",
    Action.CHECK_UVM: "reset the GPU; if it recurs, send the output of nvidia-bug-report.sh to NVIDIA support",
    Action.CHECK_MEMORY: "reset the GPU to apply the row remapping, then check row_remap; RMA if the remapping failed",
    Action.CHECK_NVLINK: "drain the node and check for SXid lines and link errors at the same time (nvidia-smi nvlink -e); reset, then RMA the board",
    Action.DRAIN_P2P: "end all programs that use NVLink of the GPU (in a rack with NVSwitch trays: of its whole domain), then burn in again",
    Action.ACTION_IN_MESSAGE: "follow the action in the last brackets of the log line",
    Action.CONTACT_SUPPORT: "drain the node and send the output of nvidia-bug-report.sh to NVIDIA support",
}

# By their numbers (nvmlDeviceGpuRecoveryAction_t, NVML API reference; gpu.c of open-gpu-kernel-modules 595.45.04 logs them), which all drivers share: 1 is
# "GPU Reset Required" up to R595 and "PF FLR" in R610, 2 is "Node Reboot Required" and "OS Reboot". 5, the IMEX domain, and 6, the PCIe bus, are as logged.
_RECOVERIES: Dict[int, Action] = {
    0: Action.IGNORE,
    1: Action.RESET_GPU,
    2: Action.RESTART_BM,
    3: Action.DRAIN_P2P,
    4: Action.RESET_GPU,
    7: Action.RESTART_BM,
}
_NEW_RECOVERY = re.compile(r" to 0x([0-9a-fA-F]{1,8}) \([^)]*\)\s*$")

_CODES: Tuple[Tuple[Action, str], ...] = (
    (Action.RESTART_APP, "8 11 13 25 31 32 39 40 41 60 68-72 75-77 80 82-86 88 89 94 96-105 126-135 139"),
    (Action.RESET_GPU, "46 62 64 95 109 110 119 120 136 140 143 155 156 158"),
    (Action.RESTART_BM, "79"),
    (Action.RESTART_VM, "151"),
    (Action.CHECK_MECHANICALS, "54"),
    (Action.UPDATE_SWFW, "78"),
    (Action.CHECK_UVM, "159"),
    (Action.SEE_EARLIER_XID, "45"),
    (Action.CHECK_MEMORY, "48 171 172"),
    (Action.CHECK_NVLINK, "74 144-150"),
    (Action.ACTION_IN_MESSAGE, "154"),
    (Action.IGNORE, "14 37 38 43 44 63 66 67 92 93 106-108 121 137 141 152 153 157 160-163"),
    (Action.CONTACT_SUPPORT, "142 164-170"),
)


def _expand(codes: str) -> Tuple[int, ...]:
    ends = [tuple(int(n) for n in part.split("-")) for part in codes.split()]
    return tuple(code for end in ends for code in range(end[0], end[-1] + 1))


CATALOGUE: Dict[int, Action] = {code: action for action, codes in _CODES for code in _expand(codes)}


def action_for(code: int) -> Action:
    """The action; CONTACT_SUPPORT for a code that the catalogue does not list."""
    return CATALOGUE.get(code, Action.CONTACT_SUPPORT)


def recovery_action(detail: str) -> Action:
    """The action that XID 154 recommends; ACTION_IN_MESSAGE where its number is unknown."""
    found = _NEW_RECOVERY.search(detail)
    return _RECOVERIES.get(int(found.group(1), 16), Action.ACTION_IN_MESSAGE) if found else Action.ACTION_IN_MESSAGE
