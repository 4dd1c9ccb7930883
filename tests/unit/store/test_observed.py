"""Observed findings and gate results are kept with the outcome that they had; their repeats say how far they can be trusted."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from clusterctl import main
from clusterctl.adapters.store import finding_sets
from clusterctl.core import timestamps
from clusterctl.core.flake_rates import observed_records
from clusterctl.model.gate_result import Outcome
from clusterctl.model.observed import Observed
from clusterctl.model.state import State
from clusterctl.model.trouble import Trouble, TroubleKind
from clusterctl.workflows.lemons import worst_serials
from support.roles import ROOT
from support.stores import GATE, a_finding, a_node, a_result, a_run, bring, findings, fresh
from support.troubles import DEFAULT_LIMITS, NOW, ago

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.store import Store

N1 = "r12-n01"
CHECK = a_finding().check
outcomes = st.sampled_from([Outcome.PASS, Outcome.WARN, Outcome.FAIL, Outcome.COULD_NOT_RUN])


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("CLUSTERCTL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    store = fresh(tmp_path / "state")
    store.register([a_node(N1)])
    return store


def run(store: Store, number: int, outcome: Outcome) -> None:
    """A run in which an observed check and an observed rule have this outcome."""
    row = a_run(f"20260314-09000{number}-burnin-aaaa")
    store.start_run(row)
    shown = Outcome.PASS if outcome is Outcome.PASS else Outcome.WARN
    store.save_findings(row.id, findings(replace(a_finding(), outcome=shown, observed=outcome.value), node=N1))
    store.save_gate_results(row.id, [replace(a_result(outcome, node=N1), outcome=shown, observed=outcome)])


def test_the_outcome_is_kept_beside_the_one_that_decides(store: Store) -> None:
    run(store, 1, Outcome.FAIL)
    found = store.findings(N1)
    assert found is not None
    assert [(f.outcome, f.observed) for f in found.findings] == [(Outcome.WARN, "fail")]
    assert [(r.outcome, r.observed) for r in store.gate_results(N1)] == [(Outcome.WARN, Outcome.FAIL)]
    assert worst_serials(store, DEFAULT_LIMITS) == (), "what does not decide makes no lemon"


def test_a_finding_that_is_not_observed_has_the_digest_that_it_had() -> None:
    before = finding_sets._values(a_finding())
    assert before["digest"] == "d2f7f14ff3cf610ce7120a972d553d4e3ecf2186b990dccf6485f741d06c0338"
    assert finding_sets._values(replace(a_finding(), observed="pass"))["digest"] != before["digest"]


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main.call(["history", "--observed", *words, "-o", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    Draft202012Validator(json.loads((ROOT / "docs/reference/schemas/observed.schema.json").read_text())).validate(data)
    return data


def test_history_shows_how_often_the_repeat_said_otherwise(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys)["items"] == []
    for number, outcome in enumerate((Outcome.FAIL, Outcome.PASS, Outcome.FAIL, Outcome.FAIL, Outcome.COULD_NOT_RUN), 1):
        run(store, number, outcome)
    counts = {"nodes": 1, "runs": 5, "failed": 3, "could_not_run": 1, "repeated": 2, "contradicted": 1, "flake_rate": 0.5}
    assert shown(capsys)["items"] == [{"name": CHECK, "rule": "", **counts}, {"name": GATE, "rule": "floor", **counts}]
    assert shown(capsys, "-n", "1", "--days", "30")["found"] == 2
    assert main.call(["history", "--observed"]) == 0
    assert "50%" in capsys.readouterr().out
    assert main.call(["history", N1, "--observed"]) == 2


def test_a_rule_that_found_nothing_in_a_later_run_has_passed_there(store: Store) -> None:
    run(store, 1, Outcome.FAIL)
    row = a_run("20260314-090002-burnin-aaaa")
    store.start_run(row)
    store.save_gate_results(row.id, [replace(a_result(node=N1), rule="transport")])
    assert [(o.rule, o.outcome) for o in store.observed("") if o.name == GATE] == [("floor", Outcome.FAIL), ("floor", Outcome.PASS)]


def test_a_repair_in_between_makes_it_no_repeat(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    run(store, 1, Outcome.FAIL)
    bring(store, N1, State.QUARANTINED, State.PROVISIONING, State.PROVISIONED, State.VALIDATED)
    repair = Trouble(N1, TroubleKind.REPAIR, ago(1))
    seen = [Observed(N1, "c", "", f"r{days}", ago(days), outcome) for days, outcome in ((2, Outcome.FAIL), (0, Outcome.PASS))]
    assert observed_records(seen, [])[0].flake_rate == 1.0
    assert observed_records(seen, [repair])[0].flake_rate is None


@given(st.lists(st.tuples(outcomes, st.sampled_from(["n1", "n2"]))), st.booleans())
def test_a_flake_rate_is_a_share_and_outcomes_that_agree_make_none(seen: list[tuple[Outcome, str]], agree: bool) -> None:
    every = [
        Observed(node, "c", "", f"r{i}", timestamps.after(NOW, i), Outcome.FAIL if agree else outcome)
        for i, (outcome, node) in enumerate(seen)
    ]
    for record in observed_records(every, []):
        assert 0 <= record.contradicted <= record.repeated <= record.failed <= record.runs
        assert not (agree and record.flake_rate)
