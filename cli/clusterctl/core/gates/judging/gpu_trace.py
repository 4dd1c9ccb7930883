"""The trace of a load, read: what each GPU showed while it worked, or why the trace is not evidence. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.judging.errors_alone import Counted, alone
from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl_tools.gpu import UnreadableGpuError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from clusterctl.core.gates.gate import Gate
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import RawRecord
    from clusterctl.model.trace_sample import TraceSample
    from clusterctl_tools.gpu import GpuUnderLoad

    ReadLoad = Callable[[str], Sequence[GpuUnderLoad]]

LEAST_SAMPLES = 3
# Of the samples under load: clocks and temperatures rise in the first tenth.
_WARM_UP = 0.1
# Of the time of its step: what it does not cover may have been slow, or hot.
_COVERED = 0.8
# nvidia-smi answers in tenths of a second; assumed: ten seconds are a symptom. It was seen to take 30 s before a GPU died.
SLOW_QUERY_S = 10.0
_QUERY = "nvidia_smi"


@dataclass(frozen=True, slots=True)
class Loaded:
    """One GPU over the time of its load, without the warm-up; None = nvidia-smi does not report it.

    Attributes:
        braked: no heat held it back, but the power brake.
        clock_setting: share of the samples in which clocks that a user set limited it.
    """

    clock_mhz: float | None
    power_w: float | None
    temperature_c: float | None
    margin_c: float | None
    slowdowns: tuple[str, ...]
    held_back: float
    braked: bool = False
    power_limit_w: float | None = None
    clock_setting: float = 0.0


def read_trace(
    gate: Gate[Any], subject: Subject, record: RawRecord | None, read: ReadLoad
) -> tuple[dict[str, Loaded] | None, list[GateResult]]:
    """GPU -> its load, None where the trace is not evidence; and what is wrong with it."""
    blank = GateResult(gate.name, subject.name, Outcome.COULD_NOT_RUN, "complete", "trace", reason=GateReason.INCOMPLETE)
    if record is None:
        return None, [replace(blank, detail="the trace of clocks and temperatures is missing")]
    about_all = [s for s in record.trace if not s.device]
    results = _queries(replace(blank, device=_slow_device(record.trace, subject.gpus)), about_all)
    moments: dict[str, list[GpuUnderLoad]] = {}
    until_s = max((s.at_s + s.took_s for s in record.trace), default=0.0)
    if until_s < _COVERED * record.duration_s:
        detail = f"the trace ends after {limit_text(until_s)} of {limit_text(record.duration_s)} s"
        return None, [*results, replace(blank, detail=detail)]
    for sample in about_all:
        if _is_late(sample):
            continue  # judged as slow
        if sample.exit_status != 0:
            return None, [*results, _failed(blank, sample, read)]
        try:
            rows = read(sample.stdout)
        except UnreadableGpuError as e:
            return None, [*results, replace(blank, reason=GateReason.UNPARSABLE, detail=str(e))]
        for row in (r for r in rows if not r.idle):
            moments.setdefault(f"gpu{row.index}", []).append(row)
    warm = {device: rows[int(_WARM_UP * len(rows)) :] for device, rows in moments.items()}
    return {device: _load_of(rows) for device, rows in warm.items() if len(rows) >= LEAST_SAMPLES}, results


def _failed(blank: GateResult, sample: TraceSample, read: ReadLoad) -> GateResult:
    """A failure of the vendor's tool under load: some of its messages are that a GPU is gone."""
    first = next((line.strip() for line in sample.stdout.splitlines() if line.strip()), f"exit status {sample.exit_status}")
    failed = replace(blank, outcome=Outcome.COULD_NOT_RUN, reason=GateReason.TOOL_FAILED, detail=f"nvidia-smi failed under load: {first}")
    try:
        read(first)
    except UnreadableGpuError as e:
        if e.lost:
            return replace(failed, outcome=Outcome.FAIL, reason=GateReason.DEVICE_LOST, device=f"GPU {e.address}" if e.address else "")
    return failed


