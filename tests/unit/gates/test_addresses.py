"""An address is an address, in either family: how programs of gates are handed the addresses of nodes, and which are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.mpi_options import mpi_hosts
from clusterctl.core.gates.pair_gate import PairGate
from clusterctl.core.gates.planning.step import ServerPlace, Side
from clusterctl.core.gates.registry import gate_named
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.errors import GatesInvalidError
from clusterctl.model.gate_reason import GateReason
from support.agents import program
from support.gates import TODAY, gates, meeting, node, nodes, plan

IPV6 = ("2001:db8::1", "2001:db8:0:1::", "::ffff:10.0.0.1", "fd00:12::a:b:c")


@pytest.mark.parametrize("gate", ["rdma_pair", "rdma_pair_gpu", "rdma_latency"])
@pytest.mark.parametrize(("address", "words"), [("2001:db8::1", 1), ("10.0.0.1", 0), ("n1.example", 0)])
def test_both_sides_of_a_pair_use_the_family_of_the_server(gate: str, address: str, words: int) -> None:
    subject, measured = subject_of(node("n1"), TODAY), gate_named(gate)
    assert isinstance(measured, PairGate)
    server, client = (
        measured.argv(subject.profile.settings[gate], "full", subject.hcas[0], ServerPlace(address, 18515, is_own=own))
        for own in (True, False)
    )
    assert server.count("--ipv6-addr") == words
    assert client == (*server, address)


def test_the_sides_of_a_pair_know_the_address_of_their_server() -> None:
    pair = [node(f"n{i}", declared=gates(gates_peer_address=f"2001:db8::{i}")) for i in (1, 2)]
    steps = [s for own in plan(pair, ["rdma_pair"]).steps.values() for s in own]
    assert {s.side for s in steps} == {Side.SERVER, Side.CLIENT}
    assert all("--ipv6-addr" in s.argv for s in steps)
    assert all(s.argv[-1] == s.peer_address for s in steps if s.side is Side.CLIENT)


@pytest.mark.parametrize("address", [*IPV6, "10.0.0.2", "n2", "n2.rack1.example", "ipv6-gateway", "ipv6-n2.example", "ipv6-"])
def test_the_launch_agent_connects_to_the_address_that_mpi_was_given_as_a_name(address: str) -> None:
    """Open MPI 4.1 accepts letters, digits, dots and hyphens."""
    hosts = mpi_hosts(["2001:db8::9", address], [8, 4])
    launcher, _, host = hosts.partition(",")
    name, _, slots = host.partition(":")
    assert (launcher, slots) == ("localhost:8", "4")
    assert name.replace("-", "").replace(".", "").isalnum()
    assert program("rank_starter").address_of(name) == address


@pytest.mark.parametrize("address", [*IPV6, "10.0.0.2", "n2", "n2.rack1.example.", "gpu_1", ""])
def test_addresses_of_nodes_are_accepted(address: str) -> None:
    assert profile_of(node("n1", declared=gates(gates_peer_address=address.rstrip("."))), TODAY)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("fe80::1", "is link-local"),
        ("fe80::1%eth0", "is link-local"),
        ("169.254.3.1", "is link-local"),
        ("::", "not the address of one node"),
        ("0.0.0.0", "not the address of one node"),
        ("ff02::1", "not the address of one node"),
        ("[2001:db8::1]", "without brackets"),
        ("2001:db8::1/64", "without brackets, port and prefix length"),
        ("10.0.0.1:22", "without brackets, port and prefix length"),
        ("10.0.0.300", "is neither an IP address"),
        ("n1 n2", "is neither an IP address"),
    ],
)
def test_addresses_that_no_other_node_can_use_are_refused(address: str, why: str) -> None:
    with pytest.raises(GatesInvalidError, match="gates_peer_address: ") as refused:
        profile_of(node("n1", declared=gates(gates_peer_address=address)), TODAY)
    assert why in str(refused.value)


def test_a_link_local_address_of_the_connection_needs_another_one() -> None:
    """The controller reaches it by its own interface, the other nodes do not."""
    with pytest.raises(GatesInvalidError, match="gates_peer_address: fe80::1%eno1, the address of the SSH connection, is link-local"):
        profile_of(node("n1", host="fe80::1%eno1"), TODAY)
    assert profile_of(node("n1", host="fe80::1%eno1", declared=gates(gates_peer_address="2001:db8::1")), TODAY)


@pytest.mark.parametrize(
    "stderr",
    [
        "ib_write_bw: unrecognized option '--ipv6-addr'\n Invalid Command or flag.\n Please check command line and run again.\n",
        "Name or service not known for n2.example:18515\nProblem in resolving basic address and port\n",
    ],
)
def test_perftest_that_cannot_use_the_addresses_has_a_reason_of_its_own(stderr: str) -> None:
    runs = [replace(r, stderr=stderr, stdout="", exit_status=1) for r in meeting("n1", "n2", 0, 0, 392.0)]
    results = judge([subject_of(n, TODAY) for n in nodes(2, rails=1)], runs, level="standard", gates=["rdma_pair"])
    assert {r.reason for r in results} == {GateReason.ADDRESS_UNUSABLE}
    assert all("23.07" in r.hint and "gates_peer_address" in r.hint for r in results)
