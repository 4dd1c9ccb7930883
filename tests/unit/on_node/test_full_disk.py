from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.ansible.events import AnsibleEvent
from clusterctl.adapters.ansible.playbook_request import PlaybookRequest
from clusterctl.adapters.inventory.sent_variables import SentVariables
from clusterctl.adapters.on_node import run_on_nodes as module
from clusterctl.adapters.on_node.node_run import Ended, NodeRun
from clusterctl.model.errors import StoreError
from support.provisioning import node

if TYPE_CHECKING:
    from pathlib import Path


def test_a_full_disk_of_the_controller_is_an_error_of_the_store_with_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(self: NodeRun, _client: object, _password: str) -> Ended:
        self.on_event(AnsibleEvent("TASK [nccl : Write the settings]"))
        return Ended.COMPLETED

    monkeypatch.setattr(NodeRun, "run", run)
    monkeypatch.setattr(module, "passwords", lambda *_: {})
    artifacts = tmp_path / "ansible"
    artifacts.mkdir()
    (artifacts / "ansible-n1.log").symlink_to("/dev/full")
    nodes = (node("n1"),)
    with pytest.raises(StoreError, match="No space left on device") as caught:
        module.run_on_nodes(PlaybookRequest("provision.yml", (), ("n1",)), nodes, artifacts, tmp_path, SentVariables(of_node={"n1": {}}))
    assert caught.value.hint.startswith("free space there")