def _load_of(rows: Sequence[GpuUnderLoad]) -> Loaded:
    def known(name: str) -> list[float]:
        return [value for row in rows if (value := getattr(row, name)) is not None]

    clocks, powers, limits = known("clock_mhz"), known("power_w"), known("power_limit_w")
    return Loaded(
        clock_mhz=median(clocks) if clocks else None,
        power_w=median(powers) if powers else None,
        temperature_c=max(known("temperature_c"), default=None),
        margin_c=min(known("margin_c"), default=None),
        slowdowns=tuple(dict.fromkeys(name for row in rows for name in row.slowdowns)),
        held_back=sum(row.held_back for row in rows) / len(rows),
        braked=any(row.braked for row in rows) and all(row.braked for row in rows if row.slowdowns),
        power_limit_w=median(limits) if limits else None,
        clock_setting=sum(row.clock_setting for row in rows) / len(rows),
    )


def _queries(blank: GateResult, trace: Sequence[TraceSample]) -> list[GateResult]:
    """A driver that answers slowly under load."""
    slowest = max((s.took_s for s in trace), default=0.0)
    never = sum(map(_is_late, trace))
    if slowest < SLOW_QUERY_S and not never:
        return []
    detail = f"nvidia-smi took up to {limit_text(slowest)} s under load" + (
        f", and {never} of {len(trace)} times it did not answer" if never else ""
    )
    outcome = Outcome.FAIL if never else Outcome.WARN
    slow = replace(blank, outcome=outcome, rule="query", metric=_QUERY, reason=GateReason.QUERY_SLOW, detail=detail)
    return [
        replace(
            slow,
            value=slowest,
            limit=SLOW_QUERY_S,
            unit="s",
            expected=f"<= {limit_text(SLOW_QUERY_S)} s",
            found=f"{limit_text(slowest)} s",
        )
    ]


def slow_among_nodes(gate: Gate[Any], traces: Mapping[str, RawRecord], classes: Mapping[str, Hashable]) -> Iterator[GateResult]:
    """The nodes whose driver answers within the limit, and far more slowly than that of others; `classes`: node -> what makes it equal to others."""
    slowest = {node: max((s.took_s for s in record.trace if not s.device), default=0.0) for node, record in traces.items()}
    for one in alone({node: {("", _QUERY): Counted(took_s, SLOW_QUERY_S)} for node, took_s in slowest.items()}, classes):
        took_s = one.counted.amount
        if took_s < SLOW_QUERY_S:
            detail = f"nvidia-smi took up to {limit_text(took_s)} s under load, on almost all of {one.equals - 1} other nodes at most {limit_text(one.most)} s"
            yield GateResult(
                gate.name,
                one.node,
                Outcome.WARN,
                "query",
                _QUERY,
                expected=f"<= {limit_text(one.most)} s, as on other nodes",
                found=f"{limit_text(took_s)} s",
                detail=detail,
                reason=GateReason.QUERY_SLOW,
                value=took_s,
                unit="s",
            )


def _slow_device(trace: Sequence[TraceSample], gpus: int) -> str:
    """The only GPU that answers slowly by itself; empty where it is none, several, or not all were queried."""
    # Assumed: a GPU that holds up the answer about all does not hold up that about another one. NVML: a handle by index initializes the GPU that it names.
    alone = [s for s in trace if s.device]
    slow = [s.device for s in alone if s.took_s >= SLOW_QUERY_S]
    return slow[0] if len(alone) == gpus and len(slow) == 1 else ""


def _is_late(sample: TraceSample) -> bool:
    """Whether the command did not answer: one that cannot be started, or is ended by a signal, is not evidence about the hardware."""
    return sample.exit_status is None and sample.took_s >= SLOW_QUERY_S
