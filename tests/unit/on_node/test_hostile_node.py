"""A node that runs roles itself sends what it likes: that spoils its own result, ends in time, and is nobody else's."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.ansible.playbook_request import PlaybookRequest
from clusterctl.adapters.inventory.sent_variables import SentVariables
from clusterctl.adapters.on_node import archive, node_run
from clusterctl.adapters.on_node import run_on_nodes as module
from clusterctl.adapters.ssh import keys
from clusterctl.model.playbook_result import HostOutcome, HostStatus
from support.provisioning import node
from support.ssh_node import SshNode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.ssh_node import Behaviour, Process

END = b'{"clusterctl_end": {"rc": 0, "why": ""}}\n'


def event(kind: str, **data: Any) -> bytes:
    return json.dumps({"event": kind, "stdout": "", "event_data": data}).encode() + b"\n"


def recap(name: str, **counts: object) -> bytes:
    return event("playbook_on_stats", processed={name: 1}, ok={name: 3}, **counts)


HONEST = event("runner_on_ok", host="n2", task="t", duration=0.5) + recap("n2") + END
STARTED = event("runner_on_start", host="n1", task="t")
# sshd runs /etc/ssh/sshrc for every command (sshd(8)), and bash ~/.bashrc (bash(1), remote shell daemon); their output comes first.
GREETING = b"\xff\xfe\n*** Authorized use only [v2] ***\r\n[root@n1 ~]# {\n[WARNING]: {}\n\n"
SPOILED = {
    "no JSON": b"hello\n",
    "no text": b"\xff\xfe\n",
    "a list": b"[]\n",
    "a number of too many digits": b'{"event": ' + b"9" * 5000 + b"}\n",
    "nested without end": b"[" * 100_000 + b"\n",
    "an endless duration": b'{"event": "runner_on_ok", "event_data": {"host": "n1", "duration": 1e999}}\n',
    "a duration that is none": event("runner_on_ok", host="n1", duration=[1]),
    "a huge duration": event("runner_on_ok", host="n1", duration=10**400),
    "counts that are none": recap("n1", changed=[1]),
    "a count that is none": recap("n1", changed={"n1": "x"}),
    "an end that is none": b'{"clusterctl_end": []}\n',
    "a task of another node": event("runner_on_failed", host="n2", task="t", res={"msg": "broken"}),
    "a reboot of another node": event("runner_on_ok", host="n2", task="t", res={"ansible_facts": {"kernel_reboot_required": True}}),
    "a recap of another node": recap("n2", failures={"n2": 1}),
    "a line without end": b"a" * 300_000,
}


def saying(sent: bytes, *, stays: bool) -> Behaviour:
    """Sends its lines to whoever runs a command; `stays`: and says nothing more."""

    async def answer(process: Process) -> None:
        await process.stdin.readline()
        process.stdout.write(sent)
        if stays:
            await process.stdin.read()
        process.exit(0)

    return answer


@pytest.fixture
def outcomes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, HostOutcome]]:
    """Runs a playbook on n1, which sends the bytes given, and n2, which is honest."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setattr(keys, "SYSTEM_KNOWN_HOSTS", tmp_path / "none")
    monkeypatch.setattr(module, "passwords", lambda *_: {})
    monkeypatch.setattr(archive, "members", dict)
    monkeypatch.setattr(node_run, "_LONGEST_LINE_BYTES", 200_000)

    def run(sent: bytes, *, stays: bool = True, timeout_s: int = 60) -> dict[str, HostOutcome]:
        with SshNode(tmp_path / "n1", saying(sent, stays=stays)) as bad, SshNode(tmp_path / "n2", saying(HONEST, stays=False)) as good:
            nodes = [replace(node(n), connection=server.connection()) for n, server in (("n1", bad), ("n2", good))]
            asked = PlaybookRequest("provision.yml", (), ("n1", "n2"), timeout_s=timeout_s)
            settings = module.OnNodeSettings(reconnect_s=0.5)
            variables = SentVariables(of_node={"n1": {}, "n2": {}})
            return dict(module.run_on_nodes(asked, nodes, tmp_path / "ansible", tmp_path, variables, settings=settings).result.hosts)

    return run


@pytest.mark.parametrize("spoiled", SPOILED)
def test_what_a_node_sends_spoils_its_own_result_alone(spoiled: str, outcomes: Callable[..., dict[str, HostOutcome]]) -> None:
    hosts = outcomes(STARTED + SPOILED[spoiled])
    assert hosts["n2"] == HostOutcome("n2", HostStatus.OK, ok=3)
    assert hosts["n1"].status is HostStatus.UNREACHABLE
    assert re.match("it sent (?:a line|an event|more)", hosts["n1"].failures[0].message)


def test_what_a_login_script_prints_before_the_run_is_no_part_of_it(outcomes: Callable[..., dict[str, HostOutcome]]) -> None:
    hosts = outcomes(GREETING + recap("n1") + END, stays=False)
    assert hosts["n1"] == HostOutcome("n1", HostStatus.OK, ok=3)


def test_a_login_script_does_not_print_without_end(outcomes: Callable[..., dict[str, HostOutcome]]) -> None:
    hosts = outcomes(b"hello\n" * 20_000)
    assert hosts["n1"].failures[0].message == "it sent a line that is not an event of a run: a login script that prints without end?"


def test_a_module_may_return_what_is_not_a_number(outcomes: Callable[..., dict[str, HostOutcome]]) -> None:
    failed = b'{"event": "runner_on_failed", "stdout": "", "event_data": {"host": "n1", "task": "t", "res": {"msg": "b", "rate": NaN}}}\n'
    assert outcomes(failed + recap("n1", failures={"n1": 1}) + END, stays=False)["n1"].status is HostStatus.FAILED


def test_a_run_that_never_ends_is_left_after_its_time(outcomes: Callable[..., dict[str, HostOutcome]]) -> None:
    hosts = outcomes(event("runner_on_start", host="n1", task="t"), timeout_s=1)
    assert (hosts["n1"].status, hosts["n2"].status) == (HostStatus.UNREACHABLE, HostStatus.OK)
    assert hosts["n1"].failures[0].message == "it sent no end of the run within 1.5 s"


def test_half_a_character_pair_is_written_as_an_escape(outcomes: Callable[..., dict[str, HostOutcome]], tmp_path: Path) -> None:
    failed = b'{"event": "runner_on_failed", "stdout": "a\\udcff", "event_data": {"host": "n1", "task": "t", "res": {"msg": "b\\udcff"}}}\n'
    hosts = outcomes(failed + recap("n1", failures={"n1": 1}) + END, stays=False)
    assert (hosts["n1"].status, hosts["n2"].status) == (HostStatus.FAILED, HostStatus.OK)
    assert "a\\udcff" in (tmp_path / "ansible" / "ansible-n1.log").read_text()
    assert "b\\udcff" in (tmp_path / "ansible" / "events.jsonl").read_text()
