"""The code of what took a node out, its part and the next action are in every document that shows the node; they go when the node moves on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from clusterctl import main
from clusterctl.adapters.store import Store, sqlite_reader
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.repair import Component, NextAction, Repair
from clusterctl.model.state import State
from clusterctl.model.verdict import Admission, NodeVerdict, Reason, ReasonKind
from clusterctl.serve.api import BASE
from clusterctl.terminal.admissions import show_admissions
from support.asgi import ask
from support.provisioning import World
from support.roles import ROOT
from support.web_site import app_of

if TYPE_CHECKING:
    from pathlib import Path

GOOD, BAD = NAMES = ("r12-n01", "r12-n02")
CODE = "gate.rdma_pair"
REPAIR = ("adapter", "check_cable")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A site of which a run quarantined one node."""
    world = World(tmp_path, names=NAMES, digest="d" * 64, gate_fails={BAD})
    assert world.run().exit_code is ExitCode.GATE_FAILED
    assert world.states() == {GOOD: State.ADMITTED, BAD: State.QUARANTINED}
    return world.state_dir


def document(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main.call(["--state-dir", str(folder), *words, "-o", "json"]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    schema = json.loads((ROOT / f"docs/reference/schemas/{words[0]}.schema.json").read_text())
    Draft202012Validator(schema).validate(data)
    return data


@pytest.mark.parametrize("quickly", [True, False])
def test_status_and_history_have_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, quickly: bool
) -> None:
    if not quickly:
        monkeypatch.setattr(sqlite_reader, "read_snapshot", lambda _url: None)
    nodes = document(folder, capsys, "status")["nodes"]
    assert [n["reason_code"] for n in nodes] == ["", CODE]
    assert [(n["component"], n["next_action"]) for n in nodes] == [("", ""), REPAIR]
    story = document(folder, capsys, "history", BAD)
    assert (story["node"]["reason_code"], story["node"]["component"], story["node"]["next_action"]) == (CODE, *REPAIR)
    assert [(s["to"], s["reason_code"]) for s in story["transitions"] if s["reason_code"]] == [("quarantined", CODE)]


def test_status_lists_what_is_out_by_what_to_do_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["--state-dir", str(folder), "status"]) == 0
    assert f"to do: check_cable (adapter): {BAD}" in capsys.readouterr().out.splitlines()


def test_nodes_behind_a_switch_are_one_line_with_its_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repair = Repair(Component.SWITCH, NextAction.CHECK_SWITCH, "leaf-3, rail 2\x1b[2J")
    with Store.open(f"sqlite:///{folder / 'clusterctl.db'}") as store:
        store.transition(GOOD, State.DRAINED, run_id="", operator="ada", reason="x", reason_code=CODE, repair=repair)
        store.transition(BAD, State.DRAINED, run_id="", operator="ada", reason="x", reason_code=CODE, repair=repair)
    assert main.call(["--state-dir", str(folder), "status"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("to do")]
    assert len(lines) == 1
    assert lines[0].startswith("to do: check_switch (switch leaf-3, rail 2")
    assert lines[0].endswith(": r12-n01, r12-n02")
    assert "\x1b" not in lines[0]
    assert {n["component_name"] for n in document(folder, capsys, "status")["nodes"]} == {repair.component_name}


def test_the_api_has_it(folder: Path) -> None:
    app = app_of(folder)
    assert [n["reason_code"] for n in ask(app, f"{BASE}/nodes").json()["nodes"]] == ["", CODE]
    page = ask(app, f"{BASE}/nodes/{BAD}").json()
    assert (page["node"]["reason_code"], page["transitions"][-1]["reason_code"]) == (CODE, CODE)
    assert [(one["component"], one["next_action"]) for one in (page["node"], page["transitions"][-1])] == [REPAIR, REPAIR]


def test_a_node_that_moved_on_has_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--state-dir", str(folder), "release", BAD, "--reason", "cable replaced"]
    assert main.call(words) == 0
    capsys.readouterr()
    story = document(folder, capsys, "history", BAD)
    assert (story["node"]["reason_code"], story["node"]["reason"]) == ("", "cable replaced")
    assert [s["reason_code"] for s in story["transitions"]][-2:] == [CODE, ""]
    assert (story["node"]["component"], story["node"]["next_action"]) == ("", "")


def test_the_verdict_of_a_run_has_it(folder: Path) -> None:
    (file,) = folder.rglob(f"verdicts/{BAD}.json")
    (reason, *_) = json.loads(file.read_text())["reasons"]
    assert (reason["code"], reason["component"], reason["next_action"]) == (CODE, *REPAIR)


def test_admit_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    repair = Repair(Component.GPU, NextAction.REBOOT_NODE)
    reason = Reason(ReasonKind.CHECK_FAILED, "found 7", item="gpu.count", repair=repair)
    show_admissions([Admission(NodeVerdict(BAD, admit=False, state=State.QUARANTINED, reasons=(reason,)), State.QUARANTINED)], "json")
    shown = json.loads(capsys.readouterr().out)["nodes"][0]["reasons"]
    assert shown == [{"kind": "check_failed", "code": "check.gpu.count", "text": "found 7", "device": "", **repair.to_json(), "hint": ""}]
