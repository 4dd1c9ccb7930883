from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.config import Config
from clusterctl.adapters.raw_records import read_all, read_records
from clusterctl.adapters.run_directory import RunDir
from clusterctl.model.errors import ConfigError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Figure, Outcome, RawRecord, gates_exit_code
from clusterctl.model.own_history import HistoryKey
from clusterctl.model.playbook_result import HostOutcome, HostStatus, PlaybookResult, PlaybookStatus, TaskFailure
from clusterctl.workflows.burnin import measure
from clusterctl.workflows.burnin import measure_and_judge as burnin
from clusterctl.workflows.burnin.measure_and_judge import run_burnin, subjects_of
from clusterctl.workflows.judge_again import judge_stored
from support.gates import GROUP_FLOOR, NODE_FLOOR, RDMA_FLOOR, TODAY, gates, nccl, node, nodes, perftest, plan, snapshot
from support.rank_logs import GPUS, rank_document

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterctl.adapters.ansible.runner import PlaybookRequest

DIAG = json.dumps(
    {
        "DCGM Diagnostic": {
            "test_categories": [
                {
                    "category": "x",
                    "tests": [
                        {"name": t, "results": [{"entity_group": "GPU", "entity_id": i, "status": "Pass"} for i in range(8)]}
                        for t in ("software", "memory", "pcie")
                    ],
                }
            ]
        }
    }
)


STEPS = ("before", "after.nodes", "after.nodes.again", "after.group")


class Fleet:
    """Stands in for the playbook: answers every planned step, with what is broken."""

    def __init__(self) -> None:
        self.slow: dict[tuple[str, str], float] = {}
        self.lost: dict[str, HostStatus] = {}
        self.weak: dict[str, float] = {}
        self.repeated: dict[str, float] = {}
        self.snapshots: dict[tuple[str, str], str] = {}
        self.spoil: Callable[[str], str] = lambda lines: lines
        self.status = PlaybookStatus.COMPLETED
        self.plays: list[PlaybookRequest] = []
        self.group: list[str] = []

    def play(self, request: PlaybookRequest, artifacts: Path, on_event: object = None) -> PlaybookResult:
        self.plays.append(request)
        assert request.playbook == "burnin.yml"
        assert request.extra_vars_file is not None
        variables = json.loads(request.extra_vars_file.read_text())
        for name in request.nodes:
            planned = json.loads((Path(variables["burnin_plan_dir"]) / f"{name}.json").read_text())
            assert planned["run"] == variables["burnin_run"]
            lines = [json.dumps(self.answer(planned["node"], s)) for s in planned["steps"]]
            if name not in self.lost and self.status is PlaybookStatus.COMPLETED:
                (Path(variables["burnin_records_dir"]) / f"{name}.jsonl").write_text(self.spoil("\n".join(lines) + "\n"))
        hosts = {n: HostOutcome(n, self.lost.get(n, HostStatus.OK)) for n in request.nodes}
        return PlaybookResult(
            self.status, hosts, "ansible-playbook", 1.0, "stopped after 9 s" if self.status is not PlaybookStatus.COMPLETED else ""
        )

    def answer(self, name: str, step: dict[str, Any]) -> dict[str, Any]:
        dead = self.lost.keys() & {step["peer"], *step["peers"]}
        if step["gate"] == "dcgm_diag":
            text = DIAG
        elif step["gate"] == "rdma_pair":
            ends = {(name, step["device"]), (step["peer"], step["peer_device"])}
            text = perftest(min([392.0, *(v for end, v in self.slow.items() if end in ends)]), device=step["device"])
        elif step["gate"] == "load_errors":
            text = self.snapshots.get((name, step["name"]), snapshot(STEPS.index(step["name"])))
        elif step["gate"] == "nccl_node":
            own = self.repeated if step["name"] == "again" else self.weak
            text = nccl(own.get(name, 477.0))
        elif step["name"].startswith("ranks"):
            text = rank_document(name, GPUS * self.group.index(name), GPUS, GPUS * len(self.group))
        else:
            self.group = step["peers"] or self.group
            text = nccl(60.0, via="NET/IB/0/GDRDMA", ranks=8 * len(step["peers"]))
        record = RawRecord(
            step["gate"], step["name"], step["tool"], name, tuple(step["argv"]), "2026", 1.0, 0, text, "", step["device"], step["peer"]
        )
        record = replace(record, peer_device=step["peer_device"], peers=tuple(step["peers"]), simulated=True)
        silent = replace(
            record, exit_status=None, stdout="", error=f"{min(dead, default='')} never answered", error_code=GateReason.PEER_SILENT
        )
        return asdict(silent if dead else record)


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Fleet:
    made = Fleet()
    monkeypatch.setattr(measure, "run_playbook", made.play)
    monkeypatch.setattr(burnin, "_today", lambda: TODAY)
    return made


