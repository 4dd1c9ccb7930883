"""The commands that show and change the states of nodes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from clusterctl import main
from clusterctl.adapters import processes
from clusterctl.adapters.pools.local import LocalPool
from clusterctl.model.state import State
from support.rack_after_run import NAMES, provisioned_rack
from support.roles import ROOT
from support.stores import a_node, a_run, bring, fresh

if TYPE_CHECKING:
    from clusterctl.adapters.store import Store
    from clusterctl.model.records import RunRow

SCHEMAS = ROOT / "docs/reference/schemas"


@pytest.fixture
def rack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Store, RunRow]:
    store, run = provisioned_rack(tmp_path / "state")
    monkeypatch.setenv("CLUSTERCTL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("CLUSTERCTL_OPERATOR", "bob")
    monkeypatch.chdir(tmp_path)
    return store, run


def run_json(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    assert main.call([*argv, "-o", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    if argv[0] in {"status", "history"}:
        schema = json.loads((SCHEMAS / f"{argv[0]}.schema.json").read_text())
        Draft202012Validator(schema).validate(data)
    return data


def test_status_shows_the_nodes_of_a_rack(rack: tuple[Store, RunRow], capsys: pytest.CaptureFixture[str]) -> None:
    data = run_json(capsys, "status", "rack-12")
    assert data["summary"] == {"admitted": 5, "quarantined": 1}
    assert [n["name"] for n in data["nodes"]] == list(NAMES)
    bad = data["nodes"][3]
    assert (bad["state"], bad["last_run"], bad["slot"]) == ("quarantined", rack[1].id, 4)
    assert "mlx5_3" in bad["reason"]
    assert len(bad["spec_digest"]) == 64
    assert data["unfinished_runs"] == []


def test_status_prints_a_table(rack: tuple[Store, RunRow], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["status"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "rack_12 (degraded): 5 admitted, 1 quarantined"
    assert len(lines) == 7
    assert "✗ quarantined" in lines[4]
    assert "98.1 of 200 Gb/s, expected >= 180 Gb/s" in lines[4]


def test_status_shows_the_holder_of_a_lease(rack: tuple[Store, RunRow], capsys: pytest.CaptureFixture[str]) -> None:
    rack[0].acquire(["r12-n02"], run_id="run-2", holder="carol")
    data = run_json(capsys, "status", "r12-n02")
    assert data["nodes"][0]["held_by"]["holder"] == "carol"
    assert main.call(["status", "r12-n02"]) == 0
    assert "held by carol (run run-2) since" in capsys.readouterr().out


def test_status_shows_a_killed_run_as_unfinished(rack: tuple[Store, RunRow], capsys: pytest.CaptureFixture[str]) -> None:
    store, _ = rack
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    dead = replace(a_run("20260314-110000-provision-dead"), holder=replace(processes.current(), pid=gone.pid))
    store.start_run(dead, ["r12-n04"])
    bring(store, "r12-n04", State.PROVISIONING, run_id=dead.id)
    data = run_json(capsys, "status", "rack-12")
    assert [(r["id"], r["nodes"]) for r in data["unfinished_runs"]] == [(dead.id, ["r12-n04"])]
    assert data["nodes"][3]["state"] == "provisioning"
    assert main.call(["status", "rack-12"]) == 0
    text = capsys.readouterr().out
    assert "is unfinished: its process is gone; left in the middle: r12-n04" in text
    assert "before it ended it admitted nothing" in text
    assert run_json(capsys, "status", "r12-n01")["unfinished_runs"] == []


@pytest.mark.parametrize(
    "argv", [["status", "rack-21"], ["history", "r12-n4"], ["drain", "rack-21", "--reason", "x"], ["release", "rack-21"]]
)
def test_an_unknown_target_is_an_error_with_near_matches(
    rack: tuple[Store, RunRow], capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    assert main.call(argv) == 3
    output = capsys.readouterr()
    assert output.out == ""
    assert "did you mean" in output.err
    assert "hint: `clusterctl status all`" in output.err


def test_status_without_recorded_nodes_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLUSTERCTL_STATE_DIR", str(tmp_path / "state"))
    for argv in (["status"], ["history", "r12-n01"], ["release", "r12-n01"], ["forget", "r12-n01", "--yes"]):
        assert main.call(argv) == 3
        output = capsys.readouterr().err
        assert "no node is recorded yet" in output
        assert "`clusterctl plan`, `validate` or `provision`" in output
        assert "clusterctl status" not in output


def test_history_shows_transitions_findings_and_gate_results(rack: tuple[Store, RunRow], capsys: pytest.CaptureFixture[str]) -> None:
    data = run_json(capsys, "history", "r12-n04")
    assert [t["to"] for t in data["transitions"]] == ["provisioning", "provisioned", "validated", "quarantined"]
    assert data["findings"]["counts"] == {"pass": 10}
    assert [g["outcome"] for g in data["gate_results"]].count("fail") == 1
    assert data["admissions"] == []
    assert run_json(capsys, "history", "r12-n01")["admissions"][0]["run_id"] == rack[1].id
    assert main.call(["history", "r12-n04"]) == 0
    text = capsys.readouterr().out
    assert "validated -> quarantined  by alice" in text
    assert "hint: check the cable of mlx5_3" in text
    assert "1 fail, 3 pass, simulated" in text


def test_history_refuses_several_nodes(rack: tuple[Store, RunRow], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["history", "rack-12"]) == 2
    assert "is 6 nodes" in capsys.readouterr().err


def test_drain_and_release_change_the_state(rack: tuple[Store, RunRow], capsys: pytest.CaptureFixture[str]) -> None:
    data = run_json(capsys, "drain", "r12-n01", "--reason", "fan noise")
    (node,) = data["nodes"]
    why = {"reason": "fan noise", "reason_code": "person"}
    assert node == {"name": "r12-n01", "from": "admitted", "state": "drained", "outcome": "moved", **why, "running": ""}
    data = run_json(capsys, "release", "r12-n01,r12-n04", "--reason", "repaired")
    assert [(n["name"], n["state"]) for n in data["nodes"]] == [("r12-n01", "registered"), ("r12-n04", "registered")]
    assert rack[0].history("r12-n04")[-1].operator == "bob"


def test_a_node_is_drained_to_rma_and_released(rack: tuple[Store, RunRow], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["drain", "r12-n01", "--to", "rma", "--reason", "GPU 3"]) == 2
    assert "hint: `clusterctl drain r12-n01" in capsys.readouterr().err
    data = run_json(capsys, "drain", "r12-n04", "--to", "rma", "--reason", "RMA 4711")
    (node,) = data["nodes"]
    why = {"reason": "RMA 4711", "reason_code": "person"}
    assert node == {"name": "r12-n04", "from": "quarantined", "state": "rma", "outcome": "moved", **why, "running": ""}
    assert [n["state"] for n in run_json(capsys, "release", "r12-n04")["nodes"]] == ["registered"]


def test_drain_needs_a_reason(rack: tuple[Store, RunRow], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["drain", "r12-n01"]) == 2
    assert "--reason" in capsys.readouterr().err


def test_draining_the_whole_pool_needs_force(rack: tuple[Store, RunRow], capsys: pytest.CaptureFixture[str]) -> None:
    for name in NAMES[:3]:
        LocalPool(rack[0]).admit(name, "x")
    assert main.call(["drain", "rack-12", "--reason", "power work"]) == 3
    assert "--force" in capsys.readouterr().err
    assert main.call(["drain", "rack-12", "--reason", "power work", "--force"]) == 0
    assert LocalPool(rack[0]).members() == frozenset()


def test_releasing_an_admitted_node_is_refused(rack: tuple[Store, RunRow], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["release", "r12-n01"]) == 2
    output = capsys.readouterr().err
    assert "error: r12-n01 is admitted: it cannot be released" in output
    assert "hint: `clusterctl drain r12-n01" in output


def test_forget_asks_and_deletes(rack: tuple[Store, RunRow], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLUSTERCTL_YES", raising=False)
    assert main.call(["forget", "r12-n04"]) == 2
    assert "add --yes" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("rich_click.confirm", lambda text, **_: "Forget r12-n04, with findings" not in text)
    assert main.call(["forget", "r12-n04"]) == 8
    assert main.call(["status", "r12-n04"]) == 0
    capsys.readouterr()
    data = run_json(capsys, "forget", "r12-n04", "--yes")
    assert (data["kind"], [(n["name"], n["state"]) for n in data["nodes"]]) == ("forget", [("r12-n04", "quarantined")])
    assert main.call(["forget", "r12-n04", "--yes"]) == 3
    assert main.call(["history", "r12-n04"]) == 3
    assert main.call(["forget", "rack-12", "--yes"]) == 2
    assert "r12-n01 is admitted" in capsys.readouterr().err


def test_report_writes_a_page(rack: tuple[Store, RunRow], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main.call(["report"]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path == Path(rack[1].directory) / "report.html"
    assert main.call(["report", rack[1].id[:15], "--out", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert main.call(["report", "2020"]) == 3
    assert main.call(["report", "--out", str(tmp_path / "absent" / "page.html")]) == 3
    assert "absent is not a directory" in capsys.readouterr().err


def test_report_writes_test_runs(rack: tuple[Store, RunRow], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main.call(["report", "-o", "ocptv"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("testRunStart") == printed.count("testRunEnd") == len(NAMES)
    assert main.call(["report", "-o", "ocptv", "--out", str(tmp_path / "all.jsonl")]) == 0
    assert (tmp_path / "all.jsonl").read_text() == printed
    folder = tmp_path / "by_node"
    folder.mkdir()
    assert main.call(["report", "-o", "ocptv", "--out", str(folder)]) == 0
    assert "".join((folder / f"{n}.jsonl").read_text() for n in NAMES) == printed
    capsys.readouterr()
    assert main.call(["report", "--out", str(folder)]) == 2
    assert "is a directory" in capsys.readouterr().err


def test_an_unusable_state_directory_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state").write_text("")
    monkeypatch.chdir(tmp_path)
    assert main.call(["--state-dir", str(tmp_path / "state"), "status"]) == 1
    output = capsys.readouterr().err
    assert output.startswith("error: cannot use the state in")
    assert "Traceback" not in output


@pytest.mark.parametrize("settings", [None, "operator: somebody\n"], ids=["without clusterctl.yml", "with clusterctl.yml"])
def test_status_of_a_fleet_imports_nothing_that_it_does_not_use(tmp_path: Path, settings: str | None) -> None:
    with fresh(tmp_path / "state") as store:
        store.register([a_node(f"r{i // 36:03}-n{i % 36:02}", rack=f"rack_{i // 36:03}", slot=i % 36) for i in range(12_500)])
    if settings:
        (tmp_path / "clusterctl.yml").write_text(settings)
    unused = {"ansible", "ansible_runner", "asyncssh", "pydantic", "alembic", "jinja2", "sqlalchemy", "rich", "clusterctl.core.gates"}
    unused |= {"importlib.metadata", "configparser", "clusterctl.core.near_match", "zoneinfo", "clusterctl.adapters.site_content"}
    unused |= set() if settings else {"yaml"}
    code = (
        "import sys; from clusterctl import main; code = main.call(['status', 'all', '-o', 'json']); "
        f"heavy = {unused} & set(sys.modules); "
        "sys.stderr.write(f'{code} {sorted(heavy)}')"
    )
    environment = os.environ | {"PYTHONPATH": ":".join(sys.path), "CLUSTERCTL_STATE_DIR": str(tmp_path / "state")}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, cwd=tmp_path)
    assert found.stderr == "0 []"
    assert len(json.loads(found.stdout)["nodes"]) == 12_500


def test_control_characters_from_a_node_are_escaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    provisioned_rack(tmp_path / "state", hostile="\x1b[2J\nevil")
    monkeypatch.setenv("CLUSTERCTL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    for argv in (["status"], ["history", "r12-n04"], ["history", "r12-n02"]):
        assert main.call(argv) == 0
        output = capsys.readouterr().out
        assert "\x1b" not in output
        assert "\\x1b[2J\\nevil" in output


def test_admit_lists_the_missing_evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    layer = tmp_path / "site"
    layer.mkdir()
    (layer / "hosts.yml").write_text(
        "profile_hgx_h100_ib:\n  children:\n    rack_12:\n      hosts:\n        r12-n01: {ansible_host: 192.0.2.1}\n"
    )
    monkeypatch.chdir(tmp_path)
    layers = ["-i", str(ROOT / "inventory/common"), "-i", str(layer)]
    assert main.call(["--state-dir", str(tmp_path / "state"), "admit", "rack-12", "--on-record", "--reason", "x", *layers]) == 6
    output = capsys.readouterr().out
    assert output.startswith("r12-n01: not admitted, stays registered:")
    for words in ("roles were not applied", "was not validated", "dcgm_diag has no result", "hint: run `clusterctl burnin r12-n01`"):
        assert words in output


def test_admit_verify_lists_invalid_evidence(rack: tuple[Store, RunRow], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["admit", "r12-n01,r12-n04", "--verify"]) == 6
    output = capsys.readouterr().out
    assert "r12-n04: not proven:\n  it has no admission record" in output
    assert "gates/rdma_pair/r12-n01.json has changed since it was recorded" in output
