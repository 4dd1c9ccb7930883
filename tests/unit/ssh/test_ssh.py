from __future__ import annotations

import asyncio
import errno
from typing import TYPE_CHECKING, Any

import asyncssh
import pytest
from asyncssh import kex, public_key

from clusterctl.adapters.ssh import keys
from clusterctl.adapters.ssh.remote_result import RemoteResult, TransportError, TransportFailure
from clusterctl.adapters.ssh.ssh import SshClient, command_line
from clusterctl.model.node import Connection
from support.ssh_node import SshNode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.ssh_node import Behaviour, Process


async def echo(process: Process) -> None:
    data = await process.stdin.read()
    process.stdout.write(b"got " + data)
    process.stderr.write(b"note")
    process.exit(3)


async def greet(process: Process) -> None:
    process.stdout.write(b"hello\n")
    await process.stdin.read()


def _full(_data: bytes) -> bytes:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def node(tmp_path: Path) -> Iterator[SshNode]:
    with SshNode(tmp_path / "node", echo) as running:
        yield running


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty home directory: no keys, no known_hosts, no agent."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setattr(keys, "SYSTEM_KNOWN_HOSTS", tmp_path / "none")


def run_command(connection: Connection, stdin: bytes = b"in", limit_bytes: int = 1000, timeout_s: float = 5.0) -> RemoteResult:
    async def connect_and_run() -> RemoteResult:
        async with SshClient(timeout_s) as client:
            session = await client.connect(connection)
            try:
                return await session.run(["cat", "a b"], stdin, limit_bytes)
            finally:
                session.close()

    return asyncio.run(asyncio.wait_for(connect_and_run(), 20))


def failure_of(connection: Connection, timeout_s: float = 5.0) -> tuple[TransportFailure, str]:
    with pytest.raises(TransportError) as caught:
        run_command(connection, timeout_s=timeout_s)
    return caught.value.failure, caught.value.detail


def test_output_and_exit_status_are_returned(node: SshNode) -> None:
    assert run_command(node.connection()) == RemoteResult(3, b"got in", b"note")
    assert node.commands == ["cat 'a b'"]


def test_binary_input_arrives_unchanged(node: SshNode) -> None:
    data = bytes(range(256)) * 8000
    assert run_command(node.connection(), data, len(data) + 10).stdout == b"got " + data


def test_an_error_of_who_reads_the_output_is_raised_as_it_is(node: SshNode) -> None:
    async def read() -> None:
        async with SshClient() as client:
            session = await client.connect(node.connection())
            await session.run(["cat"], b"in", 1000, on_data=_full)

    node.behaviour = greet
    with pytest.raises(OSError, match="No space left"):
        asyncio.run(asyncio.wait_for(read(), 20))


def test_an_unknown_host_key_is_refused(node: SshNode) -> None:
    (node.folder / "known_hosts").write_text("")
    assert failure_of(node.connection())[0] is TransportFailure.HOST_KEY_UNKNOWN
    assert node.commands == []


def test_a_changed_host_key_is_refused(node: SshNode) -> None:
    node.write_known_hosts(asyncssh.generate_private_key("ssh-ed25519"))
    kind, detail = failure_of(node.connection())
    assert kind is TransportFailure.HOST_KEY_CHANGED
    assert "127.0.0.1" in detail
    assert node.commands == []


def test_a_host_key_of_another_type_is_refused(node: SshNode) -> None:
    node.write_known_hosts(asyncssh.generate_private_key("ecdsa-sha2-nistp256"))
    assert failure_of(node.connection())[0] is TransportFailure.HOST_KEY_CHANGED


def test_with_missing_or_damaged_known_hosts_no_host_is_trusted(node: SshNode) -> None:
    (node.folder / "known_hosts").unlink()
    assert failure_of(node.connection())[0] is TransportFailure.HOST_KEY_UNKNOWN
    (node.folder / "known_hosts").write_bytes(b"\xff\xfe")
    assert failure_of(node.connection())[0] is TransportFailure.HOST_KEY_UNKNOWN


