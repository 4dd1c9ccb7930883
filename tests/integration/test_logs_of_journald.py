"""`clusterctl logs` on a container whose journald is real, with sudo and without."""

from __future__ import annotations

import json
import os
import shutil
import time
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl import main
from clusterctl.model.exit_codes import ExitCode
from support.container_node import ContainerNode
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed")]

SUDO = "hunter22"
WRITTEN = r"""
mkdir -p /run/systemd/journal /run/log/journal
(setsid /lib/systemd/systemd-journald >/dev/null 2>&1 &)
until [ -S /run/systemd/journal/stdout ]; do sleep 0.1; done
printf 'a\033[31mb\377\n' | systemd-cat -t bytes
systemd-cat -t long printf '%05000d' 7
systemd-cat -t secret echo 'db password=abc123 hunter22'
printf 'MESSAGE=one\nMESSAGE=two\nSYSLOG_IDENTIFIER=several\n' | logger --journald
printf '\342\200\256rtl\n' | systemd-cat -t last
"""
MESSAGES = {
    "bytes": "a\x1b[31mb\ufffd",
    "long": None,
    "secret": "db password=******** ********",
    "several": "one\ntwo",
    "last": "\u202ertl",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """With three layers for one node: root, a user with sudo, a user without."""
    made = tmp_path_factory.mktemp("logs")
    with ContainerNode(made / "node", f"ct-logs-{os.getpid()}") as node:
        node.shell(f"useradd -m ops; echo 'ops ALL=(ALL) ALL' > /etc/sudoers.d/ops; echo ops:{SUDO} | chpasswd")
        node.authorize_key("ops", "/home/ops")
        node.write_site(made / "root")
        node.write_site(made / "sudo", ansible_user="ops", ansible_become="yes", ansible_become_password=SUDO)
        node.write_site(made / "user", ansible_user="ops")
        node.shell(WRITTEN)
        deadline = time.monotonic() + 30
        while "rtl" not in node.shell("journalctl -t last") and time.monotonic() < deadline:
            time.sleep(0.2)
        yield made


def read(folder: Path, layer: str, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    layers = ("-i", str(ROOT / "inventory" / "common"), "-i", str(folder / layer))
    code = main.call(["--state-dir", str(folder / "state"), "logs", "all", *words, *layers])
    return code, capsys.readouterr().out


def only(text: str) -> dict[str, Any]:
    (node,) = json.loads(text)["nodes"]
    found: dict[str, Any] = node
    return found


def test_what_journald_prints_of_messages_that_are_no_plain_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = read(folder, "sudo", capsys, "--journal", "-o", "json")
    node = only(text)
    assert (code, node["outcome"], node["unreadable"], node["truncated"]) == (0, "read", 0, False)
    assert {e["program"]: e["message"] for e in node["entries"] if e["program"] in MESSAGES} == MESSAGES
    code, text = read(folder, "root", capsys, "--journal", "--lines", "2")
    assert (code, text.count("\n"), "older entries are left out" in text) == (0, 3, True)
    assert text.splitlines()[2].endswith(r"last: \u202ertl")


def test_what_is_newer_than_until_is_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = read(folder, "root", capsys, "--journal", "--since", "2h", "--until", "1h", "-o", "json")
    node = only(text)
    assert (code, node["outcome"], node["entries"], json.loads(text)["until_s"]) == (0, "read", [], 3600)
    time.sleep(1.5)  # what the fixture wrote is older than a second then
    code, text = read(folder, "root", capsys, "--journal", "--since", "2h", "--until", "1s", "-o", "json")
    assert (code, {e["program"] for e in only(text)["entries"]} >= set(MESSAGES)) == (0, True)


def test_a_log_that_may_not_be_read_or_is_not_there_is_not_an_empty_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = read(folder, "user", capsys, "--journal", "-o", "json")
    assert (code, only(text)["outcome"]) == (ExitCode.UNREACHABLE, "not_read")
    assert "insufficient permissions" in only(text)["problem"]
    # a container has no kernel log of its own
    code, text = read(folder, "root", capsys, "-o", "json")
    assert (code, only(text)["outcome"]) == (ExitCode.UNREACHABLE, "not_read")
    assert only(text)["problem"].startswith("journalctl: the journal keeps no entry of the kernel; dmesg: ")
