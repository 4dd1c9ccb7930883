"""nvbandwidth: copies between host and GPUs, and between GPUs, of one node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from clusterctl.core.gates.judging.limits import compare_with_limits
from clusterctl.core.gates.judging.reading import not_run
from clusterctl.core.gates.node_gate import NodeGate
from clusterctl.core.gates.settings import GateSettings
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord
from clusterctl_validators.gpu_vendor import ADVICE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.judging.reading import Reading
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.level import Level


class NvbandwidthSettings(GateSettings):
    """`nvbandwidth -j -t TESTCASE ...`.

    Attributes:
        testcases: as `nvbandwidth --list` names them; each is a metric of its own.
    """

    testcases: Annotated[list[str], Field(min_length=1)] = ["host_to_device_memcpy_ce", "device_to_host_memcpy_ce"]


class Nvbandwidth(NodeGate[NvbandwidthSettings]):
    """Passes when every GPU (pair) reaches the floor of every declared testcase."""

    name = "nvbandwidth"
    settings_model = NvbandwidthSettings
    tool = "nvbandwidth"
    installed_by = "gpu_tools"
    default_levels = ("full",)

    def argv(self, settings: NvbandwidthSettings, level: Level, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002 the same everywhere
        """`nvbandwidth` with its JSON output."""
        return ("nvbandwidth", "-j", "-t", *settings.testcases)

    def version_argv(self, settings: NvbandwidthSettings) -> tuple[str, ...]:  # noqa: ARG002 the same everywhere
        """Its help has the version in its first line."""
        return ("nvbandwidth", "--help")

    def verdicts(self, subject: Subject, record: RawRecord, reading: Reading) -> Sequence[GateResult]:
        """An error of the tool, then testcases that did not finish, then the limits."""
        errors = [s for s in reading.samples if s.metric == "error"]
        if errors:
            return (
                GateResult(
                    gate=self.name,
                    node=subject.name,
                    outcome=Outcome.FAIL,
                    rule="correctness",
                    metric="error",
                    expected="none",
                    found="an error",
                    source="nvbandwidth checks what it copied",
                    detail=errors[0].detail,
                    reason=GateReason.WRONG_RESULTS,
                ),
            )
        if reading.rule:
            return (not_run(self, record, reading),)
        declared = subject.profile.settings_of(self).testcases
        unfinished = [
            GateResult(
                gate=self.name,
                node=subject.name,
                outcome=Outcome.COULD_NOT_RUN,
                rule="complete",
                metric=s.metric,
                expected="Passed",
                found=s.status,
                detail=f"testcase {s.metric} is {s.status}",
                reason=GateReason.INCOMPLETE,
            )
            for s in reading.samples
            if s.status and s.metric in declared
        ]
        baselines = [b for b in subject.profile.for_gate(self.name) if b.metric in declared]
        return (*unfinished, *compare_with_limits(self.name, subject.name, reading.samples, baselines, nodes=1))

    def hint(self, result: GateResult) -> str:  # noqa: ARG002 one for all rules
        """Bandwidth is lost in the PCIe link or in NVLink."""
        return ADVICE.slow_copy


GATE = Nvbandwidth()
