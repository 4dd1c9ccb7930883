"""Groups and nodes that inventory files declare, read without Ansible: for shell completion, which must be fast and may be incomplete.

Only YAML and JSON files are read; scripts, plug-ins and ranges of names are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_SUFFIXES = frozenset({".yml", ".yaml", ".json"})
_VARIABLES = frozenset({"group_vars", "host_vars"})
_LARGEST_BYTES = 512 * 1024
# Builds strings, lists and mappings only, whatever the tags are (`!vault`); the C version is ten times as fast.
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def declared_names(layers: Iterable[Path]) -> tuple[frozenset[str], frozenset[str]]:
    """(groups, nodes) of some inventory layers; a file that is too large, unreadable or no inventory is left out."""
    groups: set[str] = set()
    nodes: set[str] = set()
    for layer in layers:
        for file in _files(layer):
            for group, hosts in _groups(_content(file)):
                groups.add(group)
                nodes.update(h for h in hosts if "[" not in h)
    return frozenset(groups - {"all", "ungrouped"}), frozenset(nodes)


def _files(layer: Path) -> Iterator[Path]:
    found = sorted(layer.rglob("*")) if layer.is_dir() else [layer]
    for file in found:
        inside = file.relative_to(layer).parts if layer.is_dir() else ()
        if file.suffix in _SUFFIXES and not _VARIABLES & set(inside) and file.is_file() and file.stat().st_size <= _LARGEST_BYTES:
            yield file


def _content(file: Path) -> Any:
    try:
        return yaml.load(file.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506 a BaseLoader makes no objects
    except (yaml.YAMLError, OSError, UnicodeDecodeError):
        return None


def _groups(data: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every group with its own hosts, from the top down."""
    for name, body in data.items() if isinstance(data, dict) else ():
        members = body if isinstance(body, dict) else {}
        hosts = members.get("hosts")
        yield str(name), tuple(map(str, hosts)) if isinstance(hosts, dict) else ()
        yield from _groups(members.get("children"))
