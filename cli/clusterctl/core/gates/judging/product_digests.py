"""Products of one multiplication: equal to the first one on the same GPU, and equal among equal GPUs. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterctl.model.gate_result import RawRecord
    from clusterctl_tools.torch_gemm import TorchRun

METRIC = "products"
_SOURCE = "torch_gemm.py of the burn-in: the bits of every product"
_SHOWN = 12


def judge_products(gate: str, runs: Sequence[tuple[RawRecord, TorchRun]]) -> Iterator[GateResult]:
    """A result for each GPU, from whole runs.

    One product that differs fails it: hard errors need no repetition. So does a first product that most of at least three equal GPUs do not have;
    it was computed twice, from matrices copied anew. Where equal GPUs have no majority, none of them is proven. The GPUs of a node are equal: one that
    names other versions than most of its node would be compared with nobody.
    """
    alike: dict[tuple[str, ...], Counter[str]] = {}
    kinds: dict[str, Counter[tuple[str, ...]]] = {}
    for record, run in runs:
        kinds.setdefault(record.node, Counter())[run.kind] += 1
        if _own_problem(run) is None:
            alike.setdefault(run.kind, Counter())[run.first] += 1
    for record, run in runs:
        blank = GateResult(
            gate=gate,
            node=record.node,
            outcome=Outcome.PASS,
            rule=METRIC,
            metric=METRIC,
            device=record.device,
            expected="equal bits",
            found=f"{run.products} equal products",
            source=_SOURCE,
            simulated=record.simulated,
        )
        problem = _own_problem(run)
        if problem is not None:
            yield replace(blank, outcome=Outcome.FAIL, reason=GateReason.WRONG_RESULTS, found=problem)
        elif 2 * kinds[record.node][run.kind] <= kinds[record.node].total():
            detail = f"{record.device} names other versions than the other GPUs of the node: {', '.join(run.kind)}"
            yield replace(blank, outcome=Outcome.COULD_NOT_RUN, rule="complete", reason=GateReason.WRONG_RUN, detail=detail)
        else:
            yield _among_equals(blank, run.first, alike[run.kind])


def _own_problem(run: TorchRun) -> str | None:
    """What a GPU's own products show of it; None where all are equal."""
    if run.differing:
        return f"{run.differing} of {run.products} products differ from the first"
    if run.last != run.first:
        return "the last product differs from the first, though the GPU compared them as equal"
    if run.again != run.first:
        return "other products from the same matrices, copied anew"
    return None


def _among_equals(blank: GateResult, own: str, digests: Counter[str]) -> GateResult:
    count = digests.total()
    (most, agreeing), *_ = digests.most_common(1)
    shown = f"{blank.found}, digest {own[:_SHOWN]}"
    if len(digests) == 1:
        note = f"as all {count} equal GPUs of the run" if count > 1 else "compared with itself only: the run has no equal GPU"
        return replace(blank, found=shown, detail=note)
    if 2 * agreeing > count:
        if own == most:
            return replace(blank, found=shown, detail=f"as {agreeing} of {count} equal GPUs of the run")
        detail = f"{agreeing} of {count} equal GPUs have digest {most[:_SHOWN]}"
        return replace(blank, outcome=Outcome.FAIL, reason=GateReason.WRONG_RESULTS, found=shown, detail=detail)
    detail = f"{count} equal GPUs have {len(digests)} different digests, none of them a majority"
    return replace(blank, outcome=Outcome.COULD_NOT_RUN, reason=GateReason.WRONG_RESULTS, found=shown, detail=detail)
