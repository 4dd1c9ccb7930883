"""The file that stores what a BMC keeps of its node: BIOS settings, boot order and override, leaks. The node reads it at its boot."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from clusterctl_lab.bmc.bios import Bios, factory_bios
from clusterctl_lab.bmc.boot import BootSettings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """What the BMC of one node stores. `wet`: leak detectors that report a leak, and their state."""

    bios: Bios
    boot: BootSettings
    wet: Mapping[str, str] = field(default_factory=dict)

    def after_start(self, started_at: float) -> Settings:
        """The settings after the node started at that time, in seconds since the epoch."""
        return replace(self, bios=self.bios.after_start(started_at), boot=self.boot.after_start(started_at))


def load_settings(path: Path) -> Settings:
    """The stored settings of a node, or those at delivery if the file does not exist."""
    if not path.exists():
        return Settings(factory_bios(), BootSettings())
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    boot: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in stored.pop("boot", {}).items()}
    wet: dict[str, str] = stored.pop("wet", {})
    return Settings(Bios(**stored), BootSettings(**boot), wet)


def save_settings(path: Path, settings: Settings) -> None:
    """Replace the file atomically."""
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps({**asdict(settings.bios), "boot": asdict(settings.boot), "wet": dict(settings.wet)}), encoding="utf-8")
    os.replace(temporary, path)  # noqa: PTH105 the atomic way
