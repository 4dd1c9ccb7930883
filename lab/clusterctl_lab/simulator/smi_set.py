"""nvidia-smi -pl, -mig, -e and -c: change a mode of one GPU or of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import gpu_modes, machine

if TYPE_CHECKING:
    from .gpus import GpuView

_VERBS = {"-pl": "power", "--power-limit": "power", "-mig": "mig", "--multi-instance-gpu": "mig", "-e": "ecc", "--ecc-config": "ecc"}
_VERBS |= {"-c": "compute", "--compute-mode": "compute"}
_COMPUTE = {
    "0": "Default",
    "DEFAULT": "Default",
    "2": "Prohibited",
    "PROHIBITED": "Prohibited",
    "3": "Exclusive_Process",
    "EXCLUSIVE_PROCESS": "Exclusive_Process",
}
_SWITCH = {"0": False, "DISABLED": False, "1": True, "ENABLED": True}


def requested_setting(words: list[str]) -> tuple[str, str]:
    """The setting to change (`power`, `mig`, `ecc` or `compute`) and its value; both empty if there is none."""
    for name, value in _pairs(words):
        if name in _VERBS:
            return _VERBS[name], value
    return "", ""


def apply_setting(views: list[GpuView], words: list[str]) -> int:
    """Change the setting on the selected GPUs and print the result. Returns the exit status."""
    verb, value = requested_setting(words)
    chosen = selected_gpus(views, words)
    if not chosen:
        print("No devices were found")
        return 6
    for view in chosen:
        refusal = _power(view, value) if verb == "power" else _compute(view, value) if verb == "compute" else _switch(view, verb, value)
        if refusal:
            print(refusal + "\nTerminating early due to previous errors.")
            return 2
    print("All done." + ("\nReboot required." if verb == "ecc" else ""))
    return 0


def selected_gpus(views: list[GpuView], words: list[str]) -> list[GpuView]:
    """Those that `-i` names by number, address or UUID; all without it."""
    only = next((v for n, v in _pairs(words) if n in ("-i", "--id")), "")
    return [v for v in views if only in ("", str(v.minor), v.gpu.bus_id, v.gpu.uuid)]


def _power(view: GpuView, value: str) -> str:
    bus, least, most = view.gpu.bus_id, machine.THIS.gpu_power_min_w, machine.THIS.gpu_power_limit_w
    try:
        watts = float(value)
    except ValueError:
        watts = 0
    if not least <= watts <= most:
        return f"Provided power limit {watts:.2f} W is not a valid power limit which should be between {least}.00 W and {most}.00 W for GPU {bus}"
    before = gpu_modes.current_modes(view.gpu.index).power_w
    gpu_modes.set_power(view.gpu.index, watts)
    print(f"Power limit for GPU {bus} was set to {watts:.2f} W from {before:.2f} W.")
    return ""


def _compute(view: GpuView, value: str) -> str:
    mode = _COMPUTE.get(value.upper())
    if mode is None:
        return f"Invalid argument: {value}"
    gpu_modes.set_compute(view.gpu.index, mode)
    print(f"Set compute mode to {mode.upper()} for GPU {view.gpu.bus_id}.")
    return ""


def _switch(view: GpuView, verb: str, value: str) -> str:
    enabled = _SWITCH.get(value.upper())
    if enabled is None:
        return f"Invalid argument: {value}"
    mode = "Enabled" if enabled else "Disabled"
    if verb == "ecc":
        gpu_modes.set_ecc(view.gpu.index, enabled=enabled)
        print(f"{mode} ECC support for GPU {view.gpu.bus_id}.")
    else:
        gpu_modes.set_mig(view.gpu.index, enabled=enabled)
        print(f"{mode} MIG Mode for GPU {view.gpu.bus_id}")
    return ""


def _pairs(words: list[str]) -> list[tuple[str, str]]:
    """The options as (name, value), from `--name=value` and `-name value`."""
    return [
        word.partition("=")[::2] if "=" in word else (word, following) for word, following in zip(words, [*words[1:], ""], strict=False)
    ]
