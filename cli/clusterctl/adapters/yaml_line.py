"""The line of a key in a YAML file, for error messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from pathlib import Path

_STEP = re.compile(r"[^.\[\]]+")


def yaml_line(file: Path, path: str) -> int:
    """The line, from 1, of `path` (`pool.partition`, `inventory[1]`) or of its nearest existing parent; 0 if there is none."""
    try:
        node = yaml.compose(file.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except (OSError, yaml.YAMLError):
        return 0
    line = 0
    for step in _STEP.findall(path):
        if isinstance(node, yaml.MappingNode):
            key, node = next(((k, v) for k, v in node.value if k.value == step), (None, None))
        elif isinstance(node, yaml.SequenceNode) and step.isdigit() and int(step) < len(node.value):
            key = node = node.value[int(step)]
        else:
            break
        if key is None:
            break
        line = key.start_mark.line + 1
    return line
