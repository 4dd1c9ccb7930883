"""The server itself, on a port and on a Unix socket: it answers, and every end of it is one with a meaning."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from clusterctl import main
from support.ports import free_port
from support.web_site import NODE, write_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "clusterctl.yml").write_text("state_dir: state\n")
    write_site(tmp_path / "state")
    return tmp_path


@contextmanager
def serving(site: Path, *words: str, program: tuple[str, ...] = ("-m", "clusterctl")) -> Iterator[subprocess.Popen[str]]:
    """The command, once it says that it serves."""
    command = [sys.executable, *program, "serve", *words]
    process = subprocess.Popen(command, cwd=site, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ})
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("serving "), line + process.stderr.read()
        yield process
    finally:
        process.kill()
        process.communicate()


def get(port: int, path: str, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path, headers=headers or {})
    answer = connection.getresponse()
    return answer.status, answer.read()


def ended(process: subprocess.Popen[str], by: signal.Signals) -> tuple[int, str, float]:
    begin = time.monotonic()
    process.send_signal(by)
    _, err = process.communicate(timeout=20)
    return process.returncode, err, time.monotonic() - begin


def test_it_answers_on_loopback_and_ctrl_c_ends_it_with_a_stream_open(site: Path) -> None:
    port = free_port()
    with serving(site, "--port", str(port)) as process:
        assert get(port, "/")[0] == 200
        assert json.loads(get(port, f"/api/v1/nodes/{NODE}")[1])["node"]["name"] == NODE
        stream = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        stream.request("GET", "/api/v1/events")
        assert stream.getresponse().readline() == b"event: progress\n"
        code, err, took_s = ended(process, signal.SIGINT)
    assert (code, err) == (9, "error: interrupted: Ctrl-C\n")
    assert took_s < 10


def test_sigterm_ends_it_with_0_and_says_nothing(site: Path) -> None:
    with serving(site, "--port", str(free_port())) as process:
        assert ended(process, signal.SIGTERM)[:2] == (0, "")


SLOW = """
import time
from clusterctl import main
from clusterctl.workflows.browse import Browser
Browser.runs = lambda self: (time.sleep(6), ((), frozenset()))[1]
main.run()
"""


def test_a_page_that_takes_long_does_not_spoil_the_end(site: Path) -> None:
    port = free_port()
    with serving(site, "--port", str(port), program=("-c", SLOW)) as process, socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\n\r\n")
        time.sleep(1)
        assert ended(process, signal.SIGTERM)[:2] == (0, "")


def test_a_port_in_use_is_an_error_with_a_hint(site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(site)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        assert main.call(["serve", "--port", str(other.getsockname()[1])]) == 3
    err = capsys.readouterr().err
    assert "Address already in use" in err
    assert "hint: another program listens there: choose another --port" in err


def test_a_unix_socket_is_for_user_and_group_and_goes_at_the_end(site: Path) -> None:
    path = site / "web.sock"
    with serving(site, "--unix", str(path)) as process:
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(b"GET /api/v1/fleet HTTP/1.0\r\nHost: web\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 200")
        assert main.call(["--state-dir", str(site / "state"), "serve", "--unix", str(path)]) == 3
        assert ended(process, signal.SIGTERM)[0] == 0
    assert not path.exists()


def test_a_socket_that_a_killed_server_left_is_replaced(site: Path) -> None:
    path = site / "web.sock"
    with serving(site, "--unix", str(path)) as process:
        process.kill()
        process.wait()
    assert path.exists()
    with serving(site, "--unix", str(path)) as process:
        assert ended(process, signal.SIGTERM)[0] == 0


def test_a_file_in_the_place_of_the_socket_stays(site: Path) -> None:
    (site / "web.sock").write_text("mine")
    assert main.call(["--state-dir", str(site / "state"), "serve", "--unix", str(site / "web.sock")]) == 3
    assert (site / "web.sock").read_text() == "mine"


def test_with_a_token_nobody_reads_without_it(site: Path) -> None:
    port, token = free_port(), site / "token"
    token.write_text(TOKEN + "\n")
    with serving(site, "--bind", "0.0.0.0", "--port", str(port), "--token-file", str(token)):
        status, body = get(port, "/api/v1/nodes")
        assert (status, NODE.encode() in body) == (401, False)
        assert get(port, "/api/v1/nodes", {"Authorization": f"Bearer {TOKEN}"})[0] == 200


def test_a_header_of_a_proxy_does_not_say_where_a_request_comes_from(site: Path) -> None:
    port = free_port()
    with serving(site, "--port", str(port), "--trust-header", "X-Remote-User", "--proxy", "10.0.0.1"):
        headers = {"X-Remote-User": "root", "X-Forwarded-For": "10.0.0.1", "Forwarded": "for=10.0.0.1", "X-Real-IP": "10.0.0.1"}
        assert get(port, "/api/v1/fleet", headers)[0] == 403


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (["--bind", "0.0.0.0"], 2, "hint: add --token-file FILE"),
        (["--bind", "0.0.0.0", "--trust-header", "X-Remote-User"], 2, "--proxy ADDRESS of the proxy"),
        (["--bind", "192.0.2.1", "--token-file", "token"], 3, "no interface of this machine"),
        (["--token-file", "missing"], 3, "hint: name a file that this user can read"),
        (["--unix", "x.sock", "--port", "8080"], 2, "hint: leave one of them out"),
        (["--unix", "missing/x.sock"], 3, "hint: see --bind, --port and --unix"),
    ],
)
def test_what_cannot_be_served_is_an_error_with_a_hint(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], code: int, hint: str
) -> None:
    monkeypatch.chdir(site)
    (site / "token").write_text(TOKEN)
    assert main.call(["serve", *words]) == code
    assert hint in capsys.readouterr().err


def test_without_the_extra_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in [n for n in sys.modules if n.startswith("clusterctl.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main.call(["serve"]) == 3
    assert "error: uvicorn is not installed\nhint: pip install 'clusterctl[serve]'\n" in capsys.readouterr().err
