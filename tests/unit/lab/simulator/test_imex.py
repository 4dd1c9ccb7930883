from __future__ import annotations

import re
import signal
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import imex, imex_config, imex_ctl, imex_domain, imex_protocol
from clusterctl_lab.simulator.imex_protocol import CONNECTED, INVALID, NEVER_CONNECTED, READY, UNAVAILABLE, VERSION_MISMATCH, Member
from clusterctl_validators.imex import Domain, parse_domain
from support.imex_rack import START_TIMEOUT_S, VERSION, Rack, Tray
from support.lab_machine import LabMachine, lab_machine
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OLDER = "580.65.06"
# Reserved for documentation (RFC 5737), so no machine has it.
ELSEWHERE = "203.0.113.77"


@pytest.fixture
def rack(tmp_path: Path) -> Iterator[Rack]:
    made = Rack(tmp_path)
    yield made
    for tray in made.trays:
        if tray.process:
            tray.stop(signal.SIGKILL)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    made = lab_machine(tmp_path, monkeypatch)
    made.load(nvidia=VERSION)
    return made


class Ctl:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.code, self.error = 0, ""

    def __call__(self, config: Path, words: str) -> str:
        self.code = imex_ctl.main(["nvidia-imex-ctl", "-c", str(config), *words.split()], VERSION)
        text, self.error = self.capsys.readouterr()
        return text

    def domain(self, tray: Tray) -> Domain:
        return parse_domain(self(tray.root / "config.cfg", "-N -j"))


@pytest.fixture
def ctl(capsys: pytest.CaptureFixture[str]) -> Ctl:
    return Ctl(capsys)


def states(domain: Domain) -> dict[str, str]:
    return {m.address: m.status for m in domain.members}


def test_a_domain_of_one_is_up(rack: Rack, ctl: Ctl) -> None:
    tray = rack.tray("127.0.0.2")
    assert (ctl(tray.root / "config.cfg", "-q"), ctl.code) == ("READY\n", 0)
    domain = ctl.domain(tray)
    assert (domain.status, states(domain), domain.members[0].connections) == ("UP", {"127.0.0.2": READY}, {"127.0.0.2": CONNECTED})


def test_two_members_see_each_other(rack: Rack, ctl: Ctl) -> None:
    nodes = ("127.0.0.2", "127.0.0.3")
    for tray in [rack.tray(*nodes), rack.tray(*reversed(nodes))]:
        domain = ctl.domain(tray)
        assert domain.status == "UP"
        assert sorted(domain.ready()) == sorted(nodes)
        assert [m.connections for m in domain.members] == [dict.fromkeys(nodes, CONNECTED)] * 2


def test_members_may_have_ipv6_addresses(rack: Rack, ctl: Ctl) -> None:
    domain = ctl.domain(rack.tray("::1"))
    assert (domain.status, states(domain)) == ("UP", {"::1": READY})


def test_a_stopped_member_degrades_the_domain(rack: Rack, ctl: Ctl) -> None:
    nodes = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
    first, second, third = rack.tray(*nodes), rack.tray("127.0.0.3", "127.0.0.2", "127.0.0.4"), rack.tray("127.0.0.4", *nodes[:2])
    assert ctl.domain(first).status == "UP"
    assert third.stop()[0] == 0
    domain = ctl.domain(first)
    assert (domain.status, states(domain)) == ("DEGRADED", {nodes[0]: READY, nodes[1]: READY, nodes[2]: UNAVAILABLE})
    met = {nodes[0]: CONNECTED, nodes[1]: CONNECTED, nodes[2]: NEVER_CONNECTED}
    assert [m.connections for m in domain.members] == [met, met, dict.fromkeys(nodes, INVALID)]
    third.start()
    assert [ctl.domain(tray).status for tray in (first, second)] == ["UP", "UP"]


def test_a_member_of_another_version_is_refused(rack: Rack, ctl: Ctl) -> None:
    nodes = ("127.0.0.2", "127.0.0.3")
    first, other = rack.tray(*nodes), rack.tray(*reversed(nodes), version=OLDER)
    domain = ctl.domain(first)
    assert (domain.status, states(domain)) == ("DEGRADED", {nodes[0]: READY, nodes[1]: VERSION_MISMATCH})
    assert domain.members[0].connections == {nodes[0]: CONNECTED, nodes[1]: NEVER_CONNECTED}
    assert set(domain.members[1].connections.values()) == {INVALID}
    assert states(ctl.domain(other)) == {nodes[1]: READY, nodes[0]: VERSION_MISMATCH}
    assert f"127.0.0.3       - VERSION_MISMATCH     - Version: {OLDER}" in ctl(first.root / "config.cfg", "-N")


def test_the_nodes_file_is_read_only_at_start(rack: Rack, ctl: Ctl) -> None:
    tray = rack.tray("127.0.0.2")
    tray.write_nodes(["127.0.0.2", "127.0.0.3"])
    tray.nodes.append("127.0.0.3")
    assert states(ctl.domain(tray)) == {"127.0.0.2": READY}
    tray.stop()
    tray.start()
    assert states(ctl.domain(tray)) == {"127.0.0.2": READY, "127.0.0.3": UNAVAILABLE}


