"""A node whose disk cannot be written to: it was reached, and the reason is what its system reports."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.ansible.playbook_request import PlaybookRequest
from clusterctl.adapters.inventory.sent_variables import SentVariables
from clusterctl.adapters.on_node import archive
from clusterctl.adapters.on_node import run_on_nodes as module
from clusterctl.adapters.ssh import keys
from clusterctl.model.playbook_result import HostStatus
from clusterctl_on_node import entry, run_folder
from support.provisioning import node
from support.ssh_node import SshNode

if TYPE_CHECKING:
    from pathlib import Path

    from support.ssh_node import Process

FOLDER = "/var/lib/clusterctl/content-1"
PROBLEM = f"the disk of the node cannot be written to: Read-only file system: {FOLDER}"


def read_only(*_words: object) -> Path:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS), FOLDER)


def test_the_entry_names_the_problem_and_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = json.dumps({"token": "ab" * 16, "action": "start"}).encode() + b"\n"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(given)))
    monkeypatch.setattr(run_folder, "root_folder", lambda: tmp_path)
    monkeypatch.setattr(entry, "unpacked", read_only)
    assert entry.main("0" * 64) == entry.EXIT_DISK
    assert capsys.readouterr().err == f"clusterctl: {PROBLEM}\n"


def test_what_is_not_of_the_disk_is_not_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_process(*_words: object) -> Path:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    given = json.dumps({"token": "ab" * 16, "action": "start"}).encode() + b"\n"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(given)))
    monkeypatch.setattr(run_folder, "root_folder", lambda: tmp_path)
    monkeypatch.setattr(entry, "unpacked", no_process)
    with pytest.raises(OSError, match="Cannot allocate memory"):
        entry.main("0" * 64)


def test_it_is_the_reason_of_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(process: Process) -> None:
        process.stderr.write(f"clusterctl: {PROBLEM}\n".encode())
        process.exit(entry.EXIT_DISK)

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setattr(keys, "SYSTEM_KNOWN_HOSTS", tmp_path / "none")
    monkeypatch.setattr(module, "passwords", lambda *_: {})
    monkeypatch.setattr(archive, "members", dict)
    with SshNode(tmp_path / "n1", answer) as server:
        nodes = [replace(node("n1"), connection=server.connection())]
        request, variables = PlaybookRequest("provision.yml", (), ("n1",)), SentVariables(of_node={"n1": {}})
        found = module.run_on_nodes(request, nodes, tmp_path / "ansible", tmp_path, variables)
    host = found.result.hosts["n1"]
    assert (host.status, [f.message for f in host.failures]) == (HostStatus.NOT_PROCESSED, [f"ended: {PROBLEM}"])
    assert not found.unsuited
