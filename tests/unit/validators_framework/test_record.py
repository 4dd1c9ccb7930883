from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_validators.finding import Finding, Outcome, Severity
from clusterctl_validators.record import Record, as_text, distinct


@pytest.mark.parametrize(
    ("expected", "found", "outcome"),
    [
        (64, "64", Outcome.PASS),
        (64, 64, Outcome.PASS),
        (64, "65", Outcome.FAIL),
        (0, "0", Outcome.PASS),
        (0, None, Outcome.FAIL),
        ("", None, Outcome.FAIL),
        (None, "", Outcome.FAIL),
        (None, None, Outcome.PASS),
        (True, "true", Outcome.PASS),
        (False, "0", Outcome.FAIL),
        (["a", "b"], ["a", "b"], Outcome.PASS),
        (["a", "b"], ["b", "a"], Outcome.FAIL),
        ([], "", Outcome.FAIL),
    ],
)
def test_equal(expected: Any, found: Any, outcome: Outcome) -> None:
    record = Record("hugepages")
    record.equal("hugepages.x", expected, found, severity=Severity.CRITICAL, hint="do")
    hint = "" if outcome is Outcome.PASS else "do"
    assert record.findings == [
        Finding("hugepages.x", "hugepages", outcome, Severity.CRITICAL, as_text(expected), as_text(found), hint),
    ]


def test_the_other_outcomes() -> None:
    record = Record("nccl")
    record.could_not_run("nccl.library", "no ldconfig")
    record.not_applicable("nccl.topology", "none declared")
    assert [(f.outcome, f.reason) for f in record.findings] == [
        (Outcome.COULD_NOT_RUN, "no ldconfig"),
        (Outcome.NOT_APPLICABLE, "none declared"),
    ]


@pytest.mark.parametrize(("found", "kept"), [("96.00.A5.00.01", "96.00.A5.00.01"), (None, "")])
def test_what_is_seen_and_not_declared_is_kept_and_decides_nothing(found: str | None, kept: str) -> None:
    record = Record("hardware")
    record.seen("hardware.gpu[0].vbios", found)
    reason = "not declared for this node"
    assert record.findings == [
        Finding("hardware.gpu[0].vbios", "hardware", Outcome.NOT_APPLICABLE, Severity.MINOR, found=kept, reason=reason)
    ]


@pytest.mark.parametrize("check", ["kernel.release", "ncclx.library", "nccl"])
def test_a_check_id_of_another_role_could_not_run(check: str) -> None:
    record = Record("nccl")
    record.ok(check, condition=True)
    assert record.findings[0].outcome is Outcome.COULD_NOT_RUN
    assert record.findings[0].role == "nccl"


FINDINGS = st.lists(
    st.builds(Finding, st.sampled_from(["r.a", "r.b", "r.c"]), st.just("r"), st.sampled_from(Outcome), st.sampled_from(Severity))
)


@given(FINDINGS)
def test_one_finding_per_check_and_a_pass_never_hides_a_failure(findings: list[Finding]) -> None:
    kept = {f.check: f.outcome for f in distinct(findings)}
    assert list(kept) == list(dict.fromkeys(f.check for f in findings))
    for check, outcome in kept.items():
        seen = {f.outcome for f in findings if f.check == check}
        assert outcome in seen
        assert not (outcome is Outcome.PASS and seen != {Outcome.PASS})
        assert not (Outcome.FAIL in seen and outcome is not Outcome.FAIL)


@given(
    st.builds(
        Finding, st.text(), st.text(), st.sampled_from(Outcome), st.sampled_from(Severity), st.text(), st.text(), st.text(), st.text()
    )
)
def test_finding_survives_json(finding: Finding) -> None:
    assert Finding.from_json(finding.to_json()) == finding


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"check": "a.b", "role": "a", "outcome": "pass"},
        {"check": "a.b", "role": "a", "outcome": "passed", "severity": "major"},
        {"check": "a.b", "role": "a", "outcome": "pass", "severity": "high"},
    ],
)
def test_a_damaged_finding_is_not_read(data: dict[str, str]) -> None:
    with pytest.raises((KeyError, ValueError)):
        Finding.from_json(data)
