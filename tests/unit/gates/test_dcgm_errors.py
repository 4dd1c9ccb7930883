"""The table of DCGM's error codes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.dcgm_errors import DcgmCause, dcgm_error_table, explained_errors, rank_of_xid, verdict_of
from clusterctl_validators.xid_catalogue import Action
from support.gates import CASES, REPAIR
from support.recorded import recorded

CODES = dcgm_error_table().codes
ACTIONS = dcgm_error_table().actions
_PRINTED = re.compile(r'"error_id"\s*:\s*(\d+)')
# Where a case is about a code that DCGM does not have.
_NONE = {9999}


def test_every_code_is_there_once() -> None:
    assert [e.id for e in CODES] == list(range(len(CODES)))
    assert len({e.name for e in CODES}) == len(CODES)


def test_every_code_has_an_action_and_every_action_is_used() -> None:
    names = [a.name for a in ACTIONS]
    assert len(set(names)) == len(names)
    assert {e.action for e in CODES} <= set(names)
    assert [a.name for a in ACTIONS if a.name not in {e.action for e in CODES} and not a.xid] == []


def test_the_actions_of_xids_are_those_of_the_catalogue() -> None:
    assert {x for a in ACTIONS for x in a.xid} == {a.value for a in Action}


@pytest.mark.parametrize("action", Action)
def test_every_action_of_the_xid_catalogue_has_one_rank(action: Action) -> None:
    assert [a.name for a in ACTIONS if action.value in a.xid] == [ACTIONS[rank_of_xid(action.value)].name]


def test_the_more_severe_action_stands_first() -> None:
    names = [a.name for a in ACTIONS]
    severe = ["field_diagnostic", "reboot", "reset", "software", "run_again", "watch"]
    assert sorted(severe, key=names.index) == severe
    xids = (Action.CONTACT_SUPPORT, Action.RESTART_BM, Action.RESET_GPU, Action.UPDATE_SWFW, Action.RESTART_APP, Action.IGNORE)
    assert list(xids) == sorted(xids, key=lambda a: rank_of_xid(a.value))


def test_what_is_no_fault_of_hardware_asks_for_no_repair() -> None:
    texts = {a.name: a.text for a in ACTIONS}
    assert [e.name for e in CODES if (e.untested or e.about_software) and REPAIR.search(texts[e.action])] == []


def test_a_failure_of_dcgm_itself_is_untested() -> None:
    assert [e.name for e in CODES if e.cause is DcgmCause.DIAGNOSTIC and not e.untested] == []


def test_a_test_that_did_not_run_hides_no_fault_beside_it() -> None:
    for none in (e for e in CODES if e.untested):
        for fault in (e for e in explained_errors(e.id for e in CODES) if not e.untested):
            verdict = verdict_of((none.id, fault.id), "", gpu="gpu3", node="n1")
            assert verdict is not None
            assert verdict.error == fault


@given(st.text(alphabet=st.sampled_from("XID xid 0123456789{}:,"), max_size=40) | st.just("XID " + "9" * 5000))
def test_any_text_beside_the_code_of_an_xid_has_an_action(text: str) -> None:
    verdict = verdict_of((101,), text, gpu="gpu3", node="n1")
    assert verdict is not None
    assert verdict.action


def test_every_code_that_a_case_prints_is_known() -> None:
    texts = [p.read_text(encoding="utf-8") for p in (CASES / "parsers").glob("dcgm*/input.txt")]
    printed = {int(code) for text in texts for code in _PRINTED.findall(text)}
    assert printed
    assert printed - {e.id for e in CODES} == _NONE


def test_every_recorded_code_is_known() -> None:
    texts = [p.read_text(encoding="utf-8", errors="replace") for p in recorded("dcgmi").glob("*.json")]
    printed = {int(code) for text in texts for code in _PRINTED.findall(text)}
    assert printed == {29, 110}
    assert printed <= {e.id for e in CODES}