@pytest.fixture
def rundir(tmp_path: Path) -> RunDir:
    return RunDir.create(tmp_path, "burnin")


def config(tmp_path: Path) -> Config:
    return Config(tmp_path, (), tmp_path)


def bad(results: Any) -> set[tuple[str, str, str]]:
    return {(r.gate, r.node, r.outcome.value) for r in results if r.outcome is not Outcome.PASS}


def test_a_healthy_rack_passes_and_every_command_is_on_record(fleet: Fleet, rundir: RunDir, tmp_path: Path) -> None:
    results = run_burnin(subjects_of(nodes(4, rails=1)), rundir, config(tmp_path), "standard")
    assert bad(results) == set()
    assert all(r.simulated for r in results)
    records = read_all(rundir.path)
    gates_run = ("dcgm_diag", "nccl_node", "rdma_pair", "load_errors", "nccl_group")
    assert {(r.gate, r.node) for r in records} == {(g, f"n{i}") for g in gates_run for i in range(1, 5)}
    assert (rundir.path / "gates" / "rdma_pair" / "n3.json").is_file()
    assert len(fleet.plays) == 2


def test_each_part_has_a_token_of_its_own_that_no_record_holds(fleet: Fleet, rundir: RunDir, tmp_path: Path) -> None:
    run_burnin(subjects_of(nodes(2, rails=1)), rundir, config(tmp_path), "standard")
    tokens = {json.loads(f.read_text())["token"] for f in rundir.path.glob("burnin/*/plans/*.json")}
    assert sorted(len(t) for t in tokens) == [64, 64]
    others = [f for f in rundir.path.rglob("*") if f.is_file() and f.parent.name != "plans"]
    assert not [f for f in others for t in tokens if t in f.read_text()]


def test_a_bad_node_is_named_and_the_group_runs_without_it(fleet: Fleet, rundir: RunDir, tmp_path: Path) -> None:
    fleet.slow[("n3", "mlx5_0")] = 196.0
    results = run_burnin(subjects_of(nodes(4, rails=1)), rundir, config(tmp_path), "standard")
    assert bad(results) == {("rdma_pair", "n3", "fail"), ("nccl_group", "n3", "could_not_run")}
    group = next(r for r in read_all(rundir.path) if r.gate == "nccl_group")
    assert group.peers == ("n1", "n2", "n4")


def test_an_unreachable_node_is_missing_evidence_and_the_others_go_on(fleet: Fleet, rundir: RunDir, tmp_path: Path) -> None:
    fleet.lost["n2"] = HostStatus.UNREACHABLE
    results = run_burnin(subjects_of(nodes(4, rails=1)), rundir, config(tmp_path), "standard")
    assert bad(results) == {(g, "n2", "could_not_run") for g in ("dcgm_diag", "nccl_node", "rdma_pair", "load_errors", "nccl_group")}
    assert {r.reason for r in results if r.gate == "dcgm_diag" and r.node == "n2"} == {GateReason.NODE_UNREACHABLE}
    assert gates_exit_code(results) is ExitCode.UNREACHABLE


@pytest.mark.parametrize("status", [PlaybookStatus.TIMED_OUT, PlaybookStatus.COULD_NOT_START, PlaybookStatus.CANCELLED])
def test_a_play_that_did_not_complete_proves_nothing(fleet: Fleet, rundir: RunDir, tmp_path: Path, status: PlaybookStatus) -> None:
    fleet.status = status
    results = run_burnin(subjects_of(nodes(2, rails=1)), rundir, config(tmp_path), "standard")
    assert {r.outcome for r in results} == {Outcome.COULD_NOT_RUN}
    assert any("stopped after 9 s" in r.detail for r in results)


