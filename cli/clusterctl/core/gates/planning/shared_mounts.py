"""The file systems that a node shares with others, as its spec declares them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.model.node import Node

MOUNTS_ROLE = "storage_client"
_MOUNTS = "storage_client_mounts"
# What decides about a mount; its other options do not concern a run directory.
_FIELDS = ("name", "kind", "source", "path", "required")
# Any file system that `mount` supports, a local one as well.
_NOT_SHARED = "generic"


@dataclass(frozen=True, slots=True)
class SharedMount:
    """A declared mount: its name in findings, its source as the kernel shows it, its mount point."""

    name: str
    source: str
    path: str


def shared_mounts_of(node: Node, chosen: Sequence[str]) -> tuple[SharedMount, ...]:
    """The mounts named by `chosen`; without any, those of a shared kind that are required and not read-only. Each source once.

    Raises:
        ConfigError: a chosen mount is not declared.
    """
    declared = {str(entry["name"]): entry for entry in _entries(node)}
    if unknown := [name for name in chosen if name not in declared]:
        raise ConfigError(
            detail=f"{node.name}: mounts of gate storage_throughput: {unknown[0]!r} is not declared",
            hint=f"name mounts of {_MOUNTS}: {', '.join(declared) or 'none is declared'}",
        )
    taken = [declared[name] for name in chosen] or [entry for entry in declared.values() if _is_shared(entry)]
    by_source = {
        str(entry["source"]): SharedMount(str(entry["name"]), str(entry["source"]), str(entry["path"])) for entry in reversed(taken)
    }
    return tuple(reversed(by_source.values()))


def mounts_document(node: Node) -> dict[str, Any]:
    """What `shared_mounts_of` reads of the spec of a node, to be stored with a run."""
    return {
        _MOUNTS: [
            {**{name: entry[name] for name in _FIELDS if name in entry}, "options": ["ro"] if _is_read_only(entry) else []}
            for entry in _entries(node)
        ]
    }


def _entries(node: Node) -> list[Mapping[str, Any]]:
    return list(node.spec.roles.get(MOUNTS_ROLE, {}).get(_MOUNTS) or [])


def _is_shared(entry: Mapping[str, Any]) -> bool:
    return entry["kind"] != _NOT_SHARED and entry.get("required") is not False and not _is_read_only(entry)


def _is_read_only(entry: Mapping[str, Any]) -> bool:
    return "ro" in (entry.get("options") or [])
