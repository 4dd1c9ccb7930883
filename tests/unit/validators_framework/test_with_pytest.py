from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.bundle_run import EXAMPLES
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def run_pytest(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({"roles": {"example": {"example_value": 64}}}))
    argv = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "clusterctl_validators.plugin",
        "--spec",
        str(spec),
        "-c",
        os.devnull,
        "-q",
        "-rA",
        *words,
    ]
    env = {**os.environ, "PYTHONPATH": f"{ROOT}/tools:{ROOT}/validators"}
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path, env=env)


@pytest.mark.parametrize("hosts", [(), ("--hosts=local://",)])
def test_a_module_by_its_path(tmp_path: Path, hosts: tuple[str, ...]) -> None:
    done = run_pytest(tmp_path, str(EXAMPLES / "test_example.py"), *hosts)
    assert done.returncode == 1, done.stdout
    assert "fail example.value.persisted: expected 64, found " in done.stdout
    assert "1 failed, 7 passed" in done.stdout


def test_a_role_without_a_module_is_an_error(tmp_path: Path) -> None:
    done = run_pytest(tmp_path)
    assert done.returncode == 4, "no module for the role `example` in the package"
    assert "could_not_run example.validator: no validator for this role" in done.stderr


def test_remote_probe_reads_like_the_local_one(tmp_path: Path) -> None:
    import testinfra  # noqa: PLC0415

    from clusterctl_validators.sources import HostSource, LocalSource  # noqa: PLC0415

    remote, local = HostSource(testinfra.get_host("local://")), LocalSource()
    (tmp_path / "a file").write_text("text\n")
    (tmp_path / "a file").chmod(0o640)
    for source in (remote, local):
        assert source.read(f"{tmp_path}/a file") == "text\n"
        assert source.read(f"{tmp_path}/absent") is None
        assert source.glob(f"{tmp_path}/a*") == [f"{tmp_path}/a file"]
        assert source.glob(f"{tmp_path}/b*") == []
        assert source.owner_and_mode(f"{tmp_path}/a file") == (tmp_path.owner(), "640")
        assert source.owner_and_mode(f"{tmp_path}/absent") is None
        assert source.run(["sh", "-c", "echo $LANG; exit 4"], 5).rc == 4
        assert source.run(["no-such-tool"], 5).rc is None
        assert source.run(["sleep", "60"], 0.2).error == "timed out after 0.2 s"
