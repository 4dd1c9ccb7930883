"""Deviations of drift runs: one row each, open until the check passes; and what was expected before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import event, text

from clusterctl.core.drift.memory import Seen
from clusterctl.model.drift import Deviation, DriftKind, Then
from clusterctl.model.findings import NodeStatus
from clusterctl.model.gate_result import Outcome
from clusterctl.model.state import State
from clusterctl_validators.finding import Severity
from support.stores import DIGEST, a_finding, a_node, a_run, bring, findings, fresh

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.store import Store

NAME, OTHER = "r12-n01", "r12-n02"
RUN, LATER = "20260314-020000-drift-aaaa", "20260315-020000-drift-bbbb"
NIGHT_1, NIGHT_2 = "2026-03-14T02:00:00.000000Z", "2026-03-15T02:00:00.000000Z"
DEVIATION = Deviation(NAME, "hugepages.a", "hugepages", DriftKind.DRIFT, Severity.MAJOR, "16", "8\x00", "", "", NIGHT_1, NIGHT_1)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = fresh(tmp_path)
    store.register([a_node(), a_node(OTHER, slot=2)])
    for run in (RUN, LATER):
        store.start_run(a_run(run, verb="drift"))
    return store


def rows(store: Store) -> list[tuple[str, str, str, bool, int]]:
    with store._engine.connect() as connection:
        found = connection.execute(text("select first_seen, last_seen, last_run, ended_at = '', seen from drift order by id"))
        return [(r[0], r[1], r[2], bool(r[3]), r[4]) for r in found]


def test_a_deviation_in_two_runs_is_one_row(store: Store) -> None:
    store.save_drift(RUN, [DEVIATION], [])
    assert store.open_drift([NAME, OTHER]) == (Seen(NAME, "hugepages.a", NIGHT_1, NIGHT_1),)
    assert store.open_drift([OTHER]) == ()
    store.save_drift(LATER, [replace(DEVIATION, last_seen=NIGHT_2)], [])
    assert rows(store) == [(NIGHT_1, NIGHT_2, LATER, True, 2)]


def test_a_deviation_that_ended_and_returns_is_a_new_row(store: Store) -> None:
    store.save_drift(RUN, [DEVIATION], [])
    store.save_drift(LATER, [], store.open_drift([NAME]))
    assert store.open_drift([NAME]) == ()
    store.save_drift(LATER, [replace(DEVIATION, first_seen=NIGHT_2, last_seen=NIGHT_2)], [])
    assert [(r[0], r[3]) for r in rows(store)] == [(NIGHT_1, False), (NIGHT_2, True)]


def test_expected_then_is_of_the_newest_complete_validation_under_the_last_applied_spec(store: Store) -> None:
    check = a_finding().check
    checks = {NAME: {check}, OTHER: {check}}
    store.save_findings(RUN, findings(a_finding(Outcome.FAIL)))
    store.save_findings(RUN, findings(a_finding(), a_finding(check="hugepages.b")))
    store.save_findings(RUN, findings(status=NodeStatus.UNREACHABLE))
    assert store.expected_then(checks) == {}
    bring(store, NAME, State.PROVISIONING)
    store.transition(NAME, State.PROVISIONED, run_id=RUN, operator="alice", spec_digest=DIGEST)
    store.register([a_node(digest="e" * 64)])
    store.save_findings(LATER, findings(replace(a_finding(), expected="32")))
    assert store.expected_then(checks) == {NAME: {check: Then("16", "16", held=True)}}
    store.transition(NAME, State.VALIDATED, run_id=LATER, operator="alice", spec_digest="e" * 64)
    assert store.expected_then(checks) == {NAME: {check: Then("32", "16", held=True)}}
    assert store.expected_then({NAME: set(), OTHER: {check}}) == {}
    assert store.expected_then({NAME: {"hugepages.unknown"}}) == {NAME: {}}


def test_expected_then_reads_only_the_named_checks(store: Store) -> None:
    many = [a_finding(check=f"hugepages.{i}") for i in range(300)]
    for name in (NAME, OTHER):
        bring(store, name, State.PROVISIONING)
        store.transition(name, State.PROVISIONED, run_id=RUN, operator="alice", spec_digest=DIGEST)
        store.save_findings(RUN, findings(*many, node=name))
    read: list[int] = []
    event.listen(store._engine, "after_cursor_execute", lambda *a: read.append("finding_values" in a[2]))
    then = store.expected_then({NAME: {"hugepages.7", "hugepages.9"}, OTHER: {"hugepages.9"}})
    assert {n: sorted(checks) for n, checks in then.items()} == {NAME: ["hugepages.7", "hugepages.9"], OTHER: ["hugepages.9"]}
    assert sum(read) == 1, "nodes with equal findings need one query"
