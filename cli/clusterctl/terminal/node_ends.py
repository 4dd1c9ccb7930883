"""How the nodes of a run ended, folded: nodes that share an outcome and its reason share a line. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.model.running_text import fold_names

if TYPE_CHECKING:
    from clusterctl.model.provision import NodeMoved
    from clusterctl.model.state import State


@dataclass(slots=True)
class NodeEnds:
    """Ends that were not printed yet, in the order in which their first node came."""

    held: dict[tuple[State, str], list[str]] = field(default_factory=dict)

    def add(self, end: NodeMoved) -> None:
        """Keep one."""
        self.held.setdefault((end.state, end.reason), []).append(end.node)

    def take(self) -> list[str]:
        """The lines; every node that ended for a reason is named, the others are counted where they are many."""
        lines = [
            f"{', '.join(names)} {state.value}: {reason}" if reason else f"{fold_names(names)} {state.value}"
            for (state, reason), names in self.held.items()
        ]
        self.held.clear()
        return lines
