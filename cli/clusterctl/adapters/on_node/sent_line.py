"""A line that a node sends of its own run. Pure; whatever it is, it counts for this node alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.ansible.events import AnsibleEvent, read_event

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

_END = "clusterctl_end"
_WRONG = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)
_DETAIL_LIMIT = 500


class SpoiledLineError(Exception):
    """A node sent what no run sends; the text is the reason."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended, by its last line.

    Attributes:
        why: why it was ended before its end; empty otherwise.
    """

    why: str


def read_line(line: bytes, node: str) -> AnsibleEvent | RunEnd:
    """An event or the end of the run of `node`.

    Raises:
        SpoiledLineError: it is neither, or names another node.
    """
    try:
        sent = json.loads(line.decode(), parse_constant=_not_a_number)
        found = _end(sent[_END]) if _END in sent else read_event(sent)
    except _WRONG as e:
        raise SpoiledLineError(f"it sent a line that is not an event of a run ({type(e).__name__})") from e
    if isinstance(found, RunEnd):
        return found
    if not _named(found) <= {node}:
        raise SpoiledLineError("it sent an event of another node")
    if found.task and not isfinite(found.task.duration_s):
        raise SpoiledLineError("it sent an event of a run with a duration without end")
    return found


def _not_a_number(_word: str) -> None:
    """NaN in the result of a module: nothing that is read of it is a number."""


def _end(sent: dict[str, Any]) -> RunEnd:
    held = sent.get("held")
    text = str(sent.get("why") or "") if held is None else f"another run applies roles on this node: {held}"
    return RunEnd(text[:_DETAIL_LIMIT])


def _named(event: AnsibleEvent) -> AbstractSet[str]:
    return {*(event.stats or ()), *([event.task.node] if event.task else ())}
