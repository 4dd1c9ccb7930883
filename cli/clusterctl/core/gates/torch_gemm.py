"""torch_gemm: every GPU of a node multiplies the same matrices with PyTorch: its rate, and whether all products are equal, bit for bit, on all equal GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from clusterctl.core.gates.gpu_stress import GpuStress, GpuStressSettings
from clusterctl.core.gates.judging.missing_evidence import with_hint
from clusterctl.core.gates.judging.product_digests import METRIC, judge_products
from clusterctl.core.gates.planning.step import AGAIN
from clusterctl.core.gates.settings import Seconds, at_level
from clusterctl.core.parsers.torch_gemm import whole_run
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.level import Level  # noqa: TC001 pydantic evaluates the annotations
from clusterctl_tools import torch_gemm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.model.gate_result import RawRecord
    from clusterctl_tools.torch_gemm import TorchRun

_WRONG = "{gpu} computes wrong results without an error: take the node out, run the vendor's diagnostic (`dcgmi diag -r 4`, EUD) on {gpu} and replace it"
_DIFFER = "two equal GPUs compute different bits: measure more of them in one run, the majority shows which is wrong; compare PyTorch's build first"
_DIED = "{gpu} worked and then ended with an error: read the XIDs in the kernel log, reset {gpu} or reboot the node; if it happens again, replace it"


class TorchGemmSettings(GpuStressSettings):
    """PyTorch on every GPU.

    Attributes:
        program: a Python interpreter that has PyTorch.
        size: of the square matrices. Three of them are in the GPU's memory, 2 bytes per element, and its process needs eight bytes per element on the host.
        duration_s: of the load. Assumed: no public source states how long a GPU that corrupts now and then must run.
        start_s: PyTorch is imported and the matrices are drawn before the time counts: 11 s on a virtual machine with an H100 (docs/hardware-notes.md).
    """

    program: Annotated[str, Field(min_length=1)] = torch_gemm.INTERPRETER
    size: Annotated[int, Field(ge=256, le=32768, multiple_of=256)] = torch_gemm.SIZE
    duration_s: Seconds | dict[Level, Seconds] = {"quick": 60, "standard": 300, "full": 3600}
    start_s: Seconds = 60


class TorchGemm(GpuStress):
    """As gpu_stress; and passes when all products of a GPU are equal to its first one, and that to those of equal GPUs."""

    name = "torch_gemm"
    settings_model = TorchGemmSettings
    tool = "torch_gemm"
    installed_by = ""
    default_levels = ("full",)

    def version_argv(self, settings: GpuStressSettings) -> tuple[str, ...]:
        """Of PyTorch."""
        return tuple(torch_gemm.version_argv(settings.program))

    def load_argv(self, settings: GpuStressSettings, gpu: int, seconds: int) -> tuple[str, ...]:
        """One GPU."""
        size = settings.size if isinstance(settings, TorchGemmSettings) else torch_gemm.SIZE
        return tuple(torch_gemm.gemm_argv(gpu, seconds, interpreter=settings.program, size=size))

    def requested_s(self, argv: Sequence[str]) -> float:
        """How long it was to run."""
        return torch_gemm.requested_s(argv)

    def judge(self, evidence: Evidence) -> tuple[GateResult, ...]:
        """The load as gpu_stress judges it, and the products of every GPU among those of equal ones."""
        whole = [(r, whole_run(self.output_of(r))) for r in evidence.records if r.device and self._broken(r) is None]
        first = judge_products(self.name, [(r, run) for r, run in whole if not r.step.startswith(AGAIN)])
        # A repeat of the load is one more chance to be wrong.
        again = judge_products(self.name, [(r, run) for r, run in whole if r.step.startswith(AGAIN)])
        worst = {(r.node, r.device): r for r in first}
        worst |= {(r.node, r.device): r for r in again if r.outcome is Outcome.FAIL}
        judged = {s.name for s in evidence.judged}
        return (*super().judge(evidence), *(with_hint(self, r) for r in worst.values() if r.node in judged))

    def _broken(self, record: RawRecord) -> GateResult | None:
        run = _read(record)
        if run is not None and run.error and run.products:
            return GateResult(
                gate=self.name,
                node=record.node,
                outcome=Outcome.FAIL,
                rule=METRIC,
                metric=METRIC,
                device=record.device,
                expected="no error",
                found="died",
                detail=run.error,
                reason=GateReason.TEST_FAILED,
                simulated=record.simulated,
            )
        return super()._broken(record)

    def failure_reason(self, record: RawRecord) -> GateReason:
        """NOT_INSTALLED where the interpreter has no PyTorch."""
        if record.exit_status == torch_gemm.NO_TORCH:
            return GateReason.NOT_INSTALLED
        run = _read(record)
        return GateReason.TOOL_FAILED if run is not None and run.error else GateReason.EXIT_STATUS

    def last_line(self, record: RawRecord) -> str:
        """What ended it, as PyTorch words it."""
        run = _read(record)
        return run.error if run is not None and run.error else super().last_line(record)

    def hint(self, result: GateResult) -> str:
        """By what happened to the products; else as gpu_stress."""
        if result.rule != METRIC:
            return super().hint(result)
        action = _DIED if result.reason is GateReason.TEST_FAILED else _DIFFER if result.outcome is Outcome.COULD_NOT_RUN else _WRONG
        return f"{action}; then `clusterctl burnin {result.node} {self.options}`".format(gpu=result.device or "the GPU")

    def not_proven(self, settings: GpuStressSettings, level: Level) -> str:
        """As `gpu_results`."""
        return f"that a GPU never computes wrongly: {at_level(settings.duration_s, level)} s of one matrix product find an unknown share"


def _read(record: RawRecord) -> TorchRun | None:
    try:
        return torch_gemm.read_run(record.stdout)
    except ValueError:
        return None


GATE = TorchGemm()
