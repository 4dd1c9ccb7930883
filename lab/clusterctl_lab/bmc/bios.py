"""BIOS settings of a node: current and pending values. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import yaml

_TABLE = Path(__file__).with_name("bios.yml")


class BiosSettingError(ValueError):
    """The BIOS has no such attribute, or does not accept the value."""


@dataclass(frozen=True, slots=True)
class BiosAttribute:
    """One entry of the attribute registry."""

    default: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bios:
    """Current and pending values by attribute.

    Attributes:
        pending_since: time of the oldest pending change in seconds since the epoch; 0 if nothing is pending.
    """

    current: dict[str, str]
    pending: dict[str, str] = field(default_factory=dict)
    pending_since: float = 0

    def stage(self, changes: dict[str, str], now: float) -> Bios:
        """Make changes pending until the next reset.

        Raises:
            BiosSettingError: an attribute or value is unknown; then no change is made.
        """
        for name, value in changes.items():
            attribute = attribute_registry().get(name)
            if attribute is None:
                raise BiosSettingError(f"The property {name} is not in the list of valid properties for the resource.")
            if value not in attribute.choices:
                raise BiosSettingError(f"The value {value} for the property {name} is not in the list of acceptable values.")
        return replace(self, pending={**self.pending, **changes}, pending_since=self.pending_since or now)

    def after_start(self, started_at: float) -> Bios:
        """The settings after the node started at `started_at`: changes pending by then are current."""
        if not self.pending or started_at <= self.pending_since:
            return self
        return Bios({**self.current, **self.pending})


@lru_cache(maxsize=1)
def attribute_registry() -> dict[str, BiosAttribute]:
    """All attributes of this BIOS by name."""
    table = yaml.safe_load(_TABLE.read_text(encoding="utf-8"))
    return {name: BiosAttribute(entry["default"], tuple(map(str, entry["choices"]))) for name, entry in table.items()}


def factory_bios() -> Bios:
    """The factory settings."""
    return Bios({name: attribute.default for name, attribute in attribute_registry().items()})
