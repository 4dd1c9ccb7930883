from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from clusterctl.model.errors import LabError
from clusterctl_lab import inventory_layer
from clusterctl_lab.bmc import server_process
from clusterctl_lab.layout import BMC_PORT, LabPaths, lab_rack
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


def test_an_address_that_another_lab_serves_is_not_taken_for_its_own(paths: LabPaths, tmp_path: Path) -> None:
    nodes = lab_rack("rack-251", 2).nodes
    other = LabPaths(tmp_path / "other")
    ensure_keys(other, nodes)
    inventory_layer.write_layer(other, [lab_rack("rack-251", 2)])
    server_process.ensure_serving(paths, nodes[:1])
    with pytest.raises(LabError, match=f"the lab in {paths.root} serves the BMC of r251-n01") as refused:
        server_process.ensure_serving(other, nodes)
    assert f"process {server_process.running_server(paths)[0]}" in (refused.value.hint or "")
    assert server_process.running_server(other) == (0, [])
    server_process.stop_server(paths)
    server_process.ensure_serving(other, nodes)
    server_process.stop_server(other)


def test_an_address_that_another_program_holds_is_named(paths: LabPaths) -> None:
    (node,) = lab_rack("rack-251", 1).nodes
    with socket.create_server((node.bmc_address, BMC_PORT)), pytest.raises(LabError, match="another program listens on") as refused:
        server_process.ensure_serving(paths, [node])
    assert f"{node.bmc_address}:{BMC_PORT}" in str(refused.value)


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
