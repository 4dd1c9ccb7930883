from __future__ import annotations

import socket
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from clusterctl.core.parsers import parse_output
from clusterctl_lab.simulator import mpirun, nccl_tests, peers
from support.lab_machine import LabMachine, lab_machine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clusterctl.model.gate_result import Sample

NODE_WORDS = "-b 17179869184 -e 17179869184 -n 5 -w 5 -c 1 -g 8"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    made = lab_machine(tmp_path, monkeypatch)
    made.gpu_stack()
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    return made


def measured(text: str, metric: str) -> list[Sample]:
    return [s for s in parse_output("nccl_tests", text) if s.metric == metric]


def run_node(capsys: pytest.CaptureFixture[str], words: str = NODE_WORDS, name: str = "all_reduce_perf") -> tuple[int, str]:
    code = nccl_tests.main([name, *words.split()], "2.17.6")
    return code, capsys.readouterr().out


def test_a_healthy_node_is_above_the_floor_with_nvls(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = run_node(capsys)
    assert code == 0
    assert all(460 < s.value < 500 and s.size_bytes == 2**34 for s in measured(text, "busbw"))
    assert all(s.value == 0 for s in measured(text, "wrong"))
    assert "NVLS comm" in text


def test_slow_nccl_is_below_the_floor_and_does_not_use_nvls(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    node.inject_fault("nccl_slow")
    _, text = run_node(capsys)
    assert all(s.value < 400 for s in measured(text, "busbw"))
    assert "NVLS comm" not in text


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("gpu_missing", "invalid device ordinal"),
        ("no fabric", "system not yet initialized"),
        ("no driver", "driver version is insufficient"),
        ("no nccl", "libnccl.so.2"),
    ],
)
def test_a_missing_prerequisite_fails_with_the_real_message(
    node: LabMachine, broken: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if broken == "gpu_missing":
        node.inject_fault("gpu_missing")
    else:
        file = {"no fabric": "run/fabric", "no driver": "loaded/nvidia/version", "no nccl": "packages/libnccl2"}[broken]
        (node.root / file).unlink()
    code, text = run_node(capsys)
    assert code != 0
    assert message in text
    assert "Avg bus bandwidth" not in text


@pytest.mark.parametrize("name", ["all_reduce_perf", "all_gather_perf", "reduce_scatter_perf", "alltoall_perf", "sendrecv_perf"])
def test_bandwidth_grows_with_the_message_size(node: LabMachine, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, text = run_node(capsys, "-b 8 -e 1G -f 4 -g 8", name)
    values = [s.value for s in measured(text, "busbw")]
    assert len(values) == 14
    assert values[0] <= values[-2] <= 500


def test_sendrecv_does_not_check_in_place_and_its_two_bandwidths_are_equal(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    _, text = run_node(capsys, "-b 1G -e 1G -g 8", "sendrecv_perf")
    found = {s.metric: s for s in parse_output("nccl_tests", text) if s.size_bytes}
    assert found["busbw"].value == found["algbw"].value
    assert (found["wrong"].status, found["wrong_in_place"].status) == ("", "N/A")
    assert {s.op for s in parse_output("nccl_tests", text) if s.metric == "busbw"} == {"sendrecv"}


def test_help_is_marked_as_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    assert nccl_tests.main(["all_reduce_perf", "--help"], "2.17.6") == 0
    text = capsys.readouterr().out
    assert "USAGE: all_reduce_perf" in text
    assert "simulated" in text


def test_gpudirect_needs_no_peermem_because_nccl_uses_dma_buf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = lab_machine(tmp_path, monkeypatch)
    node.load(nvidia="580.126.20")
    assert peers.describe_self().gdr
    node.inject_fault("gpudirect_off")
    assert not peers.describe_self().gdr


def test_without_peermem_and_dma_buf_there_is_no_gpudirect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = lab_machine(tmp_path, monkeypatch)
    node.load(nvidia="580.126.20")
    conf = tmp_path / "nccl.conf"
    conf.write_text("NCCL_DEBUG=INFO\nNCCL_DMABUF_ENABLE=0\n")
    monkeypatch.setattr(peers, "NCCL_CONF", str(conf))
    assert not peers.describe_self().gdr
    node.load(nvidia_peermem="580.126.20")
    assert peers.describe_self().gdr


@pytest.fixture
def group(node: LabMachine) -> Iterator[dict[str, peers.Peer]]:
    """Two nodes that answer queries on the loopback, as their supervisors do."""
    me = peers.describe_self()
    nodes = {f"127.0.0.{i}": peers.Peer(**{**me.__dict__, "node": f"n{i}"}) for i in (1, 2)}
    servers: list[socket.socket] = []
    for address in nodes:
        server = socket.create_server((address, 0)) if not servers else socket.create_server((address, servers[0].getsockname()[1]))
        servers.append(server)
        threading.Thread(target=answer, args=(server, nodes, address), daemon=True).start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(peers.query_peer, "__defaults__", (servers[0].getsockname()[1],))
        yield nodes
    for server in servers:
        server.close()


def answer(server: socket.socket, nodes: dict[str, peers.Peer], address: str) -> None:
    while True:
        try:
            client, _ = server.accept()
        except OSError:
            return
        with client:
            client.recv(64)
            client.sendall(nodes[address].to_json().encode() + b"\n")


# Stands for the agent of the burn-in: a daemon for the node of an address, on this machine.
AGENT = """import os, sys, types
from clusterctl_lab.simulator import orted
os.uname = lambda: types.SimpleNamespace(nodename="n" + sys.argv[1][-1])
sys.exit(orted.main(sys.argv[2:], "4.1.6"))
"""


@pytest.fixture
def agent(tmp_path: Path) -> str:
    (tmp_path / "agent.py").write_text(AGENT)
    return f"{sys.executable} {tmp_path}/agent.py"


def run_group(
    capsys: pytest.CaptureFixture[str], agent: str, hosts: str = "127.0.0.1:8,127.0.0.2:8", exported: str = ""
) -> tuple[int, str]:
    words = (
        f"--allow-run-as-root -np 16 --host {hosts} --bind-to numa -x NCCL_DEBUG=INFO {exported} all_reduce_perf -b 16G -e 16G -g 1".split()
    )
    code = mpirun.main(["mpirun", *(["--mca", "plm_rsh_agent", agent] if agent else []), *words], "4.1.6")
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def test_a_group_communicates_over_rdma(group: dict[str, peers.Peer], agent: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = run_group(capsys, agent)
    assert code == 0
    assert all(470 < s.value < 490 for s in measured(text, "busbw")), "each of the two reduces in its NVSwitches first"
    assert "via NET/IB/7/GDRDMA" in text
    assert text.count("#  Rank") == 16


@pytest.mark.parametrize(("share", "in_a_ring", "busbw"), [(1.0, True, 389.0), (0.8, False, 485.0), (0.8, True, 311.2)])
def test_only_a_ring_shows_an_adapter_that_is_slow(
    group: dict[str, peers.Peer], agent: str, share: float, in_a_ring: bool, busbw: float, capsys: pytest.CaptureFixture[str]
) -> None:
    group["127.0.0.2"] = peers.Peer(**{**group["127.0.0.2"].__dict__, "slowest_hca": share})
    _, text = run_group(capsys, agent, exported="-x NCCL_ALGO=Ring" if in_a_ring else "")
    assert all(s.value == pytest.approx(busbw, rel=0.02) for s in measured(text, "busbw"))


@pytest.mark.parametrize(
    ("change", "below", "line"),
    [({"slowest_hca": 0.5}, 380.0, "GDRDMA"), ({"nccl_factor": 0.76}, 380.0, "GDRDMA"), ({"gdr": False}, 300.0, "via NET/IB/7\n")],
)
def test_the_slowest_member_limits_a_group(
    group: dict[str, peers.Peer], agent: str, change: dict[str, object], below: float, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    group["127.0.0.2"] = peers.Peer(**{**group["127.0.0.2"].__dict__, **change})
    _, text = run_group(capsys, agent)
    assert all(s.value < below for s in measured(text, "busbw"))
    assert line in text


def test_a_node_that_does_not_answer_fails_the_group(group: dict[str, peers.Peer], agent: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = run_group(capsys, agent, "127.0.0.1:8,127.0.0.3:8")
    assert code == 1
    assert "unable to reliably start" in text


@pytest.mark.parametrize("agent", ["", "false"])
def test_without_a_launch_agent_that_works_no_daemon_starts(
    group: dict[str, peers.Peer], agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = run_group(capsys, agent)
    assert code == 1
    assert "unable to reliably start" in text
    assert ("Host key verification failed" in text) == (agent == "")
    assert "Rank" not in text


def test_a_node_without_the_program_fails_the_group(group: dict[str, peers.Peer], agent: str, capsys: pytest.CaptureFixture[str]) -> None:
    group["127.0.0.2"] = peers.Peer(**{**group["127.0.0.2"].__dict__, "tests": ""})
    code, text = run_group(capsys, agent)
    assert code == 134
    assert "Node: n2" in text


@pytest.mark.parametrize("words", ["", "--host a:8", "--host a:8 hostname", "all_reduce_perf"])
def test_command_lines_that_are_not_simulated_are_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert mpirun.main(["mpirun", *words.split()], "4.1.6") == 1
    assert "not simulated" in capsys.readouterr().err


def test_hosts_are_parsed_with_and_without_slots() -> None:
    assert mpirun.parse_hosts({"--host": ["a:8,b:4"], "-H": ["c"]}) == [("a", 8), ("b", 4), ("c", 1)]
