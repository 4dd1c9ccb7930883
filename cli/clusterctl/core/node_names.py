"""What may be the name of a node: it becomes a word of ssh, a file name and a line of text. Many names in a line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clusterctl.model.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# A host name or address: RFC 1123 has 253 characters; underscores are common in inventories.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,252}")
_SHOWN = 4


def name_problems(names: Iterable[str]) -> list[Problem]:
    """A problem for every name that no node may have."""
    message = "not the name of a node: letters, digits and `_.:-` only, the first a letter or digit"
    return [Problem(repr(name), message) for name in names if not _NAME.fullmatch(name)]


def names_text(nodes: Sequence[str]) -> str:
    """For people: the first nodes, and how many more there are."""
    return ", ".join(nodes) if len(nodes) <= _SHOWN else f"{', '.join(nodes[:_SHOWN])} and {len(nodes) - _SHOWN} more"
