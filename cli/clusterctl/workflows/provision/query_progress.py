"""A validation inside a provisioning run, as progress of that run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.model.provision import NodeQueried, Note

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterctl.model.provision import Progress


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """A `ValidationListener` that reports to `notify`."""

    notify: Callable[[Progress], None]

    def started(self, node: str) -> None:
        """A query begins."""
        self.notify(NodeQueried(node, answered=False))

    def answered(self, node: str) -> None:
        """It ended."""
        self.notify(NodeQueried(node, answered=True))

    def note(self, text: str) -> None:
        """What holds it up."""
        self.notify(Note(text))
