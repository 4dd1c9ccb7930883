"""A line that a node sends of its own run. Pure; whatever it is, it counts for this node alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.ansible.events import AnsibleEvent, read_event
from clusterctl.adapters.strict_json import parse_json

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
        sent = parse_json(line.decode())
        found = _end(sent[_END]) if _END in sent else read_event(sent)
    except _WRONG as e:
        raise SpoiledLineError(f"it sent a line that is not an event of a run ({type(e).__name__})") from e
    if isinstance(found, AnsibleEvent) and not _named(found) <= {node}:
        raise SpoiledLineError("it sent an event of another node")
    return found


def _end(sent: dict[str, Any]) -> RunEnd:
    held = sent.get("held")
    text = str(sent.get("why") or "") if held is None else f"another run applies roles on this node: {held}"
    return RunEnd(text[:_DETAIL_LIMIT])


def _named(event: AnsibleEvent) -> AbstractSet[str]:
    return {*(event.stats or ()), *([event.task.node] if event.task else ())}
