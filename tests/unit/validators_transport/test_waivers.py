from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core import waivers
from clusterctl.core.waivers import Waiver
from clusterctl.model.errors import ConfigError
from clusterctl_validators.finding import GOOD, Finding, Outcome, Severity

GOOD_ENTRY = {"check": "hugepages.*", "reason": "why", "owner": "ops", "expires": "2026-12-31"}
FINDINGS = st.builds(
    Finding, st.sampled_from(["a.x", "a.y[1G].z", "b.x"]), st.just("a"), st.sampled_from(Outcome), st.sampled_from(Severity)
)
DAY = date(2026, 6, 1)
WAIVERS = st.builds(
    Waiver,
    st.sampled_from(["*", "a.*", "a.y[1G].z", "a.y[1].z", "b.?"]),
    st.just("why"),
    st.just("ops"),
    st.dates(DAY - timedelta(2), DAY + timedelta(2)),
)


@pytest.mark.parametrize(
    ("glob", "check", "expected"),
    [
        ("hugepages.pages[1G].node0.running", "hugepages.pages[1G].node0.running", True),
        ("hugepages.pages[1G].node0.running", "hugepages.pagesG.node0.running", False),
        ("hugepages.*", "hugepages.pages[1G].node0.running", True),
        ("hugepages.*", "xhugepages.pages", False),
        ("*.running", "hugepages.pages[1G].node0.running", True),
        ("nccl.conf[?]", "nccl.conf[a]", True),
        ("nccl.conf[?]", "nccl.conf[ab]", False),
        ("nccl.conf", "nccl.conf.mode", False),
        ("a.b", "axb", False),
    ],
)
def test_glob(glob: str, check: str, expected: bool) -> None:
    assert waivers.matches(glob, check) is expected


@given(st.text(st.characters(exclude_characters="*?")), st.text())
def test_without_a_wildcard_only_the_same_id_matches(glob: str, check: str) -> None:
    assert waivers.matches(glob, glob)
    assert waivers.matches(glob, check) == (glob == check)


@given(st.lists(FINDINGS), st.lists(WAIVERS))
def test_only_a_valid_waiver_of_this_check_waives(findings: list[Finding], known: list[Waiver]) -> None:
    judged = waivers.apply_waivers(findings, known, DAY)
    assert [f.check for f in judged] == [f.check for f in findings]
    for before, after in zip(findings, judged, strict=True):
        valid = any(waivers.matches(w.check, before.check) and w.expires >= DAY for w in known)
        if before.outcome in GOOD:
            assert after == before
        elif valid:
            assert after.outcome is Outcome.WAIVED
            assert "waived by ops until" in after.reason
        else:
            assert after.outcome is before.outcome


def test_with_an_expired_waiver_the_check_fails_again() -> None:
    failing = Finding("hugepages.x", "hugepages", Outcome.FAIL, Severity.MAJOR)
    (judged,) = waivers.apply_waivers([failing], waivers.parse_waivers([GOOD_ENTRY], "n1"), date(2027, 1, 1))
    assert judged.outcome is Outcome.FAIL
    assert judged.reason == "the waiver of ops expired on 2026-12-31: why"


def test_a_waived_check_that_could_not_run_keeps_its_reason() -> None:
    unknown = Finding("hugepages.x", "hugepages", Outcome.COULD_NOT_RUN, Severity.MAJOR, reason="no tool")
    (judged,) = waivers.apply_waivers([unknown], waivers.parse_waivers([GOOD_ENTRY], "n1"), DAY)
    assert judged.reason == "waived by ops until 2026-12-31: why (no tool)"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"owner": ""}, "has no owner"),
        ({"reason": None}, "has no reason"),
        ({"check": " "}, "has no check"),
        ({"expires": ""}, "has no expires"),
        ({"expires": "never"}, "'never' is not a date"),
        ({"expires": "2026-02-30"}, "'2026-02-30' is not a date"),
    ],
)
def test_an_incomplete_waiver_is_an_error(change: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match="n1: waivers: ") as caught:
        waivers.parse_waivers([{**GOOD_ENTRY, **change}], "n1")
    assert problem in str(caught.value)


def test_expires_may_be_a_yaml_date() -> None:
    assert waivers.parse_waivers([{**GOOD_ENTRY, "expires": date(2026, 12, 31)}], "n1")[0].expires == date(2026, 12, 31)
