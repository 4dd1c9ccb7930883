"""What of the declared gates no burn-in could read, before one is asked for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.model.errors import ConfigError
from clusterctl.model.node import Connection, Node, Place
from clusterctl.model.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from clusterctl.model.node import NodeSpec


def gates_problems(spec: NodeSpec, nodes: Sequence[str], today: date | None = None) -> tuple[Problem, ...]:
    """Everything wrong, `today` if no day is given, with the gates of a spec that `nodes` share; nothing where it declares none."""
    if not spec.gates:
        return ()
    owner = nodes[0] if nodes else "a node"
    try:
        profile_of(Node(owner, (), Connection(""), Place(), spec), today or datetime.now(UTC).date())
    except ConfigError as e:
        items = e.values.get("items")
        lines = [str(item) for item in items] if isinstance(items, tuple) else [str(e).removeprefix(f"{owner}: ")]
        return tuple(_problem(line, nodes) for line in lines)
    return ()


def _problem(line: str, nodes: Sequence[str]) -> Problem:
    path, _, message = line.partition(": ")
    return Problem(path if message else "", message or path, nodes=tuple(nodes))
