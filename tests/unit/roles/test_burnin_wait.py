"""The action plugin that waits for a burn-in agent: through broken connections and reboots, but not for ever."""

from __future__ import annotations

import importlib.util
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from ansible.errors import AnsibleConnectionFailure

from support.agents import AgentNode, step
from support.local_play import run_play
from support.ports import free_port
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

RUNNING = {"rc": 3, "stdout": "", "stderr": "the burn-in agent did not finish within 30 s\n"}
DONE = {"rc": 0, "stdout": "", "stderr": ""}
KILLED = {"rc": 137, "stdout": "", "stderr": "Shared connection to n1 closed.\n"}
GONE = AnsibleConnectionFailure("Connection refused")


def plugin() -> ModuleType:
    found = importlib.util.spec_from_file_location("burnin_wait", ROOT / "plugins" / "action" / "burnin_wait.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


class Node:
    """Answers as listed, the last answer for ever; every answer takes ten seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: Any) -> None:
        self.answers = list(answers)
        self.commands: list[str] = []
        self.now = 0.0
        self.resets = 0
        self.options: dict[str, str] = {"ssh_extra_args": "-v"}
        module = plugin()
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(module.time, "sleep", self.pass_time)
        self.action = module.ActionModule.__new__(module.ActionModule)
        self.action._task = SimpleNamespace(
            async_val=0, check_mode=False, action="burnin_wait", args={"folder": "/var/lib/x y", "limit_s": 1000, "return_s": 200}
        )
        shell = SimpleNamespace(tmpdir="/tmp")
        self.action._connection = SimpleNamespace(
            _shell=shell, reset=self.reset, get_option=self.options.__getitem__, set_option=self.options.__setitem__
        )
        self.action._low_level_execute_command = self.answer

    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    def reset(self) -> None:
        self.resets += 1

    def answer(self, command: str) -> dict[str, Any]:
        self.commands.append(command)
        self.now += 10
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Exception):
            raise found
        return dict(found)


def test_a_run_is_waited_for_in_short_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(monkeypatch, RUNNING, RUNNING, DONE)
    assert node.action.run()["rc"] == 0
    assert node.commands == ["cd '/var/lib/x y' && python3 burnin_agent.py wait . 30"] * 3
    assert node.options["ssh_extra_args"] == "-v -o ServerAliveInterval=15 -o ServerAliveCountMax=4"


def test_a_node_that_comes_back_is_waited_on_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rebooted = {"rc": 1, "stdout": "", "stderr": "the node rebooted during the measurement\n"}
    node = Node(monkeypatch, RUNNING, *[GONE] * 12, rebooted)
    found = node.action.run()
    assert (found["rc"], found["stderr"]) == (1, rebooted["stderr"])
    assert node.resets == 13


def test_a_node_that_does_not_come_back_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(monkeypatch, RUNNING, GONE)
    with pytest.raises(AnsibleConnectionFailure, match="stopped answering during the measurement and was not back after 2"):
        node.action.run()
    assert node.now < 300


def test_a_wait_that_the_shutdown_of_the_node_ended_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rebooted = {"rc": 1, "stdout": "", "stderr": "the node rebooted during the measurement\n"}
    node = Node(monkeypatch, RUNNING, KILLED, GONE, rebooted)
    found = node.action.run()
    assert (found["rc"], found["stderr"]) == (1, rebooted["stderr"])


def test_a_wait_that_is_ended_for_ever_leaves_the_node_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(monkeypatch, RUNNING, KILLED)
    with pytest.raises(AnsibleConnectionFailure, match="the command was ended: Shared connection to n1 closed"):
        node.action.run()
    assert node.now < 300


def test_an_agent_that_never_ends_is_not_waited_for_longer_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(monkeypatch, RUNNING)
    found = node.action.run()
    assert found["rc"] == 3
    assert 1000 <= node.now <= 1030


def test_a_connection_without_options_is_waited_on_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(monkeypatch, DONE)
    node.options.clear()
    del node.action._connection.reset
    assert node.action.run()["rc"] == 0


@pytest.mark.parametrize(("boot", "rc", "words"), [("", 0, ""), ("another\n", 1, "the node rebooted during the measurement: boot another")])
def test_as_the_role_uses_it(tmp_path: Path, boot: str, rc: int, words: str) -> None:
    node = AgentNode(tmp_path, "n1", free_port(), [step("one", ["true"])])
    node.start().end()
    if boot:
        (node.folder / "done").unlink()
        (node.folder / "boot_id").write_text(boot)
    wait = {
        "clusterctl.gpu.burnin_wait": {"folder": str(node.folder), "limit_s": 20, "return_s": 5},
        "register": "found",
        "failed_when": False,
    }
    shown = {"ansible.builtin.copy": {"content": "{{ found | to_json }}", "dest": str(tmp_path / "found.json"), "mode": "0600"}}
    done = run_play(tmp_path, [wait, shown])
    assert done.code == 0, done.output
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["rc"] == rc
    assert words in found["stderr"]
