from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import asyncssh
import pytest

from clusterctl.adapters.ssh import keys
from clusterctl.adapters.ssh.exec_result import Exited, TransportError, Trouble
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


@pytest.fixture
def node(tmp_path: Path) -> Iterator[SshNode]:
    with SshNode(tmp_path / "node", echo) as running:
        yield running


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's own keys, known_hosts or agent."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setattr(keys, "SYSTEM_KNOWN_HOSTS", tmp_path / "none")


def ask(connection: Connection, stdin: bytes = b"in", limit_bytes: int = 1000, timeout_s: float = 5.0) -> Exited:
    async def go() -> Exited:
        async with SshClient(timeout_s) as client:
            remote = await client.connect(connection)
            try:
                return await remote.run(["cat", "a b"], stdin, limit_bytes)
            finally:
                remote.close()

    return asyncio.run(asyncio.wait_for(go(), 20))


def trouble(connection: Connection, timeout_s: float = 5.0) -> tuple[Trouble, str]:
    with pytest.raises(TransportError) as caught:
        ask(connection, timeout_s=timeout_s)
    return caught.value.trouble, caught.value.detail


def test_a_command_ends(node: SshNode) -> None:
    assert ask(node.connection()) == Exited(3, b"got in", b"note")
    assert node.commands == ["cat 'a b'"]


def test_binary_input_arrives_whole(node: SshNode) -> None:
    data = bytes(range(256)) * 8000
    assert ask(node.connection(), data, len(data) + 10).stdout == b"got " + data


def test_host_key_unknown(node: SshNode) -> None:
    (node.folder / "known_hosts").write_text("")
    assert trouble(node.connection())[0] is Trouble.HOST_KEY_UNKNOWN
    assert node.commands == []


def test_host_key_changed(node: SshNode) -> None:
    node.write_known_hosts(asyncssh.generate_private_key("ssh-ed25519"))
    kind, detail = trouble(node.connection())
    assert kind is Trouble.HOST_KEY_CHANGED
    assert "127.0.0.1" in detail
    assert node.commands == []


def test_host_key_of_another_kind_only(node: SshNode) -> None:
    node.write_known_hosts(asyncssh.generate_private_key("ecdsa-sha2-nistp256"))
    assert trouble(node.connection())[0] is Trouble.HOST_KEY_CHANGED


def test_known_hosts_that_is_missing_or_damaged_trusts_nobody(node: SshNode) -> None:
    (node.folder / "known_hosts").unlink()
    assert trouble(node.connection())[0] is Trouble.HOST_KEY_UNKNOWN
    (node.folder / "known_hosts").write_bytes(b"\xff\xfe")
    assert trouble(node.connection())[0] is Trouble.HOST_KEY_UNKNOWN


