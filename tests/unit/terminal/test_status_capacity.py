"""Capacity in the words of those who buy it: in `status -o json` and in the API, of nodes and of GPUs. What is not known is null."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from clusterctl import main
from clusterctl.adapters.pools import loader
from clusterctl.adapters.store import Store, sqlite_reader
from clusterctl.model.findings import NodeStatus
from clusterctl.model.gate_result import Outcome
from clusterctl.model.node import Place
from clusterctl.model.part import Part
from clusterctl.model.state import State
from clusterctl.serve.api import BASE
from support.asgi import ask
from support.busy_pool import BusyPool
from support.roles import ROOT
from support.stores import a_finding, a_node, a_run, bring, burn_in, findings, fresh
from support.web_site import app_of

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.model.node import Node

SCHEMA = json.loads((ROOT / "docs/reference/schemas/status.schema.json").read_text())
GOOD, OUT, NEW, GONE = "r12-n01", "r12-n02", "r12-n03", "r12-n04"
PLACE = Place(rack="rack_12", leaf="leaf-1", spine="spine-1", nvlink_domain="nvl-1", slot=1)


def write_rack(folder: Path) -> Store:
    """One node in service, one that a person took out, one of which nothing is recorded, one that is retired."""
    store = fresh(folder)
    nodes: list[Node] = [replace(a_node(GOOD), place=PLACE), *(a_node(n, slot=i) for i, n in enumerate((OUT, NEW, GONE), 2))]
    store.register(nodes)
    store.start_run(a_run(), [n.name for n in nodes])
    burn_in(store, a_run(), GOOD)
    bring(store, GOOD, State.ADMITTED)
    store.transition(OUT, State.DRAINED, run_id="", operator="bob", reason="noise", owner="bob")
    bring(store, GONE, State.RETIRED)
    for name, gpus in ((GOOD, 8), (OUT, 4), (GONE, 8)):
        found = [Part("gpu", f"0000:0{i}:00.0", f"GPU {i}", "H100", f"{name}-{i}") for i in range(gpus)]
        store.save_parts(a_run().id, name, [*found, Part("system", "", "system", "XE9680", f"SYS-{name}")])
    return store


def status(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main.call(["--state-dir", str(folder), "status", "-o", "json", *words]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    Draft202012Validator(SCHEMA).validate(data)
    return data


@pytest.mark.parametrize("quickly", [True, False])
def test_nodes_and_gpus_are_counted_and_what_nobody_knows_is_null(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, quickly: bool
) -> None:
    write_rack(tmp_path).close()
    if not quickly:
        monkeypatch.setattr(sqlite_reader, "read_snapshot", lambda _url: None)
        monkeypatch.setattr(sqlite_reader, "read_hardware", lambda _url: None)
    data = status(tmp_path, capsys)
    assert data["counts"] == {"delivered": 3, "healthy": 1, "reserved": None, "in_use": None, "withheld": 1}
    gpus = {"delivered": 12, "healthy": 8, "reserved": None, "in_use": None, "withheld": 4, "uncounted_nodes": 1}
    assert data["gpu_counts"] == gpus


def test_a_node_has_identity_health_hardware_and_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rack(tmp_path).close()
    good, out, new, _ = status(tmp_path, capsys)["nodes"]
    assert (good["serial"], good["hardware_type"], good["gpu_model"], good["gpus"]) == (f"SYS-{GOOD}", "XE9680", "H100", 8)
    assert (good["leaf"], good["spine"], good["nvlink_domain"]) == ("leaf-1", "spine-1", "nvl-1")
    assert (good["healthy"], good["admitted_at"], good["in_use"]) == (True, good["since"], None)
    assert (out["healthy"], out["admitted_at"], out["gpus"]) == (False, None, 4)
    assert (new["gpus"], new["serial"], new["hardware_type"], new["leaf"]) == (None, "", "", "")


def test_the_api_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rack(tmp_path).close()
    said, app = status(tmp_path, capsys), app_of(tmp_path)
    fleet = ask(app, f"{BASE}/fleet").json()
    assert (fleet["counts"], fleet["gpu_counts"]) == (said["counts"], said["gpu_counts"])
    assert ask(app, f"{BASE}/nodes").json()["nodes"] == said["nodes"]
    assert ask(app, f"{BASE}/nodes/{GOOD}").json()["node"] == said["nodes"][0]


@pytest.mark.parametrize("end", [s for s in NodeStatus if s is not NodeStatus.OK])
def test_an_admitted_node_whose_last_validation_gave_no_findings_is_not_healthy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], end: NodeStatus
) -> None:
    with write_rack(tmp_path) as store:
        store.save_findings(a_run().id, findings(node=GOOD, status=end, detail="why"))
    said, fleet = status(tmp_path, capsys), ask(app_of(tmp_path), f"{BASE}/fleet").json()
    assert (said["counts"]["healthy"], said["gpu_counts"]["healthy"], said["nodes"][0]["healthy"]) == (0, 0, False)
    assert (fleet["counts"], fleet["gpu_counts"]) == (said["counts"], said["gpu_counts"])
    with Store.open(f"sqlite:///{tmp_path}/clusterctl.db") as store:
        store.save_findings(a_run().id, findings(a_finding(Outcome.FAIL), node=GOOD))
    assert status(tmp_path, capsys)["counts"]["healthy"] == 1


def test_a_part_that_was_replaced_is_not_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with write_rack(tmp_path) as store:
        present = [r.part for r in store.parts([OUT])]
        store.save_parts(a_run().id, OUT, [replace(p, serial="another") if p.name == "GPU 0" else p for p in present])
    out = status(tmp_path, capsys)["nodes"][1]
    assert out["gpus"] == 4
    assert out["serial"] == f"SYS-{OUT}"


def test_a_node_that_moved_has_its_new_place_once_a_run_read_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with write_rack(tmp_path) as store:
        moved = replace(a_node(GOOD), place=replace(PLACE, leaf="leaf-2", spine=""))
        store.register_new([moved])
        assert store.nodes([GOOD])[0].leaf == "leaf-1"
        store.register([moved])
    good = status(tmp_path, capsys)["nodes"][0]
    assert (good["leaf"], good["spine"], good["nvlink_domain"]) == ("leaf-2", "", "nvl-1")


def test_a_pool_that_is_asked_says_what_is_in_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rack(tmp_path).close()
    monkeypatch.setattr(
        loader, "load_pool", lambda _settings, store: BusyPool(store, {OUT: "job 17 of eve", GONE: "job 18", "other": "job 1"})
    )
    data = status(tmp_path, capsys, "--ask-pool")
    assert (data["counts"]["in_use"], data["gpu_counts"]["in_use"], data["counts"]["reserved"]) == (1, 4, None)
    assert [n["in_use"] for n in data["nodes"]] == [False, True, False, True]


def test_what_record_and_pool_contradict_each_other_in_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody returned a node that is out, and took one out that is admitted; of a node of which nothing is recorded, nothing is wrong."""
    with write_rack(tmp_path) as store:
        store.acquire([NEW], run_id="run-2", holder="alice")
        pool = BusyPool(store, {})
        for name in (OUT, NEW, GONE):
            pool.admit(name, "by hand")
    monkeypatch.setattr(loader, "load_pool", lambda _settings, store: BusyPool(store, {}))
    _, notes = table(tmp_path, capsys, "--ask-pool")
    assert notes == (
        "out in the record, and jobs may start there: r12-n02 (drained), r12-n04 (retired); `clusterctl drain NODE --to STATE` takes one out again\n"
        "admitted in the record, and the pool starts no job there: r12-n01; the scheduler shows who took it out\n"
    )
    printed, on_stderr = table(tmp_path, capsys, "--ask-pool", "-o", "json")
    assert on_stderr == notes
    data = json.loads("\n".join(printed))
    Draft202012Validator(SCHEMA).validate(data)
    assert data["pool_contradictions"] == {"out_and_jobs_may_start": [OUT, GONE], "admitted_and_no_job_starts": [GOOD]}
    with Store.open(f"sqlite:///{tmp_path}/clusterctl.db") as store:
        pool = BusyPool(store, {})
        pool.admit(GOOD, "x")
        pool.remove(OUT, "x")
        pool.remove(GONE, "x")
    assert table(tmp_path, capsys, "--ask-pool")[1] == ""
    nothing: dict[str, list[str]] = {"out_and_jobs_may_start": [], "admitted_and_no_job_starts": []}
    assert status(tmp_path, capsys, "--ask-pool")["pool_contradictions"] == nothing
    assert status(tmp_path, capsys)["pool_contradictions"] is None


