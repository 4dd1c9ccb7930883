"""What the store has against nodes, and `history --worst`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from clusterctl import main
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl.model.part import Part
from clusterctl.model.state import State
from clusterctl.model.trouble import LemonAction
from clusterctl.model.trouble_counts import TroubleCounts
from clusterctl.model.verdict import ReasonKind
from clusterctl.workflows.lemons import worst_serials
from clusterctl_validators.finding import Finding, Severity
from support.roles import ROOT
from support.stores import a_node, a_result, a_run, bring, findings, fresh
from support.troubles import DEFAULT_LIMITS

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.store import Store

N1, N2 = "r12-n01", "r12-n02"
SYSTEM = Part("system", "", "system", "XE9680", "S1")
HCA = Part("nic", "0000:1a:00.0", "mlx5_3", "CX7", "MT1")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("CLUSTERCTL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    store = fresh(tmp_path / "state")
    store.register([a_node(N1), a_node(N2, slot=2)])
    return store


def fail(store: Store, number: int, node: str = N1) -> None:
    """A run in which mlx5_3 of a node fails, and which quarantines it."""
    run = a_run(f"20260314-09000{number}-provision-aaaa")
    store.start_run(run)
    bring(store, node, State.PROVISIONING, run_id=run.id)
    store.save_gate_results(run.id, [a_result(Outcome.FAIL, node=node), a_result(node=node, device="mlx5_4")])
    store.transition(node, State.QUARANTINED, run_id=run.id, operator="ada", reason="a sentence", cause=ReasonKind.GATE_FAILED)


def test_an_exclusion_is_of_the_machine_and_of_the_part_that_failed(store: Store) -> None:
    store.start_run(a_run())
    store.save_parts(a_run().id, N1, [SYSTEM, HCA, Part("nic", "0000:1b:00.0", "mlx5_4", "CX7", "MT2")])
    fail(store, 1)
    found = {r.serial: r for r in worst_serials(store, DEFAULT_LIMITS)}
    assert set(found) == {"S1", "MT1"}
    assert found["MT1"].days_30 == found["S1"].days_90 == TroubleCounts(exclusions=1)
    assert (found["MT1"].node, found["MT1"].name, found["S1"].name) == (N1, "mlx5_3", N1)


def test_a_part_that_moved_takes_its_record_along(store: Store) -> None:
    store.start_run(a_run())
    store.save_parts(a_run().id, N1, [SYSTEM, HCA])
    fail(store, 1)
    later = a_run("20260314-100000-provision-bbbb")
    store.start_run(later)
    store.save_parts(later.id, N1, [SYSTEM, replace(HCA, serial="NEW")])
    store.save_parts(later.id, N2, [Part("system", "", "system", "XE9680", "S2"), HCA])
    fail(store, 2, N2)
    moved = next(r for r in worst_serials(store, DEFAULT_LIMITS, [N2]) if r.serial == "MT1")
    assert (moved.days_30.exclusions, moved.node) == (2, N2)


def flapping(times: int) -> Finding:
    return Finding(
        "hardware.hca[mlx5_3].link_flaps", "hardware", Outcome.FAIL, Severity.CRITICAL, "at most 2 within 12 h", f"{times}: eth1"
    )


def test_flaps_that_the_kernel_log_still_shows_are_no_new_ones(store: Store) -> None:
    store.start_run(a_run())
    store.save_parts(a_run().id, N1, [SYSTEM, HCA])
    days: list[int] = []
    for number, times in enumerate((3, 3, 3, 5), 1):
        store._clock = lambda n=number: f"2026-03-{10 + n:02d}T09:00:00.000000Z"  # type: ignore[misc]
        store.save_findings(a_run().id, findings(flapping(times), replace(flapping(9), outcome=Outcome.WAIVED)))
        days.append(len({f.at[:10] for f in store.trouble_sources("2026-01-01").flaps}))
    assert days == [1, 1, 1, 2]
    assert {f.device for f in store.trouble_sources("2026-01-01").flaps} == {"mlx5_3"}
    assert store.trouble_sources("2026-01-01", [N2]).flaps == ()


@pytest.mark.parametrize("changed", [{"expected": "at most 1 within 12 h"}, {"severity": Severity.MAJOR}, {"hint": "reworded"}], ids=str)
def test_losses_that_are_judged_in_another_way_are_no_new_ones(store: Store, changed: dict[str, Any]) -> None:
    """As after a new limit of the site, or a new release."""
    store.start_run(a_run())
    for finding in (flapping(3), replace(flapping(3), **changed)):
        store.save_findings(a_run().id, findings(finding))
    assert len(store.trouble_sources("2026-01-01").flaps) == 1


def worst(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main.call(["history", *words, "--worst", "-o", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    Draft202012Validator(json.loads((ROOT / "docs/reference/schemas/lemons.schema.json").read_text())).validate(data)
    return data


def test_history_lists_the_worst(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert worst(capsys)["serials"] == []
    store.start_run(a_run())
    store.save_parts(a_run().id, N1, [SYSTEM, HCA])
    for number in (1, 2, 3):
        fail(store, number)
    store.save_gate_results(a_run().id, [replace(a_result(Outcome.WARN, node=N2), reason=GateReason.COLLISION)])
    data = worst(capsys)
    assert data["found"] == 3
    assert [(s["node"], s["serial"], s["over_limit"]) for s in data["serials"]] == [(N1, "MT1", False), (N1, "S1", False), (N2, "", False)]
    assert data["serials"][0]["days_30"] == {
        "exclusions": 1,
        "repairs": 0,
        "repeated_repairs": 0,
        "suspicions": 2,
        "collisions": 0,
        "link_flap_days": 0,
        "unplanned_boots": 0,
    }
    assert [s["node"] for s in worst(capsys, N2)["serials"]] == [N2]
    assert len(worst(capsys, "-n", "1", "--days", "30")["serials"]) == 1
    assert main.call(["history", "--worst", "-n", "1"]) == 0
    text = capsys.readouterr().out
    assert "MT1" in text
    assert "and 2 more: -n 3" in text


def test_limits_of_the_site_count(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "clusterctl.yml").write_text("lemon_limits: {exclusions: 1, collisions: 0}\n")
    fail(store, 1)
    data = worst(capsys)
    assert data["limits"] == {
        "exclusions": 1,
        "repairs": 3,
        "repeated_repairs": 1,
        "suspicions": 6,
        "collisions": 0,
        "link_flap_days": 3,
        "unplanned_boots": 3,
    }
    assert [(s["over_limit"], s["next_action"]) for s in data["serials"]] == [(True, LemonAction.FULL)]


@pytest.mark.parametrize("value", ["3", "{exclusion: 3}", "{exclusions: -1}", "{exclusions: 1.5}", "{exclusions: true}", "[]"])
def test_limits_that_are_none_are_refused(store: Store, tmp_path: Path, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "clusterctl.yml").write_text(f"lemon_limits: {value}\n")
    assert main.call(["history", "--worst"]) == 3
    assert "lemon_limits" in capsys.readouterr().err


def test_history_without_a_node_is_a_usage_error(store: Store) -> None:
    assert main.call(["history"]) == 2
