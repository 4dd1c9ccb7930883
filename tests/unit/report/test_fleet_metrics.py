"""`status --textfile`: the record as metrics."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from clusterctl import main
from clusterctl.model.findings import NodeStatus
from clusterctl.model.gate_result import Outcome
from clusterctl.model.repair import NextAction
from clusterctl.model.state import State
from support.rack_after_run import NAMES, SLOW, provisioned_rack
from support.stores import a_node, a_result, a_run, findings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clusterctl.yml").write_text("state_dir: state\nlemon_limits: {exclusions: 1}\n")
    store, run = provisioned_rack(tmp_path / "state")
    with store:
        later = a_run("20260316-090000-validate-cccc", verb="validate")
        store.start_run(later, NAMES[:1])
        store.save_findings(later.id, findings(node=NAMES[0], status=NodeStatus.UNREACHABLE))
        store.register([a_node("r13-n01", rack="rack_13")])
        store.trip_breaker(operator="alice", reason="three at once")
        assert run.id
    return tmp_path


def exported(site: Path, target: str = "all") -> dict[str, dict[tuple[str, ...], float]]:
    """Metric -> values of its labels by name, without the target -> value."""
    file = site / "fleet.prom"
    assert main.call(["status", target, "--textfile", str(file)]) == 0
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(file.read_text()):
        for sample in family.samples:
            assert sample.labels["target"] == target
            labels = tuple(v for k, v in sample.labels.items() if k != "target")
            found.setdefault(sample.name.removeprefix("clusterctl_"), {})[labels] = sample.value
    return found


def test_states_gates_lemons_and_breaker_are_exported(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = exported(site)
    assert capsys.readouterr().out == ""
    assert {k: v for k, v in found["fleet_nodes"].items() if v} == {("admitted",): 5, ("quarantined",): 1, ("registered",): 1}
    assert len(found["fleet_nodes"]) == len(State), "a zero, not an absence"
    assert abs(found["node_state_since_timestamp_seconds"]["r13-n01", "rack_13", "registered"] - datetime.now(UTC).timestamp()) < 60
    assert found["node_unanswered"] == {(NAMES[0], "unreachable"): 1}
    assert found["fleet_nodes_unanswered"][()] == 1
    assert set(found["fleet_nodes_to_do"]) == {(action.value,) for action in NextAction}
    assert found["breaker_open"][()] == 1
    assert (found["gate_nodes"]["rdma_pair", "pass"], found["gate_nodes"]["rdma_pair", "fail"]) == (5, 1)
    assert len(found["gate_nodes"]) == len(Outcome)
    assert found["node_gate_bad"] == {("rdma_pair", SLOW[0], "fail"): 1}
    assert found["lemons"]["full",] + found["lemons"]["rma",] == len(found["lemon_score"]) == 1


def test_a_later_measurement_of_the_gate_replaces_the_earlier(site: Path) -> None:
    from clusterctl.adapters.store import Store  # noqa: PLC0415

    with Store.open(f"sqlite:///{site}/state/clusterctl.db") as store:
        later = a_run("20260317-090000-burnin-dddd", verb="burnin")
        store.start_run(later, [SLOW[0]])
        store.save_gate_results(later.id, [a_result(Outcome.COULD_NOT_RUN, node=SLOW[0]), a_result(node=SLOW[0], device="mlx5_0")])
    assert exported(site)["node_gate_bad"] == {("rdma_pair", SLOW[0], "could_not_run"): 1}


def test_only_the_target_is_exported(site: Path) -> None:
    found = exported(site, "rack_13")
    assert sum(found["fleet_nodes"].values()) == 1
    assert "gate_nodes" not in found
    assert found["lemons"]["full",] == 0


def test_the_collector_can_read_it_and_sees_no_draft(site: Path) -> None:
    exported(site)
    assert (site / "fleet.prom").stat().st_mode & 0o777 == 0o644
    assert [p.name for p in site.iterdir() if "prom" in p.name] == ["fleet.prom"]


def test_a_folder_that_does_not_exist_is_told(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["status", "--textfile", str(site / "absent" / "x.prom")]) == 3
    assert "cannot write" in capsys.readouterr().err