def test_the_local_pool_does_not_know_what_is_in_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rack(tmp_path).close()
    data = status(tmp_path, capsys, "--ask-pool")
    assert data["counts"]["in_use"] is None
    assert data["pool_contradictions"] is None
    assert {n["in_use"] for n in data["nodes"]} == {None}


def test_a_pool_that_does_not_answer_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rack(tmp_path).close()
    monkeypatch.setattr(loader, "load_pool", lambda _settings, store: BusyPool(store, {}, silent=True))
    assert main.call(["--state-dir", str(tmp_path), "status", "--ask-pool", "-o", "json"]) != 0
    assert "slurmctld does not answer" in capsys.readouterr().err


def table(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[list[str], str]:
    assert main.call(["--state-dir", str(folder), "status", *words]) == 0
    printed = capsys.readouterr()
    return printed.out.splitlines(), printed.err


def test_the_table_shows_which_nodes_jobs_use(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    write_rack(tmp_path).close()
    monkeypatch.setattr(loader, "load_pool", lambda _settings, store: BusyPool(store, {OUT: "job 17 of e\x1b[2Jve", "other": "job 1"}))
    (rack, *nodes), _ = table(tmp_path, capsys, "--ask-pool")
    assert rack.endswith("; 1 in use")
    assert [("not in use" in n, "in use: job 17 of e\\x1b[2Jve" in n) for n in nodes] == [
        (True, False),
        (False, True),
        (True, False),
        (True, False),
    ]
    assert "in use" not in "".join(table(tmp_path, capsys)[0])


def test_the_table_of_many_nodes_counts_those_in_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with fresh(tmp_path) as store:
        store.register([a_node(f"n{i:03d}", slot=i) for i in range(201)])
        with store._engine.begin() as connection:
            connection.exec_driver_sql("UPDATE nodes SET state = 'admitted'")
    monkeypatch.setattr(loader, "load_pool", lambda _settings, store: BusyPool(store, {"n003": "job 1", "n007": "job 1"}))
    lines, _ = table(tmp_path, capsys, "--ask-pool")
    assert lines[0].endswith("; 2 in use")
    assert len(lines) == 2


@pytest.mark.parametrize("words", [(), ("-o", "json")])
def test_a_pool_that_does_not_report_jobs_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    write_rack(tmp_path).close()
    lines, notes = table(tmp_path, capsys, "--ask-pool", *words)
    assert notes == "the pool `local` does not report which nodes run jobs\n"
    assert not words or json.loads("\n".join(lines))["counts"]["in_use"] is None


def test_metrics_of_the_record_query_no_pool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rack(tmp_path).close()
    file = tmp_path / "fleet.prom"
    assert main.call(["--state-dir", str(tmp_path), "status", "--ask-pool", "--textfile", str(file)]) == 2
    assert "--ask-pool" in capsys.readouterr().err
    assert not file.exists()
