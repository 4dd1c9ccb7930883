"""A node that lets nobody run what it was sent: noexec on /var, or fapolicyd. Its roles then run from the controller, and the operator reads why."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.ansible.playbook_request import PlaybookRequest
from clusterctl.adapters.inventory.sent_variables import SentVariables
from clusterctl.adapters.on_node import archive
from clusterctl.adapters.on_node import run_on_nodes as module
from clusterctl.adapters.ssh import keys
from clusterctl_on_node import content, entry, run_folder
from clusterctl_on_node.run_folder import RefusedError
from support.provisioning import node
from support.ssh_node import SshNode

if TYPE_CHECKING:
    from support.ssh_node import Process


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    folder = tmp_path / "content-1"
    for name in content.USED:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import sys\n")
        path.chmod(0o700)
    return folder


def test_what_can_be_opened_and_executed_is_used(unpacked: Path) -> None:
    content.check_usable(unpacked)


def test_a_file_system_that_executes_nothing_is_named(unpacked: Path) -> None:
    """access(2) denies X_OK on a file system mounted noexec, also to root; a file without an execute bit is denied in the same way."""
    (unpacked / content.PROGRAM).chmod(0o600)
    with pytest.raises(RefusedError) as caught:
        content.check_usable(unpacked)
    assert caught.value.code == content.EXIT_FORBIDDEN
    assert str(caught.value) == f"the node executes nothing in {unpacked}: its file system is mounted noexec (findmnt -T {unpacked})"


@pytest.mark.parametrize("name", content.USED)
def test_a_program_that_may_not_be_opened_is_named(name: str, unpacked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """fapolicyd denies an open with EPERM, whoever opens (fanotify(7), FAN_DENY; linux-application-whitelisting/fapolicyd issue 311)."""
    real = Path.open

    def open_or_deny(self: Path, *words: Any, **named: Any) -> Any:
        if self == unpacked / name:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(self))
        return real(self, *words, **named)

    monkeypatch.setattr(Path, "open", open_or_deny)
    with pytest.raises(RefusedError) as caught:
        content.check_usable(unpacked)
    assert caught.value.code == content.EXIT_FORBIDDEN
    assert (
        str(caught.value) == f"the node does not let root open {unpacked / name} (Operation not permitted): a rule of fapolicyd or SELinux"
    )


def test_the_entry_starts_no_run_there(
    unpacked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = json.dumps({"token": "ab" * 16, "action": "start"}).encode() + b"\n"
    (unpacked / content.PROGRAM).chmod(0o600)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(given)))
    monkeypatch.setattr(run_folder, "root_folder", lambda: tmp_path / "runs")
    monkeypatch.setattr(entry, "unpacked", lambda *_: unpacked)
    assert entry.main("0" * 64) == content.EXIT_FORBIDDEN
    assert capsys.readouterr().err.startswith("clusterctl: the node executes nothing in ")
    assert not (tmp_path / "runs").exists()


def test_its_roles_run_from_the_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(process: Process) -> None:
        process.stderr.write(b"/etc/profile.d/tmout.sh: line 1: TMOUT: readonly variable\nclusterctl: the node executes nothing in /var\n")
        process.exit(content.EXIT_FORBIDDEN)

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setattr(keys, "SYSTEM_KNOWN_HOSTS", tmp_path / "none")
    monkeypatch.setattr(module, "passwords", lambda *_: {})
    monkeypatch.setattr(archive, "members", dict)
    with SshNode(tmp_path / "n1", answer) as server:
        nodes = [replace(node("n1"), connection=server.connection())]
        request, variables = PlaybookRequest("provision.yml", (), ("n1",)), SentVariables(of_node={"n1": {}})
        found = module.run_on_nodes(request, nodes, tmp_path / "ansible", tmp_path, variables)
    assert found.unsuited == {"n1": "the node executes nothing in /var"}
