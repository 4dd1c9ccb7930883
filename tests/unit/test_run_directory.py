"""Files of a run are written atomically."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import stat
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from clusterctl.adapters import run_directory
from clusterctl.adapters.config import read_config
from clusterctl.adapters.run_directory import RunDir, write_atomically
from clusterctl.model.errors import RunDirectoryGoneError, StoreError
from clusterctl.workflows.admit import stored_evidence
from clusterctl.workflows.judge_again import find_run
from support.stores import a_node, a_run, findings, fresh

if TYPE_CHECKING:
    from pathlib import Path


def test_a_new_run_directory_is_private_and_unique(tmp_path: Path) -> None:
    one, other = RunDir.create(tmp_path, "provision"), RunDir.create(tmp_path, "provision")
    assert one.id != other.id
    assert one.path == tmp_path / "runs" / one.id
    assert stat.S_IMODE(one.path.stat().st_mode) == 0o700
    assert RunDir.open(one.path) == one


def test_runs_that_begin_in_the_same_second_draw_again_where_they_would_share_a_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = datetime(2026, 11, 28, 2, 18, 14, tzinfo=UTC)
    monkeypatch.setattr(run_directory, "datetime", Mock(now=Mock(return_value=moment)))
    monkeypatch.setattr(secrets, "token_hex", Mock(side_effect=["da2801", "da2801", "da2802"]))
    ids = [RunDir.create(tmp_path, "admit").id for _ in range(2)]
    assert ids == ["20261128-021814-admit-da2801", "20261128-021814-admit-da2802"]


def test_json_and_text_are_read_as_written(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path, "validate")
    path = run.write_json("findings/r12-n01.json", {"b": 1, "a": "é"})
    assert json.loads(path.read_text()) == {"b": 1, "a": "é"}
    run.write_text("broken.txt", "lone surrogate \udc80")
    assert run.read_text("broken.txt") == "lone surrogate \\udc80"
    assert run.read_text("absent") is None
    assert run.files() == ("broken.txt", "findings/r12-n01.json")
    assert run.digests("findings") == {f"{run.id}/findings/r12-n01.json": hashlib.sha256(path.read_bytes()).hexdigest()}


@pytest.mark.parametrize("relative", ["/etc/passwd", "../outside", "a/../../outside"])
def test_paths_outside_of_the_directory_are_refused(tmp_path: Path, relative: str) -> None:
    run = RunDir.create(tmp_path, "validate")
    with pytest.raises(ValueError, match="inside"):
        run.write_text(relative, "x")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_and_infinity_are_refused(tmp_path: Path, value: float) -> None:
    run = RunDir.create(tmp_path, "validate")
    with pytest.raises(ValueError, match="JSON"):
        run.write_json("x.json", {"v": value})
    assert run.files() == ()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    run = RunDir.create(tmp_path, "provision")
    run.write_text("verdict.json", "old")

    def fail(_handle: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StoreError, match=os.strerror(number)) as caught:
        run.write_text("verdict.json", "new")
    assert caught.value.hint
    assert run.read_text("verdict.json") == "old"
    assert [p.name for p in run.path.iterdir()] == ["verdict.json"]


@pytest.mark.skipif(os.getuid() != 0, reason="mounting a tiny file system needs root")
def test_a_full_file_system_is_reported_and_leaves_no_file(tmp_path: Path) -> None:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)], check=False, capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a tmpfs: {mounted.stderr.strip()}")
    try:
        run = RunDir.create(tmp_path, "provision")
        with pytest.raises(StoreError, match="No space left") as caught:
            run.write_text("big.txt", "x" * 200_000)
        assert "free space" in caught.value.hint
        assert run.files() == ()
        assert not list(run.path.iterdir())
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_state_dir_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(StoreError) as caught:
        RunDir.create(tmp_path / "state", "provision")
    assert "--state-dir" in caught.value.hint


def test_a_missing_run_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryGoneError, match="no longer exists"):
        RunDir.open(tmp_path / "absent")


def test_a_run_without_a_directory_does_not_have_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert RunDir.find(a_run(directory=str(tmp_path))) == RunDir(tmp_path.name, tmp_path)
    for gone in (a_run(directory=""), a_run(directory=str(tmp_path / "deleted"))):
        assert RunDir.find(gone) is None
        with pytest.raises(RunDirectoryGoneError, match=gone.id):
            RunDir.of(gone)


def test_records_that_no_run_has_prove_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither an admission nor the judge takes the working directory for the records of a run without one."""
    monkeypatch.chdir(tmp_path)
    with fresh(tmp_path / "state") as store:
        store.register([a_node()])
        store.start_run(a_run(), ["r12-n01"])
        store.save_findings(a_run().id, findings())
        with pytest.raises(RunDirectoryGoneError, match=a_run().id):
            stored_evidence(store, "r12-n01", findings(), ())
    with pytest.raises(RunDirectoryGoneError, match=a_run().id):
        find_run(read_config(state_dir=str(tmp_path / "state")), a_run().id)


def test_a_kill_during_a_write_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "verdict.json"
    write_atomically(target, "old")
    code = f"""
import os, signal
from pathlib import Path
from clusterctl.adapters.run_directory import write_atomically
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
write_atomically(Path({str(target)!r}), "new")
"""
    killed = subprocess.run([sys.executable, "-c", code], check=False, env=os.environ | {"PYTHONPATH": ":".join(sys.path)})
    assert killed.returncode == -9
    assert target.read_text() == "old"
    assert RunDir("x", tmp_path).files() == ("verdict.json",)


def test_a_file_above_its_limit_is_not_read(tmp_path: Path) -> None:
    rundir = RunDir.create(tmp_path, "burnin")
    rundir.write_text("records/n1.jsonl", "x" * 101)
    assert rundir.read_text("records/n1.jsonl", 100) is None
    assert rundir.read_text("records/n1.jsonl", 101) == "x" * 101
