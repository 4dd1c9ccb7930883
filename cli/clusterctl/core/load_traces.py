"""The trace of a load -> what is drawn of it. What cannot be read is counted, never an error. Pure."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from clusterctl.core.gates.planning.step import AGAIN, TRACE
from clusterctl.model.load_trace import LOAD_FIGURES, GpuLoad, LoadTrace, MissingTrace, NoPicture
from clusterctl_tools.gpu import UnreadableGpuError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from clusterctl.core.gates.load_gate import LoadGate
    from clusterctl.model.gate_result import RawRecord
    from clusterctl.model.trace_sample import TraceSample
    from clusterctl_tools.gpu import GpuUnderLoad

    Answer = dict[str, GpuUnderLoad]

# So many GPUs have a line; HGX nodes have 8, NVL72 trays 4.
MOST_LINES = 16
# Values of a picture, of all figures and GPUs: 40 moments of 8 GPUs.
_VALUES = 1280
_MOST_MOMENTS = 60
# As the judge names what NVML calls so.
_HELD_BACK = "SW thermal slowdown"
_CLOCK_SETTING = "clock setting"
_LONGEST = 200
# Behind all that nvidia-smi numbers.
_UNSEEN = 1000


def node_traces(gate: LoadGate, records: Sequence[RawRecord], node: str, named: Collection[str]) -> Iterator[LoadTrace | MissingTrace]:
    """The load of a node by a gate, and its repeat where there was one; `named`: GPUs that results to look at name."""
    own = [r for r in records if (r.gate, r.node) == (gate.name, node)]
    repeated = any(r.step.startswith(f"{AGAIN}.") for r in own)
    for is_again in (False, True) if repeated else (False,):
        step = f"{AGAIN}.{TRACE}" if is_again else TRACE
        found = next((r for r in own if r.step == step), None)
        yield MissingTrace(is_again, NoPicture.NO_TRACE) if found is None else _drawn(gate, found, named, is_again=is_again)


def _drawn(gate: LoadGate, record: RawRecord, named: Collection[str], *, is_again: bool) -> LoadTrace | MissingTrace:
    samples = sorted((s for s in record.trace if not s.device), key=lambda s: s.at_s)
    if not samples:
        return MissingTrace(is_again, NoPicture.NOT_TRACED, record.error)
    read = [_answer(gate, s) for s in samples]
    answers = [{} if isinstance(one, str) else one for one in read]
    unread = [(s.at_s, one) for s, one in zip(samples, read, strict=True) if isinstance(one, str)]
    if not any(answers):
        return MissingTrace(is_again, NoPicture.UNREADABLE, unread[0][1])
    working = [row for answer in answers for row in answer.values() if not row.idle]
    if not working:
        return MissingTrace(is_again, NoPicture.IDLE)
    if all(getattr(row, figure.field) is None for row in working for figure in LOAD_FIGURES):
        return MissingTrace(is_again, NoPicture.NO_VALUES)
    numbers = {device: row.index for answer in answers for device, row in answer.items()}
    last = max(i for i, answer in enumerate(answers) if answer)
    seen = {device: [i for i, answer in enumerate(answers) if device in answer] for device in (*numbers, *named) if device}
    marked = {device for device, places in seen.items() if device in named or places[-1] < last}
    ordered = sorted(seen, key=lambda d: (d not in marked, numbers.get(d, _UNSEEN), d))
    kept = ordered[:MOST_LINES]
    stretches = _stretches(len(samples), len(kept))
    times = [s.at_s for s in samples]
    gone = {d: times[places[-1]] for d, places in seen.items() if places and places[-1] < last}
    return LoadTrace(
        is_again=is_again,
        simulated=record.simulated,
        span_s=(times[0], times[-1]),
        moments=tuple(times[s[len(s) // 2]] for s in stretches),
        gpus=tuple(_gpu(d, [a.get(d) for a in answers], times, stretches, is_named=d in marked, last_s=gone.get(d)) for d in kept),
        not_drawn=len(ordered) - len(kept),
        samples=len(samples),
        unread=len(unread),
        unread_s=unread[0][0] if unread else 0.0,
        unread_text=unread[0][1] if unread else "",
    )


def _answer(gate: LoadGate, sample: TraceSample) -> Answer | str:
    """The GPUs of a sample by name; or what it shows instead."""
    first = next((line.strip() for line in sample.stdout.splitlines() if line.strip()), "")[:_LONGEST]
    if sample.exit_status != 0:
        return first
    try:
        return {f"gpu{row.index}": row for row in gate.read_load(sample.stdout)}
    except UnreadableGpuError as e:
        return first and str(e)[:_LONGEST]


def _stretches(samples: int, gpus: int) -> list[range]:
    """The samples of each moment, by place."""
    count = min(samples, _MOST_MOMENTS, _VALUES // (gpus * len(LOAD_FIGURES)))
    return [range(i * samples // count, (i + 1) * samples // count) for i in range(count)]


def _reasons_of(row: GpuUnderLoad) -> tuple[str, ...]:
    return (*row.slowdowns, *((_HELD_BACK,) if row.held_back else ()), *((_CLOCK_SETTING,) if row.clock_setting else ()))


def _gpu(
    device: str,
    rows: Sequence[GpuUnderLoad | None],
    times: Sequence[float],
    stretches: Sequence[range],
    *,
    is_named: bool,
    last_s: float | None,
) -> GpuLoad:
    working = [None if row is None or row.idle else row for row in rows]
    values = [[None if row is None else getattr(row, figure.field) for row in working] for figure in LOAD_FIGURES]
    slowed = [i for i, row in enumerate(working) if row and _reasons_of(row)]
    held = frozenset(slowed)
    reasons = [name for row in working if row for name in _reasons_of(row)]
    return GpuLoad(
        device=device,
        is_named=is_named,
        values=tuple(_thinned(column, stretches) for column in values),
        ends=tuple(_ends(column) for column in values),
        slowed=tuple(place for place, stretch in enumerate(stretches) if any(i in held for i in stretch)),
        reasons=tuple(dict.fromkeys(reasons)),
        slowed_samples=len(slowed),
        slowed_s=(times[slowed[0]], times[slowed[-1]]) if slowed else None,
        idle_samples=sum(row is not None and row.idle for row in rows),
        samples=sum(row is not None for row in rows),
        last_s=last_s,
    )


def _thinned(column: Sequence[float | None], stretches: Sequence[range]) -> tuple[float | None, ...]:
    """Of each stretch the value that is farthest from the usual one: a moment that is not as the others stays in the picture."""
    known = [v for v in column if v is not None]
    middle = median(known) if known else 0.0

    def shown(stretch: range) -> float | None:
        return max((v for v in (column[i] for i in stretch) if v is not None), key=lambda v: abs(v - middle), default=None)

    return tuple(map(shown, stretches))


def _ends(column: Sequence[float | None]) -> tuple[float, float] | None:
    known = [v for v in column if v is not None]
    return (min(known), max(known)) if known else None
