"""The files of an inventory layer: regular, and of a size that can be read, before Ansible waits for one or expands another."""

from __future__ import annotations

import os
import re
import stat
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

# 12,500 nodes with 40 variables each are half a million values, and aliases are rare among them.
_MOST_VALUES = 5_000_000
_ALIAS = re.compile(rb"(?:^|[\s\[{,:-])\*[A-Za-z0-9_]", re.MULTILINE)
_BESIDE = ("group_vars", "host_vars")


def check_files(layer: Path) -> None:
    """Check every file of a layer; of a layer that is a file, the variables beside it, too.

    Raises:
        ConfigError: one is a FIFO, a socket or a device, or its YAML aliases expand to far more than an inventory holds.
    """
    for path in _files(layer):
        mode = path.stat().st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISBLK(mode):
            raise ConfigError(detail=f"{path}: is not a regular file", hint="an inventory is read more than once: write it to a file first")
        if stat.S_ISREG(mode):
            _check_aliases(path)


def _files(layer: Path) -> Iterator[Path]:
    roots = [layer] if layer.is_dir() else [layer.parent / name for name in _BESIDE]
    if not layer.is_dir():
        yield layer
    for root in roots:
        for folder, _folders, names in os.walk(root):
            yield from (p for p in (Path(folder, name) for name in names) if p.exists())


def _check_aliases(path: Path) -> None:
    try:
        data = path.read_bytes()
    except OSError:
        return  # Ansible names it, where it reads it at all
    if not _ALIAS.search(data):
        return
    try:
        values = _expanded(yaml.compose(data, Loader=yaml.CSafeLoader))
    except yaml.YAMLError:
        return  # a script, or an error that Ansible reports with its line
    except RecursionError:
        values = _MOST_VALUES + 1
    if values > _MOST_VALUES:
        raise ConfigError(
            detail=f"{path}: its YAML aliases expand to more than {_MOST_VALUES:,} values",
            hint="write the values out, or use group variables",
        )


def _expanded(document: yaml.Node | None) -> int:
    """How many values a document has where every alias is replaced by what it stands for."""

    @cache
    def count(node: yaml.Node) -> int:
        if isinstance(node, yaml.MappingNode):
            return 1 + sum(count(key) + count(value) for key, value in node.value)
        return 1 + sum(map(count, node.value)) if isinstance(node, yaml.SequenceNode) else 1

    return count(document) if document else 0
