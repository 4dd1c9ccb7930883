"""The transition table of the lifecycle, and its docs page."""

from __future__ import annotations

import re

import pytest

from clusterctl.core.lifecycle import IN_PROGRESS, LEGAL, MEANING, VOIDS_EVIDENCE, is_legal, next_action
from clusterctl.model.state import State
from support.roles import ROOT

PAGE = (ROOT / "docs/reference/states.md").read_text()


def test_every_state_has_transitions_and_a_meaning() -> None:
    assert set(LEGAL) == set(MEANING) == set(State)
    assert all(LEGAL.values())


@pytest.mark.parametrize("state", State)
def test_the_docs_page_equals_the_table(state: State) -> None:
    row = re.search(rf"^\| `{state.value}` \| (.+) \| (.+) \|$", PAGE, re.MULTILINE)
    assert row is not None
    assert row[1] == MEANING[state]
    assert set(re.findall(r"`(\w+)`", row[2])) == {s.value for s in LEGAL[state]}


@pytest.mark.parametrize("state", State)
def test_every_state_has_a_next_action(state: State) -> None:
    assert "`clusterctl " in next_action("r12-n01", state)
    assert "r12-n01" in next_action("r12-n01", state)


def test_admitted_is_reachable_from_every_state() -> None:
    reaching = {State.ADMITTED}
    while more := {s for s in State if s not in reaching and LEGAL[s] & reaching}:
        reaching |= more
    assert reaching == set(State)


def test_work_in_progress_can_always_be_stopped() -> None:
    assert all(is_legal(s, State.QUARANTINED) and is_legal(s, State.DRAINED) and is_legal(s, State.PROVISIONING) for s in IN_PROGRESS)


def test_provisioning_voids_evidence_but_admission_and_drain_do_not() -> None:
    assert State.PROVISIONING in VOIDS_EVIDENCE
    assert State.ADMITTED not in VOIDS_EVIDENCE
    assert State.DRAINED not in VOIDS_EVIDENCE
