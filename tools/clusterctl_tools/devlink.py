"""devlink (iproute2): the firmware of every adapter by one query of the kernel; flint opens the PCI registers of one adapter after the other.

`versions.stored` of mlx5_core is the version in the flash: the pending one, or the running one where none waits (torvalds/linux,
mlx5/core/devlink.c, from 5.3 on, and the driver of DOCA). It reads the registers MCQS and MCQI of the boot image, as flint does where the
firmware has them (Mellanox/mstflint, fw_comps_mgr.cpp and fsctrl_ops.cpp); the driver reports nothing where it has not.
"""

import json
import re
from typing import Any, Dict

INFO = ("devlink", "-j", "dev", "info")
# The driver's values for "no answer" from 7.0 on and in stable kernels, where the whole list failed before (torvalds/linux 10dc35f6a443).
_NO_ANSWER = ("0.0.0000", "255.255.65535")
_VERSION = re.compile(r"\d+\.\d+\.\d+")


def parse_stored_firmware(text: str) -> Dict[str, str]:
    """PCI address -> firmware in the flash of every adapter that reports it; empty if the text is not a list of devices."""
    try:
        devices = _below(json.loads(text), "info")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(devices, dict):
        return {}
    stored = {handle: _below(device, "versions", "stored", "fw.version") for handle, device in devices.items()}
    return {h.partition("/")[2]: v for h, v in stored.items() if h.startswith("pci/") and isinstance(v, str) and _is_version(v)}


def _below(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value or {}


def _is_version(text: str) -> bool:
    return bool(_VERSION.fullmatch(text)) and text not in _NO_ANSWER