def test_a_member_with_a_shorter_nodes_file_connects_only_to_its_nodes(rack: Rack, ctl: Ctl) -> None:
    nodes = ("127.0.0.2", "127.0.0.3")
    first, _ = rack.tray(*nodes), rack.tray("127.0.0.3")
    domain = ctl.domain(first)
    assert domain.status == "DEGRADED"
    assert domain.members[1].connections == {nodes[0]: NEVER_CONNECTED, nodes[1]: CONNECTED}


def test_sigterm_stops_the_daemon_and_clears_its_flag(rack: Rack, ctl: Ctl) -> None:
    tray = rack.tray("127.0.0.2")
    assert tray.flag.read_text() == "1\n"
    assert tray.stop() == (0, "")
    assert not tray.flag.exists()
    assert (ctl(tray.root / "config.cfg", "-q"), ctl.code) == ("", 1)


def test_invalid_and_silent_clients_do_not_block_others(rack: Rack, ctl: Ctl) -> None:
    tray = rack.tray("127.0.0.2")
    with socket.create_connection(("127.0.0.2", rack.port)), socket.create_connection(("127.0.0.2", rack.port)) as other:
        other.sendall(b'{"about": "everything"}\n')
        assert other.recv(100) == b""
        assert ctl.domain(tray).status == "UP"
    assert tray.stop() == (0, "")


def test_the_daemon_listens_only_on_its_own_address(rack: Rack) -> None:
    rack.tray("127.0.0.2")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", rack.port)).close()


def test_the_table_lists_nodes_and_connections(rack: Rack, ctl: Ctl) -> None:
    nodes = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
    first, _ = rack.tray(*nodes), rack.tray("127.0.0.3", "127.0.0.2", "127.0.0.4")
    text = ctl(first.root / "config.cfg", "-N")
    assert re.findall(r"^Node #(\d) +- ([\d.]+) +- (\w+) +- Version: *([\d.]*)$", text, re.MULTILINE) == [
        ("0", nodes[0], READY, VERSION),
        ("1", nodes[1], READY, VERSION),
        ("2", nodes[2], UNAVAILABLE, ""),
    ]
    assert [line.split() for line in text.splitlines()[-5:-1]] == [
        ["Nodes", "From\\To", "0", "1", "2"],
        ["0", "C", "C", "N"],
        ["1", "C", "C", "N"],
        ["2", "I", "I", "I"],
    ]
    assert text.endswith("\nDomain State: DEGRADED\n")


def test_the_json_has_the_keys_of_the_real_tool(rack: Rack, ctl: Ctl) -> None:
    tray = rack.tray("127.0.0.2")
    stamp, rest = r"\d+/\d+/\d{4} \d\d:\d\d:\d\d\.\d{3}", ctl(tray.root / "config.cfg", "-j -N")
    assert re.sub(stamp, "T", rest) == (
        '{"nodes": {"0": {"status": "READY", "host": "127.0.0.2", "version": "580.126.20", '
        '"connections": {"0": {"host": "127.0.0.2", "status": "CONNECTED", "changed": true}}}}, "timestamp": "T", "status": "UP"}\n'
    )


def test_members_that_do_not_answer_are_queried_in_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Barrier(17, timeout=START_TIMEOUT_S)

    def ask(address: str, _port: int, _question: imex_protocol.Request) -> bytes:
        asked.wait()  # breaks where they are asked one after the other
        raise imex_protocol.NoReplyError(address)

    monkeypatch.setattr(imex_domain, "send_request", ask)
    monkeypatch.setattr(
        imex_domain.DomainNode, "_connected", lambda self: imex_protocol.MemberReport(VERSION, READY, {self.address: CONNECTED})
    )
    node = imex_domain.DomainNode(VERSION, "10.0.0.1", 50000, tuple(f"10.0.0.{n}" for n in range(1, 19)))
    domain = node.domain()
    assert (domain.status, [m.status for m in domain.members]) == ("DEGRADED", [READY, *[UNAVAILABLE] * 17])


@pytest.mark.parametrize(
    ("rows", "status"),
    [
        ([(READY, CONNECTED)], "UP"),
        ([(READY, NEVER_CONNECTED)], "DEGRADED"),
        ([(READY, CONNECTED), (UNAVAILABLE, INVALID)], "DEGRADED"),
        ([(UNAVAILABLE, INVALID), (VERSION_MISMATCH, INVALID)], "DOWN"),
    ],
)
def test_the_domain_state_follows_from_its_members(rows: list[tuple[str, str]], status: str) -> None:
    assert imex_domain.domain_status([Member("10.0.0.1", said, VERSION, (met,)) for said, met in rows]) == status


