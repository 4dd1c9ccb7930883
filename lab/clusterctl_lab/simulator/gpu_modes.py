"""Modes of the GPUs. The board stores the ECC mode, which takes effect at the next boot; a boot resets MIG mode (Hopper), power limit and compute mode."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace

from . import machine, state


@dataclass(frozen=True)
class GpuModes:
    """The modes of one GPU."""

    ecc: bool = True
    ecc_pending: bool = True
    mig: bool = False
    power_w: float = machine.THIS.gpu_power_limit_w
    compute: str = "Default"


def current_modes(index: int) -> GpuModes:
    """The current modes of a GPU."""
    stored = _load(state.INFOROM).get(str(index), {})
    now = _load(_current_file()).get(str(index), {})
    ecc = bool(now.get("ecc", True))
    power_w = float(now.get("power_w", machine.THIS.gpu_power_limit_w))
    compute = str(now.get("compute", "Default"))
    return GpuModes(ecc=ecc, ecc_pending=bool(stored.get("ecc", ecc)), mig=bool(now.get("mig", False)), power_w=power_w, compute=compute)


def on_boot() -> None:
    """Apply the stored ECC modes and reset the other modes."""
    stored = _load(state.INFOROM)
    _save(_current_file(), {index: {"ecc": values["ecc"], "ecc_pending": values["ecc"]} for index, values in stored.items()})


def set_ecc(index: int, *, enabled: bool) -> None:
    """Store the ECC mode for the next boot."""
    _save(state.INFOROM, _load(state.INFOROM) | {str(index): {"ecc": enabled}})


def set_mig(index: int, *, enabled: bool) -> None:
    """Change the MIG mode immediately."""
    _save_current(index, replace(current_modes(index), mig=enabled))


def set_power(index: int, watts: float) -> None:
    """Change the power limit immediately."""
    _save_current(index, replace(current_modes(index), power_w=watts))


def set_compute(index: int, mode: str) -> None:
    """Change the compute mode immediately; a boot resets it (manual of nvidia-smi)."""
    _save_current(index, replace(current_modes(index), compute=mode))


def _current_file() -> str:
    return f"{state.RUN}/gpu-modes.json"


def _save_current(index: int, values: GpuModes) -> None:
    _save(_current_file(), _load(_current_file()) | {str(index): asdict(values)})


def _load(path: str) -> dict[str, dict[str, float | bool | str]]:
    text = state.read(path)
    result: dict[str, dict[str, float | bool | str]] = json.loads(text) if text else {}
    return result


def _save(path: str, values: dict[str, dict[str, float | bool | str]]) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(values, file)
