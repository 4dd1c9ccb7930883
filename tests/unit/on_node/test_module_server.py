"""The Python that forks modules: none waits for another, and each is answered with its own exit status."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING

import pytest

from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = ROOT / "on_node" / "clusterctl_on_node" / "preloaded_python.py"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    path = str(tmp_path / "socket")
    with subprocess.Popen([sys.executable, str(PROGRAM), path, str(tmp_path)]) as process:
        until = time.monotonic() + 30
        while not os.path.exists(path) and time.monotonic() < until:  # noqa: PTH110
            time.sleep(0.05)
        yield path
        process.kill()


def sent(path: str, source: str, variables: str = "{}") -> socket.socket:
    """A client that waits for this module."""
    client = connected(path)
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out:
        given.write(f"{variables}\n{source}".encode())
        given.seek(0)
        socket.send_fds(client, [b"m"], [given.fileno(), out.fileno(), out.fileno()])
    return client


def connected(path: str) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(30)
    client.connect(path)
    return client


def status(client: socket.socket) -> int:
    with client:
        (code,) = struct.unpack("i", client.recv(4))
        return int(code)


def test_modules_run_beside_each_other(server: str) -> None:
    slow = sent(server, "import time; time.sleep(4); raise SystemExit(3)")
    began = time.monotonic()
    assert status(sent(server, "raise SystemExit(5)")) == 5
    assert time.monotonic() - began < 3
    assert status(slow) == 3


def test_a_signal_is_reported_as_a_shell_does(server: str) -> None:
    assert status(sent(server, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")) == 137


def test_clients_that_send_nothing_or_do_not_wait_harm_no_other(server: str) -> None:
    connected(server).close()
    sent(server, "import time; time.sleep(0.2)").close()
    with connected(server):
        assert status(sent(server, "pass")) == 0


def test_a_module_waits_for_its_own_children(server: str) -> None:
    source = "import subprocess, sys; raise SystemExit(subprocess.run([sys.executable, '-c', 'raise SystemExit(7)']).returncode)"
    assert status(sent(server, source)) == 7


def test_variables_of_a_task_are_those_of_its_module_and_of_no_other(server: str) -> None:
    source = "import os, subprocess; raise SystemExit(subprocess.run(['sh', '-c', 'exit ${OF_THE_TASK:-9}']).returncode)"
    assert status(sent(server, source, '{"OF_THE_TASK": "7"}')) == 7
    assert status(sent(server, source)) == 9