def test_the_users_known_hosts_count_by_default(node: SshNode, tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    (node.folder / "known_hosts").rename(tmp_path / ".ssh" / "known_hosts")
    assert ask(node.connection(ssh_args=())).rc == 3


@pytest.mark.parametrize("config", ["UserKnownHostsFile none\n", "Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n"])
def test_the_users_configuration_cannot_switch_the_check_off(node: SshNode, tmp_path: Path, config: str) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text(config)
    assert trouble(node.connection(ssh_args=()))[0] is Trouble.HOST_KEY_UNKNOWN


def test_the_inventory_can_switch_the_check_off(node: SshNode) -> None:
    (node.folder / "known_hosts").write_text("")
    assert ask(node.connection("-o", "StrictHostKeyChecking=no")).rc == 3


def test_auth_failed(node: SshNode, tmp_path: Path) -> None:
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(tmp_path / "other")
    assert trouble(node.connection(key_path=str(tmp_path / "other")))[0] is Trouble.AUTH_FAILED
    assert trouble(node.connection(user="nobody"))[0] is Trouble.AUTH_FAILED


def test_a_key_that_cannot_be_used(node: SshNode, tmp_path: Path) -> None:
    kind, detail = trouble(node.connection(key_path=str(tmp_path / "absent")))
    assert (kind, "No such file" in detail) == (Trouble.AUTH_FAILED, True)
    node.user_key.write_private_key(tmp_path / "locked", passphrase="secret")
    assert trouble(node.connection(key_path=str(tmp_path / "locked")))[0] is Trouble.AUTH_FAILED
    (tmp_path / "garbage").write_text("no key")
    assert trouble(node.connection(key_path=str(tmp_path / "garbage")))[0] is Trouble.AUTH_FAILED


def test_nobody_listens(node: SshNode) -> None:
    kind, detail = trouble(node.connection(port=1))
    assert (kind, detail) == (Trouble.UNREACHABLE, "Connection refused")


def test_unknown_name(node: SshNode) -> None:
    assert trouble(node.connection(host="no-such-node.invalid"))[0] is Trouble.UNREACHABLE


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


async def not_ssh(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    writer.close()


@pytest.mark.parametrize(("behaviour", "said"), [(silent, "no connection within 0.4 s"), (not_ssh, "")])
def test_something_else_answers(behaviour: asyncio.Protocol, said: str) -> None:
    async def go() -> None:
        server = await asyncio.start_server(behaviour, "127.0.0.1", 0)  # type: ignore[arg-type]
        port = server.sockets[0].getsockname()[1]
        async with server, SshClient(0.4) as client:
            await client.connect(Connection("127.0.0.1", port))

    with pytest.raises(TransportError) as caught:
        asyncio.run(go())
    assert caught.value.trouble is Trouble.UNREACHABLE
    assert said in caught.value.detail


async def hang_up(process: Process) -> None:
    process.stdout.write(b'{"half')
    await process.stdout.drain()
    process.channel.get_connection().abort()


async def no_status(process: Process) -> None:
    process.close()


@pytest.mark.parametrize("behaviour", [hang_up, no_status])
def test_disconnected_in_the_middle(tmp_path: Path, behaviour: Behaviour) -> None:
    with SshNode(tmp_path / "node", behaviour) as node:
        assert trouble(node.connection())[0] is Trouble.DISCONNECTED


async def killed(process: Process) -> None:
    process.channel.exit_with_signal("KILL", msg="out of memory")


def test_ended_by_a_signal(tmp_path: Path) -> None:
    with SshNode(tmp_path / "node", killed) as node:
        exited = ask(node.connection())
    assert exited.rc is None
    assert b"KILL out of memory" in exited.stderr


async def flood(process: Process) -> None:
    while True:
        process.stdout.write(b"x" * 65536)
        await process.stdout.drain()


def test_too_much_output(tmp_path: Path) -> None:
    with SshNode(tmp_path / "node", flood) as node:
        assert trouble(node.connection())[0] is Trouble.TOO_MUCH_OUTPUT


async def deaf(process: Process) -> None:
    process.exit(93)


def test_a_command_that_ends_without_reading_its_input(tmp_path: Path) -> None:
    with SshNode(tmp_path / "node", deaf) as node:
        assert ask(node.connection(), b"x" * 20_000_000).rc == 93


def test_through_jump_hosts_which_are_shared(node: SshNode, tmp_path: Path) -> None:
    with SshNode(tmp_path / "jump", echo, user_key=node.user_key) as jump:
        both = (jump.folder / "known_hosts").read_text() + (node.folder / "known_hosts").read_text()
        (node.folder / "known_hosts").write_text(both)
        connection = node.connection("-J", f"root@127.0.0.1:{jump.port}")

        async def go() -> list[int | None]:
            async with SshClient() as client:
                remotes = await asyncio.gather(*(client.connect(connection) for _ in range(4)))
                return [(await r.run(["true"], b"", 100)).rc for r in remotes]

        assert asyncio.run(go()) == [3, 3, 3, 3]
        assert (jump.connections, node.connections) == (1, 4)


def test_a_jump_host_that_is_not_known(node: SshNode, tmp_path: Path) -> None:
    with SshNode(tmp_path / "jump", echo, user_key=node.user_key) as jump:
        kind, detail = trouble(node.connection("-J", f"root@127.0.0.1:{jump.port}", "-o", "StrictHostKeyChecking=no"))
    assert kind is Trouble.UNREACHABLE
    assert detail.startswith("jump host 127.0.0.1: no host key of 127.0.0.1")


@pytest.mark.parametrize(
    ("connection", "line"),
    [
        (Connection("n"), "python3 -c 'a b'"),
        (Connection("n", user="root", become=True), "python3 -c 'a b'"),
        (Connection("n", user="ops", become=True), """sudo -n -H -u root -- /bin/sh -c 'exec "$@"' sh python3 -c 'a b'"""),
        (Connection("n", become=True, become_user="hpc"), """sudo -n -H -u hpc -- /bin/sh -c 'exec "$@"' sh python3 -c 'a b'"""),
    ],
)
def test_command_line(connection: Connection, line: str) -> None:
    assert command_line(["python3", "-c", "a b"], connection) == line
