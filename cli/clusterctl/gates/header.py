"""What a run directory says of its burn-in besides the raw records: level, gates, nodes and the profiles they had."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.errors import ConfigError
from clusterctl.gates.settings import LEVELS, Level
from clusterctl.node import Connection, Node, NodeSpec, Place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from clusterctl.gates.coverage import Coverage

FILE = "gates/burnin.json"
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Header:
    """The frame of a burn-in.

    Attributes:
        impossible: (gate, node) -> why it could not be planned.
        pair_coverage: what the pair schedule reached; None without pairs.
        profiles: node -> its `gates_*` and `hardware_*` variables when it was measured.
    """

    level: Level
    gates: tuple[str, ...]
    nodes: tuple[str, ...]
    partners: tuple[str, ...]
    impossible: Mapping[tuple[str, str], str]
    pair_coverage: Mapping[str, Any] | None
    profiles: Mapping[str, Mapping[str, Any]]

    def stored_nodes(self) -> list[Node]:
        """The nodes with the profiles that are stored here; enough to judge, not to connect."""
        return [
            Node(n, (), Connection(n), Place(), NodeSpec({"hardware": p["hardware"]}, p["gates"], (), "")) for n, p in self.profiles.items()
        ]

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "schema_version": SCHEMA_VERSION,
            "level": self.level,
            "gates": list(self.gates),
            "nodes": list(self.nodes),
            "partners": list(self.partners),
            "impossible": [{"gate": g, "node": n, "why": why} for (g, n), why in self.impossible.items()],
            "pair_coverage": self.pair_coverage,
            "profiles": self.profiles,
        }


def header_of(
    level: Level,
    gates: Sequence[str],
    nodes: Sequence[Node],
    partners: Sequence[Node],
    *,
    impossible: Mapping[tuple[str, str], str],
    pairs: Coverage | None,
) -> Header:
    """The header of a burn-in of `nodes`."""
    profiles = {n.name: {"gates": dict(n.spec.gates), "hardware": dict(n.spec.roles.get("hardware", {}))} for n in (*nodes, *partners)}
    names = (tuple(n.name for n in nodes), tuple(n.name for n in partners))
    return Header(level, tuple(gates), *names, dict(impossible), asdict(pairs) if pairs else None, profiles)


def read_header(directory: Path) -> Header:
    """The header of a run directory.

    Raises:
        ConfigError: it holds no burn-in, or the file is damaged.
    """
    file = directory / FILE
    if not file.is_file():
        raise ConfigError(
            detail=f"{directory}: holds no burn-in", hint="`clusterctl burnin TARGET` makes one; see `clusterctl history NODE`"
        )
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        impossible = {(e["gate"], e["node"]): e["why"] for e in data["impossible"]}
        level = next(known for known in LEVELS if known == data["level"])
        lists = (tuple(data["gates"]), tuple(data["nodes"]), tuple(data["partners"]))
        header = Header(level, *lists, impossible, data["pair_coverage"], data["profiles"])
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as e:
        raise ConfigError(detail=f"{file}: is damaged: {e!r}", hint="restore the run directory from a copy") from e
    if data["schema_version"] != SCHEMA_VERSION:
        raise ConfigError(detail=f"{file}: has schema_version {data['schema_version']!r}", hint="use the clusterctl that wrote it")
    return header
