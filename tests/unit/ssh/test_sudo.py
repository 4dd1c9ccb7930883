from __future__ import annotations

import asyncio
import shlex
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.ssh import sudo as sudo_module
from clusterctl.adapters.ssh.remote_result import RemoteResult, TransportError, TransportFailure
from clusterctl.adapters.ssh.ssh import SshClient
from clusterctl.adapters.ssh.sudo import Sudo
from support.fake_sudo import FakeSudo
from support.ssh_node import SshNode

if TYPE_CHECKING:
    from pathlib import Path

    from support.ssh_node import Behaviour, Process

PASSWORD = "pass word"
PAYLOAD = b"line\n" + bytes(range(256)) * 3000


async def echo(process: Process) -> None:
    process.stdout.write(await process.stdin.read())
    process.stderr.write(b"its own output")
    process.exit(3)


def run_command(folder: Path, behaviour: Behaviour, password: str = PASSWORD) -> RemoteResult:
    async def connect_and_run(node: SshNode) -> RemoteResult:
        async with SshClient(5.0) as client:
            session = await client.connect(node.connection(become=True, become_user="hpc", become_password=True), password)
            try:
                return await session.run(["cat", "a b"], PAYLOAD, len(PAYLOAD) + 1)
            finally:
                session.close()

    with SshNode(folder / "node", behaviour) as node:
        try:
            return asyncio.run(asyncio.wait_for(connect_and_run(node), 20))
        finally:
            assert node.commands
            assert not any(PASSWORD in command for command in node.commands)


def failure_of(folder: Path, behaviour: Behaviour, password: str = PASSWORD) -> tuple[TransportFailure, str]:
    with pytest.raises(TransportError) as caught:
        run_command(folder, behaviour, password)
    assert password not in caught.value.detail
    return caught.value.failure, caught.value.detail


def test_the_password_goes_to_the_prompt_and_the_payload_to_the_command(tmp_path: Path) -> None:
    fake = FakeSudo(echo)
    assert run_command(tmp_path, fake) == RemoteResult(3, PAYLOAD, b"its own output")
    assert fake.received == [PASSWORD]


def test_a_sudo_without_prompt_never_receives_the_password(tmp_path: Path) -> None:
    fake = FakeSudo(echo, password=None)
    assert run_command(tmp_path, fake) == RemoteResult(3, PAYLOAD, b"its own output")
    assert fake.received == []


@pytest.mark.parametrize("tries", [1, 3])
def test_a_wrong_password_is_tried_once(tmp_path: Path, tries: int) -> None:
    fake = FakeSudo(echo, tries=tries)
    kind, detail = failure_of(tmp_path, fake, "wrong one")
    assert (kind, detail) == (TransportFailure.AUTH_FAILED, "become: sudo does not accept ansible_become_password; it was tried once")
    assert fake.received[0] == "wrong one"
    assert not any(fake.received[1:]), "no second password may be sent"


def refuse_with(rc: int, stderr: bytes) -> Behaviour:
    async def behaviour(process: Process) -> None:
        process.stderr.write(stderr)
        process.exit(rc)

    return behaviour


@pytest.mark.parametrize(
    ("rc", "stderr", "detail"),
    [
        (1, b"sudo: sorry, you must have a tty to run sudo\n", "become: sudo requires a terminal"),
        (1, b"sudo: a terminal is required to read the password\n", "become: sudo requires a terminal"),
        (1, b"ops is not in the sudoers file.\n", "become: sudo refuses: ops is not in the sudoers file."),
        (1, b"\x1b[2JSorry, user ops\n", "become: sudo refuses: [2JSorry, user ops"),
        (1, b"", "become: sudo refuses: it ended with exit status 1"),
        (127, b"env: 'sudo': No such file or directory\n", "become: sudo is not installed: env: 'sudo': No such file"),
        (1, b"echoed: " + PASSWORD.encode(), "become: sudo refuses: echoed: ********"),
    ],
)
def test_a_refusal_of_sudo_is_reported(tmp_path: Path, rc: int, stderr: bytes, detail: str) -> None:
    kind, message = failure_of(tmp_path, refuse_with(rc, stderr))
    assert kind is TransportFailure.AUTH_FAILED
    assert message.startswith(detail)


def test_a_refusal_that_prints_the_command_is_not_a_start(tmp_path: Path) -> None:
    async def refuse(process: Process) -> None:
        words = " ".join(shlex.split(process.command or "")[8:])
        process.stderr.write(f"Sorry, user ops is not allowed to execute '{words} {'x' * 1000}' as root on n1.\n".encode())
        process.exit(1)

    kind, detail = failure_of(tmp_path, refuse)
    assert kind is TransportFailure.AUTH_FAILED
    assert detail.startswith("become: sudo refuses: Sorry, user ops is not allowed to execute '")


def test_the_password_is_masked_in_the_output_of_the_command(tmp_path: Path) -> None:
    async def print_password(process: Process) -> None:
        process.stderr.write(f"secret {PASSWORD}!".encode())
        process.exit(1)

    assert run_command(tmp_path, FakeSudo(print_password)).stderr == b"secret ********!"


async def silent(_process: Process) -> None:
    await asyncio.Event().wait()


def test_a_silent_sudo_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sudo_module, "LIMIT_S", 0.3)
    kind, detail = failure_of(tmp_path, silent)
    assert kind is TransportFailure.TIMED_OUT
    assert detail.startswith("become: sudo neither prompted nor ran the command within 0.3 s")


async def abort_connection(process: Process) -> None:
    process.channel.get_connection().abort()


def test_a_connection_lost_at_the_prompt_is_detected(tmp_path: Path) -> None:
    assert failure_of(tmp_path, abort_connection)[0] is TransportFailure.DISCONNECTED


def test_the_password_is_in_no_repr_and_no_command_line() -> None:
    sudo = Sudo("root", PASSWORD)
    assert PASSWORD not in repr(sudo) + sudo.command_line(["python3"])
    assert sudo.token != Sudo("root", PASSWORD).token
