from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clusterctl.model import errors, verdict
from clusterctl.model.exit_codes import MEANINGS, PRECEDENCE, ExitCode, worst
from support.roles import ROOT


def test_the_exit_codes_are_stable() -> None:
    assert {c.value: c.name for c in ExitCode} == {
        0: "OK",
        1: "UNEXPECTED",
        2: "USAGE",
        3: "CONFIG",
        4: "UNREACHABLE",
        5: "ROLE_FAILED",
        6: "VALIDATOR_FAILED",
        7: "GATE_FAILED",
        8: "CHANGES_PENDING",
        9: "INTERRUPTED",
    }


def test_every_code_has_a_meaning_a_rank_and_a_row_in_the_docs() -> None:
    assert set(MEANINGS) == set(ExitCode)
    assert sorted(PRECEDENCE) == sorted(ExitCode)
    page = (ROOT / "docs/reference/exit-codes.md").read_text()
    for code, meaning in MEANINGS.items():
        assert f"| {int(code)} | {meaning} |" in page


def test_without_codes_the_worst_is_ok() -> None:
    assert worst([]) is ExitCode.OK


@given(st.lists(st.sampled_from(ExitCode), min_size=1))
def test_the_worst_code_is_one_of_them_in_any_order(codes: list[ExitCode]) -> None:
    assert worst(codes) in codes
    assert worst(codes) is worst(codes[::-1])
    assert (worst(codes) is ExitCode.OK) == (set(codes) == {ExitCode.OK})


def test_every_error_and_every_reason_but_warnings_has_a_failing_code() -> None:
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.ClusterctlError)]
    assert all(c.exit_code is not ExitCode.OK for c in classes)
    assert set(verdict.EXIT_CODES) == set(verdict.ReasonKind)
    notes = {verdict.ReasonKind.CHECK_WARNED, verdict.ReasonKind.GATE_WARNED}
    assert {kind for kind, code in verdict.EXIT_CODES.items() if code is ExitCode.OK} == notes
