"""vendor_diag: the diagnostic of a vendor that a site has, as the vendor judges it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from clusterctl.core.gates.judging.reading import Reading, not_run
from clusterctl.core.gates.node_gate import NodeGate
from clusterctl.core.gates.settings import GateSettings, Seconds, at_level
from clusterctl.core.parsers.vendor_diag import INCOMPLETE
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord
from clusterctl.model.level import Level  # noqa: TC001 pydantic evaluates the annotations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import Sample

_DETAIL_LIMIT = 600
_FAILED = "{part}: keep {node} out of the pool, and send this output to its vendor; what it names is to be replaced"
_NO_VERDICT = "{part}: the diagnostic gave no verdict; see its own log on {node}, and run it again"


class VendorDiagSettings(GateSettings):
    """The program of a vendor, or a script of the site around it.

    Attributes:
        command: prints messages of OCP Test & Validation 2.0, or a line PASS, FAIL or RETEST as NVIDIA's Field Diagnostic. One that needs the driver
            unloaded must unload and load it itself.
        timeout_s: assumed; vendors state none.
    """

    command: Annotated[list[str], Field(min_length=1)] = ["fieldiag"]
    timeout_s: Seconds | dict[Level, Seconds] = 14400


class VendorDiag(NodeGate[VendorDiagSettings]):
    """Passes when the vendor's program ends with PASS and finds no part at fault."""

    name = "vendor_diag"
    settings_model = VendorDiagSettings
    tool = "vendor_diag"
    default_levels = ("full",)
    needs_floor = False

    def argv(self, settings: VendorDiagSettings, level: Level, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002 the same everywhere
        """The command of the site."""
        return tuple(settings.command)

    def verdicts(self, subject: Subject, record: RawRecord, reading: Reading) -> Sequence[GateResult]:
        """A result for each part that did not pass, or one pass."""
        bad = [_result(subject, s) for s in reading.samples if s.status != "PASS"]
        if any(r.outcome is Outcome.FAIL and r.metric == "diagnosis" for r in bad):
            bad = [r for r in bad if r.metric == "diagnosis" or r.outcome is not Outcome.FAIL]
        if not bad and reading.rule:
            return (not_run(self, record, reading),)
        judged = sum(s.metric == "diagnosis" for s in reading.samples)
        passed = f"PASS, {judged} diagnoses" if judged else "PASS"
        return bad or [GateResult(self.name, subject.name, Outcome.PASS, "diag", metric="result", expected="PASS", found=passed)]

    def usual_s(self, settings: VendorDiagSettings, level: Level) -> float:
        """At most; vendors state no time."""
        return float(at_level(settings.timeout_s, level))

    def not_proven(self, settings: VendorDiagSettings, level: Level) -> str:  # noqa: ARG002 the same at all levels and settings
        """It is closed."""
        return "what its vendor does not test, which no page lists"


def _result(subject: Subject, sample: Sample) -> GateResult:
    failed = sample.status == "FAIL"
    part = sample.device or "the node"
    if sample.status == INCOMPLETE:
        reason, detail = GateReason.INCOMPLETE, "messages are missing: there is no testRunEnd, or a sequenceNumber is left out"
    else:
        reason, detail = GateReason.TEST_FAILED if failed else GateReason.TEST_NOT_PASSED, sample.detail
    return GateResult(
        GATE.name,
        subject.name,
        Outcome.FAIL if failed else Outcome.COULD_NOT_RUN,
        "diag",
        metric=sample.metric,
        expected="PASS",
        found=sample.status,
        device=sample.device,
        source="the vendor's own verdict",
        detail=detail[:_DETAIL_LIMIT],
        hint=(_FAILED if failed else _NO_VERDICT).format(part=part, node=subject.name),
        reason=reason,
    )


GATE = VendorDiag()
