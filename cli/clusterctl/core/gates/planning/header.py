"""What a run directory holds of its burn-in besides the raw records: level, gates, nodes and the profiles they had."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.planning.shared_mounts import MOUNTS_ROLE, mounts_document
from clusterctl.core.gates.planning.step import Obstacle
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.level import LEVELS, Level
from clusterctl.model.node import Connection, Node, NodeSpec, Place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.planning.coverage import Coverage

FILE = "gates/burnin.json"
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Header:
    """The frame of a burn-in.

    Attributes:
        impossible: (gate, node) -> why nothing could be planned there.
        pair_coverage: what the pair schedule reached; None without pairs.
        profiles: node -> its `gates_*` and `hardware_*` variables, the mounts that it shares, its place and what was observed on it when it was measured.
    """

    level: Level
    gates: tuple[str, ...]
    nodes: tuple[str, ...]
    partners: tuple[str, ...]
    impossible: Mapping[tuple[str, str], Obstacle]
    pair_coverage: Mapping[str, Any] | None
    profiles: Mapping[str, Mapping[str, Any]]

    def stored_nodes(self) -> list[Node]:
        """The nodes with the profiles that are stored here; enough to judge, not to connect."""
        return [Node(n, (), Connection(n), Place(**p.get("place", {})), _spec(p)) for n, p in self.profiles.items()]

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "schema_version": SCHEMA_VERSION,
            "level": self.level,
            "gates": list(self.gates),
            "nodes": list(self.nodes),
            "partners": list(self.partners),
            "impossible": [{"gate": g, "node": n, **asdict(o)} for (g, n), o in self.impossible.items()],
            "pair_coverage": self.pair_coverage,
            "profiles": self.profiles,
        }


def header_of(
    level: Level,
    gates: Sequence[str],
    nodes: Sequence[Node],
    partners: Sequence[Node],
    *,
    impossible: Mapping[tuple[str, str], Obstacle],
    pairs: Coverage | None,
) -> Header:
    """The header of a burn-in of `nodes`."""
    profiles = {
        n.name: {
            "gates": dict(n.spec.gates),
            "hardware": dict(n.spec.roles.get("hardware", {})),
            MOUNTS_ROLE: mounts_document(n),
            "place": asdict(n.place),
            "observe": [dict(o) for o in n.spec.observe],
        }
        for n in (*nodes, *partners)
    }
    names = (tuple(n.name for n in nodes), tuple(n.name for n in partners))
    return Header(level, tuple(gates), *names, dict(impossible), asdict(pairs) if pairs else None, profiles)


def header_from(data: Mapping[str, Any]) -> Header:
    """The reverse of `Header.to_json`.

    Raises:
        KeyError, TypeError, ValueError, StopIteration: something is missing or of another type.
    """
    impossible = {(e["gate"], e["node"]): _obstacle(e) for e in data["impossible"]}
    level = next(known for known in LEVELS if known == data["level"])
    lists = (tuple(data["gates"]), tuple(data["nodes"]), tuple(data["partners"]))
    return Header(level, *lists, impossible, data["pair_coverage"], data["profiles"])


def _spec(profile: Mapping[str, Any]) -> NodeSpec:
    return NodeSpec(
        {"hardware": profile["hardware"], MOUNTS_ROLE: profile.get(MOUNTS_ROLE, {})},
        profile["gates"],
        (),
        "",
        tuple(profile.get("observe", ())),
    )


def _obstacle(entry: Mapping[str, Any]) -> Obstacle:
    if "reason" in entry:
        return Obstacle(GateReason(entry["reason"]), entry["why"], entry["hint"])
    why, _, hint = entry["why"].partition("; ")  # files of version 0.1.0 have one text
    return Obstacle(GateReason.NO_PARTNER if hint else GateReason.NO_DEVICE, why, hint)
