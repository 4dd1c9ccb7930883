"""What `forget` is about to delete, and what it deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.running_text import fold_names
from clusterctl.model.state_documents import ForgetDocument, ForgottenNode
from clusterctl.terminal import out
from clusterctl.terminal.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.records import NodeRecord


def question(nodes: Sequence[NodeRecord]) -> str:
    """The question before it."""
    return f"Forget {fold_names([n.name for n in nodes])}, with findings, gate results, states and admission records?"


def show_forgotten(nodes: Sequence[NodeRecord], output: str) -> None:
    """A line per node with the state it was in, or the document `forget`."""
    if output == "table":
        out.table(("NODE", "WAS", "REASON"), [(n.name, n.state.value, printable(n.reason)) for n in nodes])
    else:
        out.emit_document(output, "forget", ForgetDocument(tuple(ForgottenNode(n.name, n.state, n.reason) for n in nodes)))
