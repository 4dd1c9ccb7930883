"""What burn-in and judge exit with: by outcome and reason code, never by words."""

from __future__ import annotations

import pytest

from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, gates_exit_code

PASSED = GateResult("dcgm_diag", "n1", Outcome.PASS, "diag")
SLOW = GateResult("rdma_pair", "n1", Outcome.FAIL, "floor", reason=GateReason.BELOW_FLOOR)
LOST = GateResult("dcgm_diag", "n2", Outcome.COULD_NOT_RUN, "complete", reason=GateReason.NODE_UNREACHABLE)
WORDS = GateResult("dcgm_diag", "n2", Outcome.COULD_NOT_RUN, "complete", detail="it prints: node unreachable", reason=GateReason.UNPARSABLE)
WAIVED = GateResult("dcgm_diag", "n2", Outcome.WAIVED, "complete", reason=GateReason.NODE_UNREACHABLE)


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ((), ExitCode.GATE_FAILED),
        ((PASSED,), ExitCode.OK),
        ((PASSED, WAIVED), ExitCode.OK),
        ((PASSED, SLOW), ExitCode.GATE_FAILED),
        ((WORDS,), ExitCode.GATE_FAILED),
        ((SLOW, LOST), ExitCode.UNREACHABLE),
    ],
)
def test_the_exit_code(results: tuple[GateResult, ...], code: ExitCode) -> None:
    assert gates_exit_code(results) is code
