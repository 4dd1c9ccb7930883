"""`provision -e` does not admit a node as something that the inventory does not declare."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.config import Config
from clusterctl.core.overrides import overridden
from clusterctl.model.errors import UsageProblemError
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.provision import ProvisionOptions
from clusterctl.workflows.provision import start
from clusterctl.workflows.provision.request import ProgressListener, ProvisionRequest
from clusterctl.workflows.provision.start import plan_provision
from support.gates import node

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl.model.node import Node

DECLARED = node("n1")


def changed(**what: Any) -> Node:
    return replace(DECLARED, spec=replace(DECLARED.spec, **what))


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (changed(roles={**DECLARED.spec.roles, "kernel": {"kernel_release": "6.8"}}, digest="d2"), "kernel"),
        (changed(roles={}, digest="d2"), "hardware"),
        (changed(gates={**DECLARED.spec.gates, "gates_levels": {}}), "gates"),
        (changed(waivers=({"check": "*"},)), "waivers"),
    ],
)
def test_what_differs_is_named(other: Node, what: str) -> None:
    assert overridden([DECLARED], [other]) == {"n1": what}
    assert overridden([DECLARED], [DECLARED]) == {}


def provision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *ansible_args: str) -> None:
    def load(*_args: object, extra_vars: Sequence[str], **_how: object) -> tuple[Node, ...]:
        return (changed(roles={"hardware": {"gpus": 4}}, digest="d2") if "gpus=4" in extra_vars else DECLARED,)

    def validate(nodes: Sequence[Node], **_how: object) -> list[NodeFindings]:
        return [NodeFindings(n.name, NodeStatus.UNREACHABLE, "", (), 0.1) for n in nodes]

    monkeypatch.setattr(start, "load_nodes", load)
    monkeypatch.setattr(start, "validate", validate)
    config = Config(root=tmp_path, inventory=(), state_dir=tmp_path, operator="ada")
    silent = ProgressListener(notify=lambda _: None, output=lambda _: None, confirm=lambda _: True)
    plan_provision(config, ProvisionRequest("n1", ProvisionOptions(ansible_args=ansible_args)), silent)


def test_an_override_of_the_declared_state_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageProblemError, match="-e changes what n1 is declared to be: hardware") as caught:
        provision(tmp_path, monkeypatch, "-e", "gpus=4")
    assert "host_vars" in caught.value.hint


def test_a_variable_that_nothing_declared_depends_on_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provision(tmp_path, monkeypatch, "-e", "provision_serial=1")
