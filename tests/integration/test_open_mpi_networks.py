"""The real Open MPI between two nodes that have a container bridge with the same address, other names for their interfaces, and other subnets: IPv4 or IPv6."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from clusterctl.core.gates.mpi_options import mpi_hosts, mpi_options
from support.agents import AgentNode, step
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clusterctl.model.gate_result import RawRecord

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("mpirun") or not ctypes.util.find_library("mpi"), reason="Open MPI is not installed"),
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="networks take root and iproute2"),
]

NAMES = ("n1", "n2")
INTERFACES = {"n1": "eth0", "n2": "ens9"}
ADDRESSES = {"ipv4": {"n1": "10.99.1.1", "n2": "10.99.2.1"}, "ipv6": {"n1": "fd00:99:1::1", "n2": "fd00:99:2::1"}}
BRIDGE = ("docker0", "172.17.0.1/16")
# What nccl-tests does with MPI: it hands a few bytes to all ranks, and waits for them.
RANK = """import ctypes
mpi = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
def known(name):
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))
mpi.MPI_Init(None, None)
data = ctypes.create_string_buffer(1 << 20)
mpi.MPI_Bcast(data, len(data), known("ompi_mpi_byte"), 0, known("ompi_mpi_comm_world"))
mpi.MPI_Barrier(known("ompi_mpi_comm_world"))
print("met\\n", end="", flush=True)
mpi.MPI_Finalize()
"""
# A host of its own, for Open MPI takes ranks of one host name for neighbours that share memory; its folder has the same path on both, as on nodes.
WITHIN = ("unshare", "--uts", "--mount", "sh", "-c")
AS_A_HOST = 'echo "$0" > /proc/sys/kernel/hostname && mount --bind . "$1" && cd "$1" && shift && exec "$@"'


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=20)


@pytest.fixture(params=ADDRESSES)
def addresses(request: pytest.FixtureRequest) -> dict[str, str]:
    """Node -> its only address outside of the bridge."""
    return ADDRESSES[request.param]


@pytest.fixture
def spaces(addresses: dict[str, str]) -> Iterator[dict[str, str]]:
    """Node -> its network namespace."""
    made = {name: f"cct-{os.getpid()}-{name}" for name in NAMES}
    try:
        ip("netns", "add", made["n1"])
    except subprocess.CalledProcessError:
        pytest.skip("no network namespaces here")
    try:
        ip("netns", "add", made["n2"])
        ip("-n", made["n1"], "link", "add", INTERFACES["n1"], "type", "veth", "peer", "name", INTERFACES["n2"], "netns", made["n2"])
        for name, other in (NAMES, NAMES[::-1]):
            own = ("-n", made[name])
            for device, address in ((INTERFACES[name], f"{addresses[name]}/24"), BRIDGE):
                if device == BRIDGE[0]:
                    ip(*own, "link", "add", device, "type", "bridge")
                ip(*own, "addr", "add", address, "dev", device, *(["nodad"] if ":" in address else []))
                ip(*own, "link", "set", device, "up")
            ip(*own, "link", "set", "lo", "up")
            ip(*own, "route", "add", addresses[other], "dev", INTERFACES[name])
        yield made
    finally:
        for space in made.values():
            subprocess.run(["ip", "netns", "delete", space], check=False, capture_output=True, timeout=20)


def met(
    folder: Path, spaces: dict[str, str], addresses: dict[str, str], *, declared: bool, options: tuple[str, ...]
) -> dict[str, RawRecord]:
    program = [sys.executable, "-c", RANK]
    hosts = mpi_hosts(list(addresses.values()), [1, 1])
    argv = ["mpirun", "--allow-run-as-root", "-np", "2", "--host", hosts, "--bind-to", "none", *options, *program]
    own = {name: addresses[name] if declared else "" for name in NAMES}
    lead = step("group", argv, peers=list(NAMES), members=[["n2", addresses["n2"]]], timeout_s=15, address=own["n1"])
    daemon = {"side": "member", "peer": "n1", "peer_address": addresses["n1"], "timeout_s": 20, "address": own["n2"]}
    steps = {"n1": [lead, step("later", ["sleep", "1"], batch=1)], "n2": [step("member", ["orted"], **daemon)]}
    port = free_port()
    common = folder / "common"
    common.mkdir()
    made = [AgentNode(folder, name, port, steps[name], os.environ, listen="") for name in NAMES]
    for one in made:
        one.within = ("nsenter", f"--net=/run/netns/{spaces[one.name]}", *WITHIN, AS_A_HOST, one.name, str(common))
        one.start()
    try:
        return made[0].end()
    finally:
        for one in made:
            one.kill()


@pytest.mark.parametrize("declared", [True, False])
def test_ranks_meet_by_the_network_of_the_agents(tmp_path: Path, spaces: dict[str, str], addresses: dict[str, str], declared: bool) -> None:
    launched = met(tmp_path, spaces, addresses, declared=declared, options=mpi_options(len(NAMES)))["group"]
    assert (launched.error, launched.exit_status) == ("", 0), launched.stderr
    assert launched.stdout.split() == ["met", "met"]
    for name in NAMES:
        assert f"btl_tcp_if_include = {INTERFACES[name]}\n" in (tmp_path / name / "open_mpi.conf").read_text()


@pytest.mark.parametrize("addresses", [ADDRESSES["ipv4"]])
def test_without_the_choice_of_a_network_the_bridge_hangs_them(tmp_path: Path, spaces: dict[str, str], addresses: dict[str, str]) -> None:
    options = mpi_options(len(NAMES), ("--mca", "mca_base_param_files", "none.conf"))
    launched = met(tmp_path, spaces, addresses, declared=True, options=options)["group"]
    assert launched.exit_status != 0
    assert "TCP connect" in launched.stderr
