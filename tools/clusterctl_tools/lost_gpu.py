"""How nvidia-smi reports a GPU that is lost: in a message in place of its output, or in the output in place of the GPU's values."""

import re
import xml.etree.ElementTree as ET
from typing import List

from .gpu import UnreadableGpuError

_LOST = re.compile(r"Unable to determine the device handle|GPU is lost|fallen off the bus|No devices were found", re.IGNORECASE)
# `GPU1: 0000:02:00.0` and `GPU0000:01:00.0`, by version
_LOST_ADDRESS = re.compile(r"device handle for GPU ?(?:\d+: )?([0-9a-fA-F]{4,8})(:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])")
# NVML_ERROR_GPU_IS_LOST as nvmlErrorString has it.
_VALUE = "GPU is lost"


def from_message(reason: str) -> UnreadableGpuError:
    """The error for unusable output."""
    named = _LOST_ADDRESS.search(reason)
    address = (named[1].zfill(8) + named[2]).upper() if named else ""  # as `-q -x` prints it
    return UnreadableGpuError(reason, lost=bool(_LOST.search(reason)), address=address)


def refuse_lost(gpus: List[ET.Element]) -> None:
    """Raises UnreadableGpuError if one of the GPUs of `-q -x` is lost: values that do not come from it are printed as before (NVIDIA/k8s-test-infra 3b2b865d)."""
    for index, gpu in enumerate(gpus):
        if any((part.text or "").strip() == _VALUE for part in gpu.iter()):
            address = gpu.get("id", "")
            reason = "nvidia-smi prints {!r} in place of values of GPU {} at {}".format(_VALUE, index, address or "an unknown address")
            raise UnreadableGpuError(reason, lost=True, address=address)
