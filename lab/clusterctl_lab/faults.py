"""The catalogue of faults, and the file that lists the faults of a node."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from clusterctl.model.errors import UsageProblemError
from clusterctl_lab.simulator.hardware_kinds import HGX_H100
from clusterctl_lab.simulator.state import Fault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl_lab.simulator.hardware import Hardware

_CATALOGUE = Path(__file__).with_name("faults.yml")


@dataclass(frozen=True, slots=True)
class FaultKind:
    """An entry of the catalogue.

    Attributes:
        device: kind of the affected device: hca, gpu, or empty for the whole node.
        option: name of its option; empty if it has none.
        choices: valid values of the option.
        lasts: `boot` if a reboot ends the fault, `repair` if it stays until it is cleared.
        often: how often the fault occurs in the field, with the source.
    """

    name: str
    summary: str
    device: str
    default_device: str
    option: str
    default_option: str
    choices: tuple[str, ...]
    lasts: str
    often: str


@lru_cache(maxsize=1)
def fault_catalogue() -> dict[str, FaultKind]:
    """All faults by name."""
    entries: dict[str, dict[str, Any]] = yaml.safe_load(_CATALOGUE.read_text(encoding="utf-8"))
    return {name: _kind(name, entry) for name, entry in entries.items()}


def make_fault(name: str, device: str = "", option: str = "", boot_id: str = "", hardware: Hardware = HGX_H100) -> Fault:
    """A fault with the defaults of the catalogue. `boot_id` is stored only if a reboot ends the fault.

    Raises:
        UsageProblemError: unknown fault, device or option.
    """
    kind = fault_catalogue().get(name)
    if kind is None:
        raise UsageProblemError(detail=f"unknown fault {name!r}", hint=f"faults: {', '.join(fault_catalogue())}")
    chosen = re.sub(r"^gpu", "", device.lower()) if kind.device == "gpu" else device
    devices = _devices(kind.device, hardware)
    chosen = chosen or (kind.default_device if kind.default_device in devices else devices[-1])
    if chosen not in devices:
        valid = ", ".join(devices) or "none"
        raise UsageProblemError(detail=f"{name}: unknown device {device!r}", hint=f"devices: {valid}")
    value = option or kind.default_option
    if value not in (kind.choices or ("",)):
        allowed = f"{kind.option}: {', '.join(kind.choices)}" if kind.choices else "this fault takes no option"
        raise UsageProblemError(detail=f"{name}: invalid option {option!r}", hint=allowed)
    return Fault(name, chosen, value, boot_id if kind.lasts == "boot" else "")


def load_faults(path: Path) -> tuple[Fault, ...]:
    """The faults in a node's file, including those that ended with an earlier boot."""
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return tuple(Fault(r["name"], r["device"], r["option"], r["boot_id"]) for r in rows)


def save_faults(path: Path, faults: Sequence[Fault]) -> None:
    """Replace the file atomically, because the node watches it."""
    rows = [{"name": f.name, "device": f.device, "option": f.option, "boot_id": f.boot_id} for f in faults]
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    os.replace(temporary, path)  # noqa: PTH105 the atomic way


def with_fault(faults: Sequence[Fault], new: Fault) -> tuple[Fault, ...]:
    """Add a fault; it replaces a fault of the same kind on the same device."""
    return (*without_fault(faults, new.name, new.device), new)


def without_fault(faults: Sequence[Fault], name: str, device: str = "") -> tuple[Fault, ...]:
    """Remove the faults of a kind, on `device` or on all devices if it is empty."""
    return tuple(f for f in faults if f.name != name or (device and f.device != device))


def _devices(kind: str, hardware: Hardware) -> list[str]:
    if kind == "hca":
        return list(hardware.hca_names)
    return [str(i) for i in range(len(hardware.gpu_addresses))] if kind == "gpu" else [""]


def _kind(name: str, entry: dict[str, Any]) -> FaultKind:
    option = entry.get("option", {})
    return FaultKind(
        name=name,
        summary=entry["summary"],
        device=entry.get("device", ""),
        default_device=entry.get("default", ""),
        option=option.get("name", ""),
        default_option=option.get("default", ""),
        choices=tuple(option.get("choices", ())),
        lasts=entry["lasts"],
        often=entry["often"],
    )
