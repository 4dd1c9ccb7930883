from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab import inventory_layer
from clusterctl_lab.bmc import server_process
from clusterctl_lab.layout import LabPaths, lab_rack
from clusterctl_lab.ssh_keys import ensure_keys

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def paths(tmp_path: Path) -> Iterator[LabPaths]:
    found = LabPaths(tmp_path / "lab")
    ensure_keys(found, lab_rack("rack-251", 2).nodes)
    inventory_layer.write_layer(found, [lab_rack("rack-251", 2)])
    yield found
    server_process.stop_server(found)


def test_one_process_serves_the_named_nodes_until_it_is_stopped(paths: LabPaths) -> None:
    nodes = lab_rack("rack-251", 2).nodes
    server_process.ensure_serving(paths, nodes)
    pid, names = server_process.running_server(paths)
    assert names == ["r251-n01", "r251-n02"]
    server_process.ensure_serving(paths, nodes)
    assert server_process.running_server(paths)[0] == pid
    server_process.ensure_serving(paths, nodes[:1])
    assert server_process.running_server(paths)[1] == ["r251-n01"]
    server_process.stop_server(paths)
    assert server_process.running_server(paths) == (0, [])
    assert not paths.bmc_pid.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_process_that_reuses_the_id_is_not_stopped(paths: LabPaths) -> None:
    other = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    paths.bmc_pid.write_text(str(other.pid))
    assert server_process.running_server(paths) == (0, [])
    server_process.stop_server(paths)
    assert other.poll() is None
    other.communicate(b"")


@pytest.mark.parametrize("content", ["", "not a number", "999999999"])
def test_an_invalid_pid_file_counts_as_no_process(paths: LabPaths, content: str) -> None:
    paths.bmc_pid.write_text(content)
    assert server_process.running_server(paths) == (0, [])


def test_only_the_owner_can_read_the_key(paths: LabPaths) -> None:
    server_process.ensure_serving(paths, lab_rack("rack-251", 1).nodes)
    assert paths.bmc_key.stat().st_mode & 0o077 == 0
