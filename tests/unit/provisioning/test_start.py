"""How a provisioning run is put together from the site's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.config import Config
from clusterctl.model.errors import UsageProblemError
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.provision import ProvisionOptions
from clusterctl.workflows.provision import start
from clusterctl.workflows.provision.request import ProgressListener, ProvisionRequest
from clusterctl.workflows.provision.start import plan_provision, run_provision
from support.gates import node

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl.model.node import Node


@pytest.mark.parametrize("percent", [20, 0])
def test_checks_of_a_run_keep_the_sites_quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, percent: int) -> None:
    asked: list[dict[str, Any]] = []

    def validate(nodes: Sequence[Node], **how: Any) -> tuple[NodeFindings, ...]:
        asked.append(how)
        return tuple(NodeFindings(n.name, NodeStatus.OK, "", (), 0.1) for n in nodes)

    monkeypatch.setattr(start, "validate", validate)
    monkeypatch.setattr(start, "load_nodes", lambda *_args, **_how: (node("n1"),))
    config = Config(root=tmp_path, inventory=(), state_dir=tmp_path, operator="ada", cpu_quota_percent=percent)
    silent = ProgressListener(notify=lambda _: None, output=lambda _: None, confirm=lambda _: True)
    plan_provision(config, ProvisionRequest("n1", ProvisionOptions()), silent)
    assert [how["settings"].cpu_quota_percent for how in asked] == [percent]


def test_a_role_that_no_node_has_is_refused_before_anything_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "load_nodes", lambda *_args, **_how: (node("n1"),))
    config = Config(root=tmp_path, inventory=(), state_dir=tmp_path, operator="ada")
    silent = ProgressListener(notify=lambda _: None, output=lambda _: None, confirm=lambda _: True)
    with pytest.raises(UsageProblemError, match="no node of the target has role 'hardwara'; did you mean 'hardware'") as caught:
        run_provision(config, ProvisionRequest("n1", ProvisionOptions(roles=("hardwara",))), silent)
    assert caught.value.hint == "roles of the target: hardware"
    assert not (tmp_path / "runs").exists()