@pytest.mark.parametrize(
    "spoil", [lambda _: "", lambda t: t[: len(t) // 2], lambda t: "{}\n[1]\nnull\n" + t.replace('"exit_status": 0', '"exit_status": "0"')]
)
def test_spoilt_records_are_missing_evidence(fleet: Fleet, rundir: RunDir, tmp_path: Path, spoil: Callable[[str], str]) -> None:
    fleet.spoil = spoil
    results = run_burnin(subjects_of(nodes(2, rails=1)), rundir, config(tmp_path), "standard", gates=["rdma_pair"])
    assert {r.outcome for r in results} == {Outcome.COULD_NOT_RUN}


def test_a_record_of_another_command_does_not_count(fleet: Fleet, rundir: RunDir, tmp_path: Path) -> None:
    fleet.spoil = lambda t: t.replace("all_reduce_perf", "some_other_perf")
    results = run_burnin(subjects_of(nodes(2, rails=1)), rundir, config(tmp_path), "standard", gates=["nccl_node"])
    assert {(r.outcome, r.rule) for r in results if r.gate == "nccl_node"} == {(Outcome.COULD_NOT_RUN, "complete")}


def test_one_node_needs_a_partner_and_says_how(fleet: Fleet, rundir: RunDir, tmp_path: Path) -> None:
    alone = run_burnin(subjects_of(nodes(1, rails=1)), rundir, config(tmp_path), "standard", gates=["rdma_pair", "nccl_group"])
    assert bad(alone) == {(g, "n1", "could_not_run") for g in ("rdma_pair", "nccl_group")}
    assert [r for r in alone if r.gate != "load_errors" and "--partners" not in r.hint] == []


def test_an_error_under_load_fails_a_node_that_passed_every_gate(fleet: Fleet, rundir: RunDir, tmp_path: Path) -> None:
    fleet.snapshots["n2", "after.nodes"] = snapshot(1, counters={"mlx5_0/1": {"symbol_error": 7}})
    fleet.snapshots["n3", "after.group"] = snapshot(0.5, boot_id="boot-2")
    results = run_burnin(subjects_of(nodes(4, rails=1)), rundir, config(tmp_path), "standard", gates=["nccl_node", "nccl_group"])
    assert bad(results) == {("load_errors", "n2", "fail"), ("nccl_group", "n2", "could_not_run"), ("load_errors", "n3", "fail")}
    assert [r.reason for r in results if r.gate == "nccl_group" and r.node == "n2"] == [GateReason.LEFT_OUT]
    steps = {r.node: [s.step for s in read_all(rundir.path) if s.node == r.node and s.gate == "load_errors"] for r in results}
    assert steps == {"n2": ["before", "after.nodes"], **{n: ["before", "after.nodes", "after.group"] for n in ("n1", "n3", "n4")}}
    again = judge_stored(rundir.path, None)
    assert bad(again.results) == bad(results)


def test_partners_are_measured_with_and_not_judged(fleet: Fleet, tmp_path: Path) -> None:
    one, two, three = nodes(3, rails=1)
    fleet.slow[("n1", "mlx5_0")] = 196.0
    results = run_burnin(subjects_of([one], [two, three]), RunDir.create(tmp_path, "a"), config(tmp_path), "standard", gates=["rdma_pair"])
    assert {r.node for r in results} == {"n1"}
    assert bad(results) == {("rdma_pair", "n1", "fail")}
    fleet.slow.clear()
    results = run_burnin(subjects_of([one], [two]), RunDir.create(tmp_path, "b"), config(tmp_path), "standard")
    assert {r.node for r in results} == {"n1"}
    assert bad(results) == set()


def test_a_partner_that_is_not_reached_is_an_unreachable_node(fleet: Fleet, rundir: RunDir, tmp_path: Path) -> None:
    one, two = nodes(2, rails=1)
    fleet.lost["n2"] = HostStatus.UNREACHABLE
    results = run_burnin(subjects_of([one], [two]), rundir, config(tmp_path), "standard", gates=["rdma_pair"])
    assert [(r.node, r.reason) for r in results if r.gate == "rdma_pair"] == [("n1", GateReason.NODE_UNREACHABLE)]
    assert gates_exit_code(results) is ExitCode.UNREACHABLE


def test_an_unknown_gate_or_level_is_an_error_before_anything_runs(fleet: Fleet, rundir: RunDir, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown gate 'rdma'"):
        run_burnin(subjects_of(nodes(2)), rundir, config(tmp_path), "standard", gates=["rdma"])
    with pytest.raises(ConfigError, match="unknown burn-in level 'slow'"):
        run_burnin(subjects_of(nodes(2)), rundir, config(tmp_path), "slow")
    assert fleet.plays == []


def test_a_stored_run_is_judged_again_with_the_same_verdict_and_under_new_rules(fleet: Fleet, rundir: RunDir, tmp_path: Path) -> None:
    fleet.weak["n2"] = 470.0
    some = nodes(3, rails=1)
    first = run_burnin(subjects_of(some), rundir, config(tmp_path), "standard")
    for load in (None, lambda _: some):
        assert {judge_stored(rundir.path, load).results for _ in range(10)} == {first}
    stricter = [
        replace(n, spec=replace(n.spec, gates=gates(gates_baselines=[RDMA_FLOOR, {**NODE_FLOOR, "value": 475.0}, GROUP_FLOOR])))
        for n in some
    ]
    again = judge_stored(rundir.path, lambda _: stricter)
    assert ("nccl_node", "n2", "fail") in bad(again.results)
    assert {r.gate for r in judge_stored(rundir.path, None, gate="dcgm_diag").results} == {"dcgm_diag"}


def test_baselines_of_a_file_take_the_place_of_the_profiles(fleet: Fleet, rundir: RunDir, tmp_path: Path) -> None:
    run_burnin(subjects_of(nodes(2, rails=1)), rundir, config(tmp_path), "standard", gates=["nccl_node"])
    file = tmp_path / "new.yml"
    file.write_text(json.dumps({"gates_baselines": [RDMA_FLOOR, {**NODE_FLOOR, "value": 479.0}, GROUP_FLOOR]}))
    assert {r.outcome for r in judge_stored(rundir.path, None, baselines=file).results if r.rule == "floor"} == {Outcome.FAIL}
    file.write_text("[")
    with pytest.raises(ConfigError, match=r"new\.yml"):
        judge_stored(rundir.path, None, baselines=file)


def test_a_run_that_is_no_burnin_or_is_damaged_is_an_error(fleet: Fleet, rundir: RunDir, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="contains no burn-in"):
        judge_stored(rundir.path, None)
    run_burnin(subjects_of(nodes(2, rails=1)), rundir, config(tmp_path), "standard", gates=["nccl_node"])
    file = rundir.path / "gates" / "nccl_node" / "n1.json"
    whole = file.read_text()
    file.write_text(whole[:100])
    with pytest.raises(ConfigError, match="not a file of raw records"):
        judge_stored(rundir.path, None)
    file.unlink()
    missing = judge_stored(rundir.path, None)
    assert ("nccl_node", "n1", "could_not_run") in bad(missing.results)
    header = rundir.path / "gates" / "burnin.json"
    header.write_text("{}")
    with pytest.raises(ConfigError, match=r"json: damaged"):
        judge_stored(rundir.path, None)


def test_a_stored_gate_that_is_not_registered_here_is_named(fleet: Fleet, rundir: RunDir, tmp_path: Path) -> None:
    run_burnin(subjects_of(nodes(2, rails=1)), rundir, config(tmp_path), "standard", gates=["nccl_node"])
    header = rundir.path / "gates" / "burnin.json"
    header.write_text(header.read_text().replace('"nccl_node"', '"site_fans"'))
    with pytest.raises(ConfigError, match="unknown gate 'site_fans'") as refused:
        judge_stored(rundir.path, None)
    assert "package" in refused.value.hint


def test_obstacles_that_were_stored_as_one_text_are_read(fleet: Fleet, rundir: RunDir, tmp_path: Path) -> None:
    some = (*nodes(2, rails=1), node("n3", rails=0))
    run_burnin(subjects_of(some), rundir, config(tmp_path), "standard", gates=["rdma_pair"])
    header = rundir.path / "gates" / "burnin.json"
    data = json.loads(header.read_text())
    assert [(e["node"], e["reason"]) for e in data["impossible"]] == [("n3", "no_device")]
    data["impossible"] = [{"gate": "rdma_pair", "node": "n3", "why": "needs a second node; add a known-good one"}]
    header.write_text(json.dumps(data))
    found = next(r for r in judge_stored(rundir.path, None).results if r.node == "n3")
    assert (found.reason, found.detail, found.hint) == (GateReason.NO_PARTNER, "needs a second node", "add a known-good one")


def test_a_node_that_left_the_inventory_is_told_with_the_way_out(fleet: Fleet, rundir: RunDir, tmp_path: Path) -> None:
    some = nodes(2, rails=1)
    run_burnin(subjects_of(some), rundir, config(tmp_path), "standard", gates=["nccl_node"])
    with pytest.raises(ConfigError, match="n2 is no longer in the inventory") as told:
        judge_stored(rundir.path, lambda _: some[:1])
    assert "--recorded" in told.value.hint


def test_why_a_node_brought_nothing_is_told() -> None:
    failed = HostOutcome("n1", HostStatus.FAILED, failures=(TaskFailure("Copy", "burnin", "No space left on device"),))
    outcome = PlaybookResult(PlaybookStatus.COMPLETED, {"n1": failed}, "", 1.0)
    records = measure.accounted(plan([node("n1")], ["dcgm_diag"]), {}, outcome)
    assert [(r.error, r.error_code) for r in records] == [("no record came back: No space left on device", GateReason.NO_RECORD)]


@pytest.mark.parametrize(
    "claimed", [{"peers": ("n1", "n3")}, {"peers": ()}, {"peer": "n3"}, {"peer_device": "mlx5_9"}, {"device": "mlx5_9"}, {"tool": "stream"}]
)
def test_a_record_is_of_what_was_planned(claimed: dict[str, Any]) -> None:
    """A run of a group passes or fails all its nodes: a record that names others would decide on a node that had no part in it."""
    planned = plan(nodes(3, rails=1), ["nccl_group"])
    name, step = next((n, s) for n, steps in planned.steps.items() for s in steps if s.peers)
    honest = measure._missing(name, step, PlaybookResult(PlaybookStatus.COMPLETED, {}, "", 1.0))
    outcome = PlaybookResult(PlaybookStatus.COMPLETED, {name: HostOutcome(name, HostStatus.OK)}, "", 1.0)

    def accounted(record: RawRecord) -> RawRecord:
        return next(r for r in measure.accounted(planned, {name: [record]}, outcome) if (r.node, r.step) == (name, step.name))

    came = replace(honest, error="", error_code=None, exit_status=0)
    assert accounted(came) == came
    refused = accounted(replace(came, **claimed))
    assert (refused.peers, refused.error_code) == (step.peers, GateReason.NO_RECORD)


@pytest.mark.parametrize("line", ["", "null", "[]", '{"gate": 1}', '{"gate": "x", "unknown": 1}', '{"argv": "x"}', "{" * 50])
def test_lines_that_are_no_records_are_left_out(line: str) -> None:
    assert read_records(line) == ()


def usual_busbw(name: str, average: float) -> dict[HistoryKey, float]:
    return {HistoryKey(name, "", Figure("nccl_node", "busbw", "GB/s"), "NCCL 2.28.9", simulated=True): average}


@pytest.mark.parametrize(("again", "outcome"), [(479.0, Outcome.PASS), (465.0, Outcome.WARN)])
def test_what_is_far_below_its_own_history_is_repeated_once_in_the_same_burn_in(
    fleet: Fleet, rundir: RunDir, tmp_path: Path, again: float, outcome: Outcome
) -> None:
    fleet.weak, fleet.repeated = {"n2": 464.0}, {"n2": again}
    usual = {**usual_busbw("n1", 480.0), **usual_busbw("n2", 480.0)}
    results = run_burnin(subjects_of(nodes(3, rails=1)), rundir, config(tmp_path), "standard", gates=["nccl_node"], usual=usual)
    assert [play.nodes for play in fleet.plays] == [("n1", "n2", "n3"), ("n2",)]
    found = next(r for r in results if r.node == "n2" and r.metric == "busbw")
    assert (found.outcome, found.value) == (outcome, again)
    assert {r.outcome for r in results if r is not found} == {Outcome.PASS}
    assert gates_exit_code(results) is ExitCode.OK
    steps = [r.step for r in read_all(rundir.path) if (r.gate, r.node) == ("nccl_node", "n2")]
    assert steps == ["solo", "again"]
    assert set(judge_stored(rundir.path, None).results) == set(results), "an old run is judged by what was known then"


def test_damaged_averages_of_a_run_are_an_error(fleet: Fleet, rundir: RunDir, tmp_path: Path) -> None:
    run_burnin(subjects_of(nodes(2, rails=1)), rundir, config(tmp_path), "standard", gates=["nccl_node"])
    file = rundir.path / "gates" / "usual_values.json"
    assert json.loads(file.read_text()) == {"schema_version": 1, "usual": []}
    for text, why in (
        ("{", "damaged"),
        ('{"schema_version": 1, "usual": [{}]}', "damaged"),
        ('{"schema_version": 2, "usual": []}', "schema_version 2"),
    ):
        file.write_text(text)
        with pytest.raises(ConfigError, match=why):
            judge_stored(rundir.path, None)
    file.unlink()
    assert judge_stored(rundir.path, None).results
