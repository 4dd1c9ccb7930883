"""systemctl show: properties of units, and the defaults of the manager."""

from dataclasses import dataclass
from typing import Dict, List, Sequence

_STATES = ("Id", "LoadState", "ActiveState", "UnitFileState")


class UnreadableUnitsError(ValueError):
    """systemctl showed other units than those that were requested."""


@dataclass(frozen=True)
class Unit:
    """A systemd unit.

    Attributes:
        active: it runs now (ActiveState is "active").
        enabled: it starts at boot (UnitFileState is "enabled").
        active_state, file_state, load_state: systemd's own terms, for the text of the finding.
    """

    active: bool
    enabled: bool
    active_state: str
    file_state: str
    load_state: str


def show_argv(properties: Sequence[str], units: Sequence[str] = ()) -> List[str]:
    """The command that prints `Property=value` lines: a block per unit, in order, or those of the manager."""
    return ["systemctl", "show", "-p", ",".join(properties), *(["--", *units] if units else [])]


def states_argv(units: Sequence[str]) -> List[str]:
    """The command whose output `parse_units` reads."""
    return show_argv(_STATES, units)


def parse_properties(text: str) -> Dict[str, str]:
    """Property -> value of one block."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def parse_units(names: Sequence[str], text: str) -> Dict[str, Unit]:
    """The states of units, one block per name in the order of `names`. Raises UnreadableUnitsError."""
    blocks = [block for block in text.strip().split("\n\n") if block.strip()]
    if len(blocks) != len(names):
        raise UnreadableUnitsError("systemctl show: {} units requested, {} returned".format(len(names), len(blocks)))
    units: Dict[str, Unit] = {}
    for name, block in zip(names, blocks):
        found = parse_properties(block)
        active, file, load = (found.get(k, "") for k in ("ActiveState", "UnitFileState", "LoadState"))
        units[name] = Unit(active == "active", file == "enabled", active, file, load)
    return units
