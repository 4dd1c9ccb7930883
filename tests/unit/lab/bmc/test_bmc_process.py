from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab import hosts_layer
from clusterctl_lab.bmc import process
from clusterctl_lab.keys import ensure_keys
from clusterctl_lab.layout import LabPaths, lab_rack

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def paths(tmp_path: Path) -> Iterator[LabPaths]:
    found = LabPaths(tmp_path / "lab")
    ensure_keys(found, lab_rack("rack-251", 2).nodes)
    hosts_layer.write_layer(found, [lab_rack("rack-251", 2)])
    yield found
    process.stop(found)


def test_it_starts_once_and_ends(paths: LabPaths) -> None:
    nodes = lab_rack("rack-251", 2).nodes
    process.serve(paths, nodes)
    pid, names = process.running(paths)
    assert names == ["r251-n01", "r251-n02"]
    process.serve(paths, nodes)
    assert process.running(paths)[0] == pid
    process.serve(paths, nodes[:1])
    assert process.running(paths)[1] == ["r251-n01"]
    process.stop(paths)
    assert process.running(paths) == (0, [])
    assert not paths.bmc_pid.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_process_id_that_now_means_something_else_is_left_alone(paths: LabPaths) -> None:
    other = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    paths.bmc_pid.write_text(str(other.pid))
    assert process.running(paths) == (0, [])
    process.stop(paths)
    assert other.poll() is None
    other.communicate(b"")


@pytest.mark.parametrize("content", ["", "not a number", "999999999"])
def test_a_broken_pid_file_means_nothing_runs(paths: LabPaths, content: str) -> None:
    paths.bmc_pid.write_text(content)
    assert process.running(paths) == (0, [])


def test_the_key_is_private(paths: LabPaths) -> None:
    process.serve(paths, lab_rack("rack-251", 1).nodes)
    assert paths.bmc_key.stat().st_mode & 0o077 == 0
