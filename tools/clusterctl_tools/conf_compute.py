"""`nvidia-smi conf-compute -q`: whether GPUs compute confidentially, and whether they take work.

Outputs: NVIDIA's guides for confidential computing, and outputs of R550 to R595 in public repositories; a GPU without the feature: `No CC capable devices found`,
exit 6 (google/go-tpm-tools pull 542). The mode is stored in the GPU, so it outlives a reboot and the operating system (README of NVIDIA/gpu-admin-tools).
"""

import re
from dataclasses import dataclass
from typing import Sequence

# Assumed: these rows of -q on bare metal; public ones are of confidential VMs, of H20 (R595, off) and of Protected PCIe on H100.
QUERY = ("nvidia-smi", "conf-compute", "-q")
# Of the driver, where the mode is on and the processor has nothing like it: the GPU is not attached (NVIDIA/open-gpu-kernel-modules, conf_compute.c).
REFUSED = re.compile(r"NVRM: .*CPU does not support confidential compute")
_ROW = re.compile(r"^\s*(CC State|Multi-GPU Mode|CC GPUs Ready State)\s*:\s*(.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class ConfCompute:
    """What the driver reports; empty where it does not.

    Attributes:
        state: `ON` or `OFF`.
        multi_gpu: `Protected PCIe` and the like; `None` without such a mode. R550 and later print it.
        ready: `Ready` or `Not Ready`: then CUDA fails with error 802 (NVIDIA/nvtrust issues 39, 56, 87).
    """

    state: str = ""
    multi_gpu: str = ""
    ready: str = ""

    @property
    def enabled(self) -> str:
        """The modes that are on, as text; empty if none is."""
        modes = ["CC State ON"] if self.state == "ON" else []
        return ", ".join([*modes, *(["Multi-GPU Mode " + self.multi_gpu] if self.multi_gpu not in ("", "None", "N/A") else [])])


def parse_conf_compute(text: str) -> ConfCompute:
    """The rows of the query; all empty where the GPUs or the driver have no such feature."""
    rows = dict(_ROW.findall(text))
    return ConfCompute(rows.get("CC State", ""), rows.get("Multi-GPU Mode", ""), rows.get("CC GPUs Ready State", ""))


def turn_off_argv(address: str) -> Sequence[str]:
    """The command of NVIDIA/gpu-admin-tools that turns the mode of one GPU off; the driver must not use the GPU."""
    return ["nvidia_gpu_tools.py", "--gpu-bdf=" + address, "--set-cc-mode=off", "--reset-after-cc-mode-switch"]
