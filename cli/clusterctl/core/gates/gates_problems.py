"""Problems of declared gates, before a burn-in runs into them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.model.errors import GatesInvalidError
from clusterctl.model.node import Connection, Node, Place

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from clusterctl.model.node import NodeSpec
    from clusterctl.model.problem import Problem


def gates_problems(spec: NodeSpec, nodes: Sequence[str], today: date | None = None) -> tuple[Problem, ...]:
    """Everything wrong, `today` if no day is given, with the gates of a spec that `nodes` share; nothing where it declares none."""
    if not spec.gates:
        return ()
    owner = nodes[0] if nodes else "a node"
    try:
        profile_of(Node(owner, (), Connection(""), Place(), spec), today or datetime.now(UTC).date())
    except GatesInvalidError as e:
        return tuple(replace(p, nodes=tuple(nodes)) for p in e.problems)
    return ()
