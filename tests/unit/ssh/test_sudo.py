from __future__ import annotations

import asyncio
import shlex
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.ssh import sudo as sudo_module
from clusterctl.adapters.ssh.exec_result import Exited, TransportError, Trouble
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
    process.stderr.write(b"its own words")
    process.exit(3)


def ask(folder: Path, behaviour: Behaviour, password: str = PASSWORD) -> Exited:
    async def go(node: SshNode) -> Exited:
        async with SshClient(5.0) as client:
            remote = await client.connect(node.connection(become=True, become_user="hpc", become_password=True), password)
            try:
                return await remote.run(["cat", "a b"], PAYLOAD, len(PAYLOAD) + 1)
            finally:
                remote.close()

    with SshNode(folder / "node", behaviour) as node:
        try:
            return asyncio.run(asyncio.wait_for(go(node), 20))
        finally:
            assert node.commands
            assert not any(PASSWORD in command for command in node.commands)


def trouble(folder: Path, behaviour: Behaviour, password: str = PASSWORD) -> tuple[Trouble, str]:
    with pytest.raises(TransportError) as caught:
        ask(folder, behaviour, password)
    assert password not in caught.value.detail
    return caught.value.trouble, caught.value.detail


def test_the_password_goes_to_the_prompt_and_the_payload_to_the_command(tmp_path: Path) -> None:
    fake = FakeSudo(echo)
    assert ask(tmp_path, fake) == Exited(3, PAYLOAD, b"its own words")
    assert fake.received == [PASSWORD]


def test_a_sudo_that_does_not_ask_never_gets_the_password(tmp_path: Path) -> None:
    fake = FakeSudo(echo, password=None)
    assert ask(tmp_path, fake) == Exited(3, PAYLOAD, b"its own words")
    assert fake.received == []


@pytest.mark.parametrize("tries", [1, 3])
def test_a_wrong_password_is_tried_once(tmp_path: Path, tries: int) -> None:
    fake = FakeSudo(echo, tries=tries)
    kind, detail = trouble(tmp_path, fake, "wrong one")
    assert (kind, detail) == (Trouble.AUTH_FAILED, "become: sudo does not accept ansible_become_password; it was tried once")
    assert fake.received[0] == "wrong one"
    assert not any(fake.received[1:]), "nothing but the end of its input came after it"


def says(rc: int, stderr: bytes) -> Behaviour:
    async def behaviour(process: Process) -> None:
        process.stderr.write(stderr)
        process.exit(rc)

    return behaviour


@pytest.mark.parametrize(
    ("rc", "stderr", "detail"),
    [
        (1, b"sudo: sorry, you must have a tty to run sudo\n", "become: sudo wants a terminal, and has none here"),
        (1, b"sudo: a terminal is required to read the password\n", "become: sudo wants a terminal, and has none here"),
        (1, b"ops is not in the sudoers file.\n", "become: sudo refuses: ops is not in the sudoers file."),
        (1, b"\x1b[2JSorry, user ops\n", "become: sudo refuses: [2JSorry, user ops"),
        (1, b"", "become: sudo refuses: it ended with status 1"),
        (127, b"env: 'sudo': No such file or directory\n", "become: there is no sudo: env: 'sudo': No such file"),
        (1, b"echoed: " + PASSWORD.encode(), "become: sudo refuses: echoed: ********"),
    ],
)
def test_a_sudo_that_refuses(tmp_path: Path, rc: int, stderr: bytes, detail: str) -> None:
    kind, said = trouble(tmp_path, says(rc, stderr))
    assert kind is Trouble.AUTH_FAILED
    assert said.startswith(detail)


def test_a_refusal_that_repeats_the_command_is_no_start(tmp_path: Path) -> None:
    async def refuse(process: Process) -> None:
        words = " ".join(shlex.split(process.command or "")[8:])
        process.stderr.write(f"Sorry, user ops is not allowed to execute '{words} {'x' * 1000}' as root on n1.\n".encode())
        process.exit(1)

    kind, detail = trouble(tmp_path, refuse)
    assert kind is Trouble.AUTH_FAILED
    assert detail.startswith("become: sudo refuses: Sorry, user ops is not allowed to execute '")


def test_a_command_that_repeats_the_password_is_masked(tmp_path: Path) -> None:
    async def parrot(process: Process) -> None:
        process.stderr.write(f"secret {PASSWORD}!".encode())
        process.exit(1)

    assert ask(tmp_path, FakeSudo(parrot)).stderr == b"secret ********!"


async def silent(_process: Process) -> None:
    await asyncio.Event().wait()


def test_a_sudo_that_says_nothing_has_a_limit_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sudo_module, "LIMIT_S", 0.3)
    kind, detail = trouble(tmp_path, silent)
    assert kind is Trouble.TIMED_OUT
    assert detail.startswith("become: sudo neither asked nor ran within 0.3 s")


async def hang_up(process: Process) -> None:
    process.channel.get_connection().abort()


def test_a_connection_that_breaks_while_sudo_asks(tmp_path: Path) -> None:
    assert trouble(tmp_path, hang_up)[0] is Trouble.DISCONNECTED


def test_the_password_shows_itself_nowhere() -> None:
    sudo = Sudo("root", PASSWORD)
    assert PASSWORD not in repr(sudo) + sudo.command_line(["python3"])
    assert sudo.key != Sudo("root", PASSWORD).key