def test_known_hosts_of_the_user_is_the_default(node: SshNode, tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    (node.folder / "known_hosts").rename(tmp_path / ".ssh" / "known_hosts")
    assert run_command(node.connection(ssh_args=())).rc == 3


@pytest.mark.parametrize("config", ["UserKnownHostsFile none\n", "Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n"])
def test_the_ssh_configuration_of_the_user_cannot_disable_the_check(node: SshNode, tmp_path: Path, config: str) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text(config)
    assert failure_of(node.connection(ssh_args=()))[0] is TransportFailure.HOST_KEY_UNKNOWN


def test_the_inventory_can_disable_the_check(node: SshNode) -> None:
    (node.folder / "known_hosts").write_text("")
    assert run_command(node.connection("-o", "StrictHostKeyChecking=no")).rc == 3


def test_an_unknown_key_or_user_is_an_authentication_failure(node: SshNode, tmp_path: Path) -> None:
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(tmp_path / "other")
    assert failure_of(node.connection(key_path=str(tmp_path / "other")))[0] is TransportFailure.AUTH_FAILED
    assert failure_of(node.connection(user="nobody"))[0] is TransportFailure.AUTH_FAILED


def test_an_unusable_key_is_an_authentication_failure(node: SshNode, tmp_path: Path) -> None:
    kind, detail = failure_of(node.connection(key_path=str(tmp_path / "absent")))
    assert (kind, "No such file" in detail) == (TransportFailure.AUTH_FAILED, True)
    node.user_key.write_private_key(tmp_path / "locked", passphrase="secret")
    assert failure_of(node.connection(key_path=str(tmp_path / "locked")))[0] is TransportFailure.AUTH_FAILED
    (tmp_path / "garbage").write_text("no key")
    assert failure_of(node.connection(key_path=str(tmp_path / "garbage")))[0] is TransportFailure.AUTH_FAILED


def test_a_closed_port_is_unreachable(node: SshNode) -> None:
    kind, detail = failure_of(node.connection(port=1))
    assert (kind, detail) == (TransportFailure.UNREACHABLE, "Connection refused")


def test_an_unknown_host_name_is_unreachable(node: SshNode) -> None:
    assert failure_of(node.connection(host="no-such-node.invalid"))[0] is TransportFailure.UNREACHABLE


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


async def not_ssh(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    writer.close()


@pytest.mark.parametrize(("behaviour", "message"), [(silent, "no connection within 0.4 s"), (not_ssh, "")])
def test_a_server_without_ssh_is_unreachable(behaviour: asyncio.Protocol, message: str) -> None:
    async def connect() -> None:
        server = await asyncio.start_server(behaviour, "127.0.0.1", 0)  # type: ignore[arg-type]
        port = server.sockets[0].getsockname()[1]
        async with server, SshClient(0.4) as client:
            await client.connect(Connection("127.0.0.1", port))

    with pytest.raises(TransportError) as caught:
        asyncio.run(connect())
    assert caught.value.failure is TransportFailure.UNREACHABLE
    assert message in caught.value.detail


async def abort_connection(process: Process) -> None:
    process.stdout.write(b'{"half')
    await process.stdout.drain()
    process.channel.get_connection().abort()


async def no_status(process: Process) -> None:
    process.close()


@pytest.mark.parametrize("behaviour", [abort_connection, no_status])
def test_a_lost_connection_is_detected(tmp_path: Path, behaviour: Behaviour) -> None:
    with SshNode(tmp_path / "node", behaviour) as node:
        assert failure_of(node.connection())[0] is TransportFailure.DISCONNECTED


async def killed(process: Process) -> None:
    process.channel.exit_with_signal("KILL", msg="out of memory")


def test_a_command_ended_by_a_signal_has_no_exit_status(tmp_path: Path) -> None:
    with SshNode(tmp_path / "node", killed) as node:
        result = run_command(node.connection())
    assert result.rc is None
    assert b"KILL out of memory" in result.stderr


async def flood(process: Process) -> None:
    while True:
        process.stdout.write(b"x" * 65536)
        await process.stdout.drain()


def test_too_much_output_is_an_error(tmp_path: Path) -> None:
    with SshNode(tmp_path / "node", flood) as node:
        assert failure_of(node.connection())[0] is TransportFailure.TOO_MUCH_OUTPUT


async def exit_without_reading(process: Process) -> None:
    process.exit(93)


def test_a_command_may_end_without_reading_its_input(tmp_path: Path) -> None:
    with SshNode(tmp_path / "node", exit_without_reading) as node:
        assert run_command(node.connection(), b"x" * 20_000_000).rc == 93


def test_connections_share_jump_hosts(node: SshNode, tmp_path: Path) -> None:
    with SshNode(tmp_path / "jump", echo, user_key=node.user_key) as jump:
        both = (jump.folder / "known_hosts").read_text() + (node.folder / "known_hosts").read_text()
        (node.folder / "known_hosts").write_text(both)
        connection = node.connection("-J", f"root@127.0.0.1:{jump.port}")

        async def connect_four_times() -> list[int | None]:
            async with SshClient() as client:
                sessions = await asyncio.gather(*(client.connect(connection) for _ in range(4)))
                return [(await s.run(["true"], b"", 100)).rc for s in sessions]

        assert asyncio.run(connect_four_times()) == [3, 3, 3, 3]
        assert (jump.connections, node.connections) == (1, 4)


def test_nodes_and_jump_hosts_have_ipv6_addresses(tmp_path: Path) -> None:
    with (
        SshNode(tmp_path / "node", echo, address="::1") as node,
        SshNode(tmp_path / "jump", echo, user_key=node.user_key, address="::1") as jump,
    ):
        assert run_command(node.connection()).rc == 3
        own = node.folder / "known_hosts"
        own.write_text((jump.folder / "known_hosts").read_text() + own.read_text())
        assert run_command(node.connection("-J", f"root@[::1]:{jump.port}")).rc == 3
        node.write_known_hosts(asyncssh.generate_private_key("ssh-ed25519"))
        assert failure_of(node.connection())[0] is TransportFailure.HOST_KEY_CHANGED


def test_a_jump_host_that_forwards_nothing_is_named_with_the_setting(node: SshNode, tmp_path: Path) -> None:
    with SshNode(tmp_path / "jump", echo, user_key=node.user_key, forwards=False) as jump:
        both = (jump.folder / "known_hosts").read_text() + (node.folder / "known_hosts").read_text()
        (tmp_path / "both").write_text(both)
        through = ("-o", f"UserKnownHostsFile={tmp_path}/both", "-J", f"root@127.0.0.1:{jump.port}")
        kind, detail = failure_of(node.connection(ssh_args=through))
    assert kind is TransportFailure.UNREACHABLE
    assert detail == "jump host 127.0.0.1 does not forward connections (AllowTcpForwarding or PermitOpen of its sshd): open failed"


def test_a_jump_host_without_known_host_key_is_refused(node: SshNode, tmp_path: Path) -> None:
    with SshNode(tmp_path / "jump", echo, user_key=node.user_key) as jump:
        kind, detail = failure_of(node.connection("-J", f"root@127.0.0.1:{jump.port}", "-o", "StrictHostKeyChecking=no"))
    assert kind is TransportFailure.UNREACHABLE
    assert detail.startswith("jump host 127.0.0.1: known_hosts has no host key of 127.0.0.1")


@pytest.mark.parametrize(
    ("connection", "line"),
    [
        (Connection("n"), "python3 -c 'a b'"),
        (Connection("n", user="root", become=True), "python3 -c 'a b'"),
        (Connection("n", user="ops", become=True), """sudo -n -H -u root -- /bin/sh -c 'exec "$@"' sh python3 -c 'a b'"""),
        (Connection("n", become=True, become_user="hpc"), """sudo -n -H -u hpc -- /bin/sh -c 'exec "$@"' sh python3 -c 'a b'"""),
    ],
)
def test_become_adds_sudo_to_the_command_line(connection: Connection, line: str) -> None:
    assert command_line(["python3", "-c", "a b"], connection) == line


def test_a_controller_in_fips_mode_connects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """cryptography has neither X25519 nor Ed25519 there (backend.x25519_supported, ed25519_supported), and asyncssh then does not know their names."""

    def without(names: list[bytes]) -> list[bytes]:
        return [name for name in names if b"25519" not in name]

    host_key, user_key = (asyncssh.generate_private_key("ecdsa-sha2-nistp256") for _ in range(2))
    with SshNode(tmp_path / "n1", echo, host_key=host_key, user_key=user_key) as server:
        for owner, lists in ((kex, ("_kex_algs", "_default_kex_algs")), (public_key, ("_public_key_algs", "_default_public_key_algs"))):
            for name in lists:
                monkeypatch.setattr(owner, name, without(getattr(owner, name)))
        assert run_command(server.connection()).rc == 3


@pytest.mark.parametrize(("refusals", "ends"), [(2, 3), (99, None)])
def test_a_session_that_has_not_ended_yet_on_the_node_is_waited_for(
    node: SshNode, monkeypatch: pytest.MonkeyPatch, refusals: int, ends: int | None
) -> None:
    """With MaxSessions 1, sshd counts a command that has just ended (OpenSSH 9.2 in a lab node: "open failed", code 2, to the second of two)."""
    real, opened = asyncssh.SSHClientConnection.create_session, []

    async def create_session(self: asyncssh.SSHClientConnection, *words: Any, **named: Any) -> Any:
        opened.append(1)
        if len(opened) <= refusals:
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, "open failed")
        return await real(self, *words, **named)

    monkeypatch.setattr(asyncssh.SSHClientConnection, "create_session", create_session)
    if ends is not None:
        assert (run_command(node.connection()).rc, len(opened)) == (ends, refusals + 1)
    else:
        assert failure_of(node.connection()) == (
            TransportFailure.DISCONNECTED,
            "the node cannot run a command: open failed (MaxSessions of its sshd may be 0)",
        )
