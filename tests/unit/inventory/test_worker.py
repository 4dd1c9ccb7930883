"""A worker that does not answer as it should."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.inventory import worker
from clusterctl.adapters.inventory.wire import Operation, WorkerRequest
from clusterctl.model.exit_codes import ExitCode

if TYPE_CHECKING:
    from pathlib import Path

REQUEST = WorkerRequest(Operation.NODES, ("/nowhere",), "/nowhere", target="rack-1", extra_vars=("a=b",), vault_ids=("x@y",))


@pytest.fixture(autouse=True)
def inventory_workers() -> None:
    """Workers as users have them: these tests are about their processes."""


def pretend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo boom >&2; exit 7", "exit status 7: boom"),
        ("echo '{\"ok\": {'", "exit status 0: it printed nothing"),
        ("kill -9 $$", "exit status -9"),
        ("exit 0", "exit status 0"),
    ],
)
def test_no_answer_is_an_error_of_ours(script: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, tmp_path, script)
    with pytest.raises(worker.WorkerCrashedError) as caught:
        worker.query_worker(REQUEST)
    assert says in str(caught.value)
    assert caught.value.exit_code is ExitCode.UNEXPECTED
    assert "Traceback" not in str(caught.value)


def test_a_worker_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, tmp_path, "exec sleep 60")
    monkeypatch.setattr(worker, "_TIMEOUT_S", 0.2)
    with pytest.raises(worker.WorkerCrashedError, match=r"no answer after 0\.2 s"):
        worker.query_worker(REQUEST)


def test_an_answer_of_an_unknown_kind_is_not_taken_for_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, tmp_path, 'echo \'{"error": {"failure": "new"}}\'')
    with pytest.raises(ValueError, match="new"):
        worker.query_worker(REQUEST)


def test_a_request_survives_the_wire() -> None:
    assert WorkerRequest.from_dict(json.loads(json.dumps(REQUEST.to_dict()))) == REQUEST


def test_strict_reading_and_the_sites_own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANSIBLE_CONFIG", raising=False)
    monkeypatch.setenv("A_TOKEN", "x")
    env = worker._environment(REQUEST)
    assert env["ANSIBLE_CONFIG"] == "/nowhere/ansible.cfg"
    assert env["ANSIBLE_DUPLICATE_YAML_DICT_KEY"] == "error"
    assert "A_TOKEN" not in env
    (tmp_path / "ansible.cfg").write_text("")
    assert worker._environment(REQUEST)["ANSIBLE_CONFIG"] == str(tmp_path / "ansible.cfg")
    monkeypatch.setenv("ANSIBLE_CONFIG", "/etc/mine.cfg")
    assert worker._environment(REQUEST)["ANSIBLE_CONFIG"] == "/etc/mine.cfg"
