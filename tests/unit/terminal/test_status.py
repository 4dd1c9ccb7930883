"""What `status` shows of nodes that did not answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from clusterctl import main
from clusterctl.adapters.store import sqlite_reader
from clusterctl.model.findings import NodeStatus
from clusterctl.model.state import State
from support.provisioning import World
from support.roles import ROOT
from support.stores import a_node, a_run, bring, findings, fresh

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = json.loads((ROOT / "docs/reference/schemas/status.schema.json").read_text())
BOTH_WAYS = pytest.mark.parametrize("quickly", [True, False])


def status(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main.call(["--state-dir", str(folder), "status", *words]) == 0
    return capsys.readouterr().out


@BOTH_WAYS
def test_a_node_that_provision_could_not_reach_is_shown_as_unreachable_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, quickly: bool
) -> None:
    world = World(tmp_path, names=("r12-n01", "r12-n02"), digest="d" * 64, lost={"r12-n02": NodeStatus.UNREACHABLE})
    run_id = world.run().run_id
    if not quickly:
        monkeypatch.setattr(sqlite_reader, "read_snapshot", lambda _url: None)
    lines = status(tmp_path, capsys).splitlines()
    assert lines[0].endswith("(1 gave no answer)")
    assert "unreachable at" in lines[2]
    assert f"chosen by the test (run {run_id})" in lines[2]
    assert "unreachable" not in lines[1]
    data = json.loads(status(tmp_path, capsys, "-o", "json"))
    Draft202012Validator(SCHEMA).validate(data)
    shown = {n["name"]: n["unanswered"] for n in data["nodes"]}
    assert shown["r12-n01"] is None
    assert (shown["r12-n02"]["status"], shown["r12-n02"]["detail"]) == ("unreachable", "chosen by the test")
    assert not Draft202012Validator(SCHEMA).is_valid({**data, "nodes": [{**data["nodes"][1], "unanswered": {"status": "ok"}}]})


def test_a_node_that_answered_since_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = fresh(tmp_path)
    store.register([a_node()])
    store.start_run(a_run(), ["r12-n01"])
    store.save_findings(a_run().id, findings(status=NodeStatus.TIMED_OUT))
    assert "timed out at" in status(tmp_path, capsys)
    store.save_findings(a_run().id, findings())
    assert "timed out" not in status(tmp_path, capsys)


def test_a_node_at_the_vendors_is_not_expected_to_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = fresh(tmp_path)
    store.register([a_node()])
    store.start_run(a_run(), ["r12-n01"])
    store.save_findings(a_run().id, findings(status=NodeStatus.UNREACHABLE))
    bring(store, "r12-n01", State.RMA)
    assert "answer" not in status(tmp_path, capsys)
    assert "unreachable" not in status(tmp_path, capsys)


def test_among_many_nodes_an_admitted_one_that_did_not_answer_keeps_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = fresh(tmp_path)
    names = [f"n{i:03d}" for i in range(201)]
    store.register([a_node(n, slot=i) for i, n in enumerate(names)])
    with store._engine.begin() as connection:
        connection.exec_driver_sql("UPDATE nodes SET state = 'admitted'")
    store.start_run(a_run(), names)
    store.save_findings(a_run().id, findings(node="n007", status=NodeStatus.UNREACHABLE, detail="no\x1b[2J route"))
    lines = status(tmp_path, capsys).splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == ["n007"]
    assert "no\\x1b[2J route" in lines[1]