@pytest.mark.parametrize("driver", [OLDER, ""])
def test_a_driver_of_another_version_is_refused(node: LabMachine, driver: str, capsys: pytest.CaptureFixture[str]) -> None:
    node.load(nvidia=driver)
    assert imex.main(["nvidia-imex"], VERSION) == 1
    assert f"IMEX version {VERSION} does not match driver version {driver or 'none'}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("nodes", "settings", "error"),
    [
        (None, "", "nodes.cfg is missing or names no node"),
        ("# nobody\n\n", "", "nodes.cfg is missing or names no node"),
        (f"{ELSEWHERE}\n", "", f"none of the nodes is an address of this machine: {ELSEWHERE}"),
        ("tray-01\n", "", "not an address: tray-01"),
        ("127.0.0.2\n", "SERVER_PORT=none\n", "SERVER_PORT=none: not a port"),
        ("127.0.0.2\n", "IMEX_CMD_PORT=65536\n", "IMEX_CMD_PORT=65536: not a port"),
    ],
)
def test_the_daemon_does_not_start_with_invalid_files(
    node: LabMachine, nodes: str | None, settings: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (node.root / "config.cfg").write_text(f"IMEX_NODE_CONFIG_FILE={node.root}/nodes.cfg\n{settings}")
    if nodes is not None:
        (node.root / "nodes.cfg").write_text(nodes)
    assert imex.main(["nvidia-imex", "-c", f"{node.root}/config.cfg"], VERSION) == 1
    assert error in capsys.readouterr().err
    assert not (node.root / "run" / "imex").exists()


def test_the_daemon_does_not_start_on_a_port_in_use(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.2", 0)) as taken:
        port = taken.getsockname()[1]
        (node.root / "config.cfg").write_text(f"IMEX_NODE_CONFIG_FILE={node.root}/nodes.cfg\nSERVER_PORT={port}\n")
        (node.root / "nodes.cfg").write_text("127.0.0.2\n")
        assert imex.main(["nvidia-imex", "-c", f"{node.root}/config.cfg"], VERSION) == 1
    assert f"cannot listen at 127.0.0.2, port {port}: Address already in use" in capsys.readouterr().err


def test_a_missing_file_means_defaults(tmp_path: Path) -> None:
    assert imex_config.read_config(f"{tmp_path}/none") == imex_config.ImexConfig(50000, False, 50005, "/etc/nvidia-imex/nodes_config.cfg")


@pytest.mark.parametrize("words", ["-q", "-N", "-N -j"])
def test_without_a_daemon_the_tool_prints_nothing_and_fails(tmp_path: Path, ctl: Ctl, words: str) -> None:
    config = tmp_path / "config.cfg"
    config.write_text(f"IMEX_CMD_ENABLED=1\nIMEX_CMD_PORT={free_port()}\n")
    assert (ctl(config, words), ctl.code) == ("", 1)
    assert "Unable to connect to the IMEX server" in ctl.error


def test_commands_are_off_by_default(tmp_path: Path, ctl: Ctl) -> None:
    assert (ctl(tmp_path / "none", "-q"), ctl.code) == ("", 1)
    assert "IMEX_CMD_ENABLED is not 1" in ctl.error


@pytest.mark.parametrize("words", ["", "-j", "-q -j", "-q -N", "-N -H", "-N -j 5"])
def test_options_that_are_not_simulated_are_refused(tmp_path: Path, ctl: Ctl, words: str) -> None:
    assert (ctl(tmp_path / "none", words), ctl.code) == ("", 2)
    assert "nvidia-imex-ctl: not simulated: " in ctl.error


def test_versions_are_marked_as_simulated(ctl: Ctl, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"{VERSION} (simulated)" in ctl(tmp_path / "none", "--version")
    assert imex.main(["nvidia-imex", "-v"], VERSION) == 0
    assert capsys.readouterr().out == f"IMEX version is: {VERSION} (simulated)\n"
    assert imex.main(["nvidia-imex", "--nogpu"], VERSION) == 2


KEYS = ("IMEX_SERVER_KEY", "IMEX_SERVER_CERT", "IMEX_SERVER_CERT_AUTH", "IMEX_CLIENT_KEY", "IMEX_CLIENT_CERT", "IMEX_CLIENT_CERT_AUTH")


@pytest.mark.parametrize(
    ("lines", "pem", "reason"),
    [
        ("IMEX_AUTH_SOURCE=FILE\n", "-----BEGIN X-----\n", ""),
        ("IMEX_AUTH_SOURCE=FILE\n", "", "IMEX_SERVER_KEY: no such file"),
        ("", "-----BEGIN X-----\n", "SSL_TLS from nothing"),
        ("IMEX_AUTH_ENCRYPTION_MODE=GSS_AUTH_ENCRYPT\n", "", "GSS_AUTH_ENCRYPT"),
    ],
)
def test_encryption_needs_key_and_certificates(lines: str, pem: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "x.pem").write_text(pem)
    files = "".join(f"{key}={tmp_path}/x.pem\n" for key in KEYS)
    (tmp_path / "config.cfg").write_text(f"IMEX_ENABLE_AUTH_ENCRYPTION=1\n{lines}{files}")
    if not reason:
        assert imex_config.read_config(str(tmp_path / "config.cfg")).server_port == 50000
        return
    with pytest.raises(imex_config.ImexConfigError, match=reason):
        imex_config.read_config(str(tmp_path / "config.cfg"))
