"""NCCL runs: correctness, then transport, then bandwidth: a slow transport is the reason, not the number. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.gates.settings import OVER_NVLINK, NcclGroupSettings, NcclSettings
from clusterctl.core.judge.limits import Comparison, compare_with_limits, limit_text
from clusterctl.core.parsers.nccl_tests import with_op
from clusterctl.model.gate_result import Outcome, RawRecord, Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.judge.parse_record import Reading
    from clusterctl.model.gate_result import Baseline

CORRUPTION_HINT = "wrong results are silent data corruption: keep the node out and run `dcgmi diag -r 4`; replace what it names"
SLOW_HINT = (
    "compare with `nvidia-smi nvlink -s`, fabric manager and clocks; a node without NVLS shows about three quarters of the bandwidth"
)
NVLINK_HINT = "a tray that is reached by its adapters is not in the NVLink domain: see `nvidia-imex-ctl -N`, and Fabric in `nvidia-smi -q` of each tray"
TRANSPORT_HINT = "look at the NCCL INFO lines in the raw output: IB devices, nvidia_peermem or DMA-BUF, NCCL_IB_HCA in /etc/nccl.conf"


def verdicts(
    record: RawRecord, reading: Reading, settings: NcclSettings, baselines: Sequence[Baseline], nodes: int
) -> tuple[Comparison, ...]:
    """All rules of a run that has samples; a wrong transport takes the place of the bandwidth it explains."""
    program = next((w for w in record.argv if w.endswith("_perf")), "")
    samples = with_op(reading.samples, program.rsplit("/", 1)[-1].removesuffix("_perf"))
    correct = _correctness(samples, settings)
    if reading.rule and correct.outcome is not Outcome.FAIL:
        return (Comparison(Outcome.COULD_NOT_RUN, reading.rule, "", detail=reading.detail),)
    transport = _transport(samples, settings)
    if any(t.outcome is Outcome.FAIL for t in transport):
        return (correct, *transport)
    return (correct, *transport, *compare_with_limits(samples, baselines, nodes=nodes))


def _correctness(samples: Sequence[Sample], settings: NcclSettings) -> Comparison:
    rows = [s for s in samples if s.metric in ("wrong", "wrong_in_place")]
    wrong = sum(s.value for s in rows) + sum(s.value for s in samples if s.metric == "out_of_bounds")
    failed = any(s.metric == "out_of_bounds" and s.status.upper() == "FAILED" for s in samples)
    if wrong or failed:
        return Comparison(Outcome.FAIL, "correctness", "wrong", "0", limit_text(wrong), "a collective has one right answer")
    checked = [s for s in rows if s.metric == "wrong" and s.status != "N/A"]
    if len(checked) < len([s for s in rows if s.metric == "wrong"]) or not rows:
        outcome = Outcome.COULD_NOT_RUN if settings.require_correctness else Outcome.NOT_APPLICABLE
        return Comparison(outcome, "correctness", "wrong", "0", "N/A", detail="the tool did not check its results (#wrong is N/A)")
    return Comparison(Outcome.PASS, "correctness", "wrong", "0", "0")


def _transport(samples: Sequence[Sample], settings: NcclSettings) -> tuple[Comparison, ...]:
    channels = {s.transport: int(s.value) for s in samples if s.metric == "transport"}
    found = ", ".join(f"{kind} ({n} channels)" for kind, n in sorted(channels.items()))
    source = "gates_settings of the node's profile"
    required, forbidden = settings.require_transport, settings.forbid_transport
    expected = required or "not " + ", ".join(forbidden)
    if not required and not forbidden:
        return ()
    if not channels:
        detail = "the output shows no NCCL channel, so the transport is not known (NCCL_DEBUG=INFO lines are missing)"
        return (Comparison(Outcome.COULD_NOT_RUN, "transport", "transport", expected, "", source, detail),)
    bad = sorted(kind for kind in channels if any(_is(kind, f) for f in forbidden))
    if bad:
        detail = f"NCCL used {', '.join(bad)}: whatever the bandwidth, this is the reason"
        return (Comparison(Outcome.FAIL, "transport", "transport", expected, found, source, detail),)
    if required and not any(_is(kind, required) for kind in channels):
        return (Comparison(Outcome.FAIL, "transport", "transport", expected, found, source, f"no channel uses {required}"),)
    slow = sorted(k for k in channels if k.startswith("NET/") and not k.endswith("/GDRDMA"))
    if isinstance(settings, NcclGroupSettings) and settings.require_gdr and slow:
        detail = f"{', '.join(slow)} without GPUDirect RDMA: data takes the way through host memory"
        return (Comparison(Outcome.FAIL, "transport", "transport", f"{expected}/GDRDMA", found, source, detail),)
    return (Comparison(Outcome.PASS, "transport", "transport", expected, found, source),)


def _is(kind: str, wanted: str) -> bool:
    return kind == wanted or kind.startswith(f"{wanted}/")


def hint_of(comparison: Comparison) -> str:
    """The next action for a rule that did not pass."""
    if comparison.rule == "correctness":
        return CORRUPTION_HINT
    if comparison.rule == "transport":
        return NVLINK_HINT if comparison.expected.startswith(OVER_NVLINK) else TRANSPORT_HINT
    return SLOW_HINT
