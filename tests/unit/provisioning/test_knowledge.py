"""Steps of a run take what is known of the nodes and return what they add; none writes it where another step would have to look for it."""

from __future__ import annotations

import ast
from inspect import signature
from typing import TYPE_CHECKING

import pytest

from clusterctl.model.playbook_result import HostOutcome, HostStatus
from clusterctl.workflows.provision import flow
from clusterctl.workflows.provision.context import RunContext
from clusterctl.workflows.provision.knowledge import Changes, Knowledge
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES = sorted(ROOT.glob("cli/clusterctl/workflows/provision/*.py"))


def written(tree: ast.AST) -> Iterator[str]:
    """What is assigned to, or in, an attribute of a context or of what is known."""
    for node in ast.walk(tree):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else []
        )
        for target in targets:
            holder = target.value if isinstance(target, (ast.Attribute, ast.Subscript)) else target
            while isinstance(holder, (ast.Attribute, ast.Subscript)):
                holder = holder.value
            if isinstance(target, (ast.Attribute, ast.Subscript)) and isinstance(holder, ast.Name) and holder.id in {"context", "known"}:
                yield ast.unparse(target)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_no_step_writes_into_what_it_is_handed(path: Path) -> None:
    assert list(written(ast.parse(path.read_text()))) == []


@pytest.mark.parametrize(
    "line", ["context.x = 1", "context.x[n] = 1", "context.x += y", "known.changes.left[n] = ()", "context.x: int = 1"]
)
def test_a_write_is_seen(line: str) -> None:
    assert list(written(ast.parse(line)))


@pytest.mark.parametrize("step", [step for _phase, step in flow._STEPS], ids=lambda s: s.__name__)
def test_every_step_returns_what_it_knows(step: object) -> None:
    types = {"RunContext": RunContext, "Knowledge": Knowledge}
    hints = [p.annotation for p in signature(step).parameters.values()] + [signature(step).return_annotation]  # type: ignore[arg-type]
    assert [types[str(h)] for h in hints] == [RunContext, Knowledge, Knowledge]


def test_a_later_playbook_replaces_what_a_node_waits_for_and_adds_its_tasks() -> None:
    first = HostOutcome("n1", HostStatus.OK, 3, 2, reboot_required=("kernel",), apply_again=("ofed",), waiting=("a",))
    then = HostOutcome("n1", HostStatus.OK, 2, 1)
    changes = Changes().merge([first, HostOutcome("n2", HostStatus.OK, 1)])
    assert changes.pending(["n1", "n2", "n3"]) == {"n1": ("kernel",)}
    after = changes.merge([then])
    assert (after.outcomes["n1"], after.outcomes["n2"]) == (HostOutcome("n1", HostStatus.OK, 5, 3), HostOutcome("n2", HostStatus.OK, 1))
    assert changes.outcomes["n1"] == first, "what was known before is unchanged"


def test_a_node_keeps_every_role_for_which_it_was_rebooted() -> None:
    changes = Changes().rebooting({"n1": ("kernel",)}).rebooting({"n1": ("ofed", "kernel"), "n2": ("bios",)})
    assert changes.rebooted == {"n1": ("kernel", "ofed"), "n2": ("bios",)}
