"""The table of the lifecycle, and its page."""

from __future__ import annotations

import re

import pytest

from clusterctl.core.lifecycle import IN_PROGRESS, LEGAL, MEANING, VOIDS_EVIDENCE, is_legal, next_action
from clusterctl.model.state import State
from support.roles import ROOT

PAGE = (ROOT / "docs/reference/states.md").read_text()


def test_every_state_has_steps_and_a_meaning() -> None:
    assert set(LEGAL) == set(MEANING) == set(State)
    assert all(LEGAL.values())


@pytest.mark.parametrize("state", State)
def test_the_page_is_the_table(state: State) -> None:
    row = re.search(rf"^\| `{state.value}` \| (.+) \| (.+) \|$", PAGE, re.MULTILINE)
    assert row is not None
    assert row[1] == MEANING[state]
    assert set(re.findall(r"`(\w+)`", row[2])) == {s.value for s in LEGAL[state]}


@pytest.mark.parametrize("state", State)
def test_every_state_has_a_way_out(state: State) -> None:
    assert "`clusterctl " in next_action("r12-n01", state)
    assert "r12-n01" in next_action("r12-n01", state)


def test_every_state_leads_to_admitted_in_the_end() -> None:
    reaching = {State.ADMITTED}
    while more := {s for s in State if s not in reaching and LEGAL[s] & reaching}:
        reaching |= more
    assert reaching == set(State)


def test_work_in_progress_can_always_be_given_up() -> None:
    assert all(is_legal(s, State.QUARANTINED) and is_legal(s, State.DRAINED) and is_legal(s, State.PROVISIONING) for s in IN_PROGRESS)


def test_whatever_precedes_provisioning_again_voids_evidence() -> None:
    assert State.PROVISIONING in VOIDS_EVIDENCE
    assert State.ADMITTED not in VOIDS_EVIDENCE
    assert State.DRAINED not in VOIDS_EVIDENCE
