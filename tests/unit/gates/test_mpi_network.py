"""mpi_network.py of the burn-in: which interface MPI uses on a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.agents import program

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

OWN = {"10.1.0.5": "eth0", "192.168.7.5": "rail0", "172.17.0.1": "docker0", "fd00::5": "ens9"}


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """On a node with these addresses, which reaches 10.9.0.0/16 by eth0 and 192.168.0.0/16 by rail0."""
    made = program("mpi_network")
    ways = {"10.9.": "10.1.0.5", "192.168.": "192.168.7.5"}
    names = {"n1.example": ["127.0.1.1"], "n2.example": ["fd00::5", "10.1.0.5"]}
    monkeypatch.setattr(made, "interfaces", lambda: OWN)
    monkeypatch.setattr(made, "resolved", lambda name: names.get(name, [name] if name else []))
    monkeypatch.setattr(made, "source_to", lambda name: next((own for start, own in ways.items() if name.startswith(start)), ""))
    return made


def launcher(address: str, *others: str) -> dict[str, Any]:
    return {"side": "solo", "members": [[f"n{i}", a] for i, a in enumerate(others)], "peer_address": "", "address": address}


def member(address: str, lead: str) -> dict[str, Any]:
    return {"side": "member", "members": [], "peer_address": lead, "address": address}


@pytest.mark.parametrize(
    ("step", "chosen"),
    [
        (launcher("10.1.0.5", "10.9.0.1"), "eth0"),
        (launcher("192.168.7.5", "10.9.0.1"), "rail0"),
        (member("fd00::5", "10.9.0.1"), "ens9"),
        (member("n2.example", "10.9.0.1"), "ens9,eth0"),
        # Its own name means loopback (Debian), or a translated address: then the way to the others.
        (member("n1.example", "10.9.0.1"), "eth0"),
        (member("203.0.113.9", "10.9.0.1"), "eth0"),
        (launcher("", "10.9.0.1", "10.9.3.1", "192.168.1.1"), "eth0,rail0"),
    ],
)
def test_mpi_uses_the_network_in_which_the_others_reach_the_node(
    network: ModuleType, tmp_path: Path, step: dict[str, Any], chosen: str
) -> None:
    network.write_network(tmp_path, [{"side": "solo", "members": []}, step])
    assert (tmp_path / network.FILE).read_text() == f"oob_tcp_if_include = {chosen}\nbtl_tcp_if_include = {chosen}\n"


def test_where_no_way_is_known_mpi_chooses(network: ModuleType, tmp_path: Path) -> None:
    network.write_network(tmp_path, [launcher("", "198.51.100.1")])
    assert (tmp_path / network.FILE).read_text() == ""


def test_a_node_without_a_group_needs_no_file(network: ModuleType, tmp_path: Path) -> None:
    network.write_network(tmp_path, [{"side": "solo", "members": []}, {"side": "client", "members": [], "peer_address": "10.9.0.1"}])
    assert not (tmp_path / network.FILE).exists()


def test_the_list_of_this_machine_holds_no_loopback() -> None:
    made = program("mpi_network")
    found = made.interfaces()
    assert "127.0.0.1" in made.ipv4_interfaces()
    assert not [a for a in found if a == "::1" or a.startswith("127.")]
    assert made.source_to("127.0.0.1") == "127.0.0.1"
    assert made.source_to("no.such.name.invalid") == ""
