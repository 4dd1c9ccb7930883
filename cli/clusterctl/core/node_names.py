"""What may be the name of a node: it becomes a word of ssh, a file name and a line of text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clusterctl.model.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

# A host name or address: RFC 1123 has 253 characters; underscores are common in inventories.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,252}")


def name_problems(names: Iterable[str]) -> list[Problem]:
    """A problem for every name that no node may have."""
    message = "not the name of a node: letters, digits and `_.:-` only, the first a letter or digit"
    return [Problem(repr(name), message) for name in names if not _NAME.fullmatch(name)]
