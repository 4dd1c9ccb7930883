"""BIOS settings of a node: current, and pending until the next reset. Pure but for the file they are kept in."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import yaml

_TABLE = Path(__file__).with_name("bios.yml")


class BiosSettingError(ValueError):
    """An attribute or a value that this BIOS does not have."""


@dataclass(frozen=True, slots=True)
class BiosAttribute:
    """One entry of the attribute registry."""

    default: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bios:
    """`pending_since`: seconds of the epoch of the oldest pending change; 0 = nothing is pending."""

    current: dict[str, str]
    pending: dict[str, str] = field(default_factory=dict)
    pending_since: float = 0

    def ask(self, changes: dict[str, str], now: float) -> Bios:
        """Hold changes for the next reset.

        Raises:
            RefusedError: an unknown attribute or value; nothing is held then.
        """
        for name, value in changes.items():
            attribute = attribute_registry().get(name)
            if attribute is None:
                raise BiosSettingError(f"The property {name} is not in the list of valid properties for the resource.")
            if value not in attribute.choices:
                raise BiosSettingError(f"The value {value} for the property {name} is not in the list of acceptable values.")
        return replace(self, pending={**self.pending, **changes}, pending_since=self.pending_since or now)

    def settle(self, started_at: float) -> Bios:
        """After a start of the node, pending changes are current."""
        if not self.pending or started_at <= self.pending_since:
            return self
        return Bios({**self.current, **self.pending})


@lru_cache(maxsize=1)
def attribute_registry() -> dict[str, BiosAttribute]:
    """All attributes of this BIOS."""
    table = yaml.safe_load(_TABLE.read_text(encoding="utf-8"))
    return {name: BiosAttribute(entry["default"], tuple(map(str, entry["choices"]))) for name, entry in table.items()}


def load_bios(path: Path) -> Bios:
    """The settings of a node; factory settings where there is no file yet."""
    if not path.exists():
        return Bios({name: attribute.default for name, attribute in attribute_registry().items()})
    return Bios(**json.loads(path.read_text(encoding="utf-8")))


def save_bios(path: Path, bios: Bios) -> None:
    """Replace the file in one step."""
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(asdict(bios)), encoding="utf-8")
    os.replace(temporary, path)  # noqa: PTH105 the one atomic way
