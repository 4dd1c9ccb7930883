"""What GPUs showed under load, in words: for those who do not see the picture, and why there is none. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clusterctl.model.load_trace import LOAD_FIGURES, LoadTrace, NoPicture
from clusterctl.model.running_text import counted
from clusterctl.report.curve_rows import number_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clusterctl.model.load_trace import GpuLoad, MissingTrace, NodeLoads

_WHY = {
    NoPicture.NO_ROOM: "a page has room for so many loads, worst first, and this is not one of them",
    NoPicture.NO_RECORDS: "the run directory has no raw records of it",
    NoPicture.DAMAGED: "its raw records cannot be read",
    NoPicture.NO_TRACE: "its raw records have no trace of clocks, power and temperatures",
    NoPicture.NOT_TRACED: "its trace has no samples",
    NoPicture.UNREADABLE: "no sample of its trace can be read",
    NoPicture.IDLE: "no sample of its trace shows a GPU at work",
    NoPicture.NO_VALUES: "nvidia-smi reports neither clock nor power nor temperature",
}


class LoadWords(NamedTuple):
    """A GPU under load, or all others of its node, as a row of a table has it."""

    node: str
    measured: str
    gpu: str
    clock: str
    power: str
    temperature: str
    margin: str
    slowdown: str
    simulated: bool


def load_words(loads: Iterable[NodeLoads]) -> Iterator[LoadWords]:
    """Each GPU that a result names, and the others of its node together; or why there is no picture."""
    for node in loads:
        for load in node.loads:
            measured = measured_text(node, load)
            if not isinstance(load, LoadTrace):
                if load.why is not NoPicture.NO_ROOM:
                    yield LoadWords(node.node, measured, "", "", "", "", "", why_text(load), simulated=False)
                continue
            named, others = [g for g in load.gpus if g.is_named], [g for g in load.gpus if not g.is_named]
            for gpus in (*([g] for g in named), *([others] if others else [])):
                clock, power, temperature, margin = (ends_of(gpus, place) for place in range(len(LOAD_FIGURES)))
                remarks = "; ".join(dict.fromkeys(remark_text(g, load) for g in gpus if g.is_named or g.slowed_samples))
                yield LoadWords(
                    node.node,
                    measured,
                    gpus_text(gpus),
                    clock,
                    power,
                    temperature,
                    margin,
                    remarks or "none",
                    simulated=load.simulated,
                )


def loads_without_room(loads: Iterable[NodeLoads]) -> int:
    """How many have no picture because others were worse."""
    return sum(not isinstance(load, LoadTrace) and load.why is NoPicture.NO_ROOM for node in loads for load in node.loads)


def measured_text(node: NodeLoads, load: LoadTrace | MissingTrace) -> str:
    """`gpu_stress: the load`, `gpu_stress: the repeat of the load`, with the run that measured it where it is an earlier one."""
    return f"{node.gate}: {'the repeat of the load' if load.is_again else 'the load'}" + (f", from {node.run}" if node.run else "")


def gpus_text(gpus: Sequence[GpuLoad]) -> str:
    """One by its name, those that no result names by their number."""
    return gpus[0].device if len(gpus) == 1 else counted(len(gpus), "other")


def why_text(missing: MissingTrace) -> str:
    """Why there is no picture."""
    return f"not drawn: {_WHY[missing.why]}" + (f": {missing.detail}" if missing.detail else "")


def ends_text(ends: tuple[float, float] | None, unit: str) -> str:
    """`742 to 1485 MHz`."""
    if ends is None:
        return ""
    return f"{' to '.join(dict.fromkeys(map(number_text, ends)))} {unit}"


def remark_text(gpu: GpuLoad, load: LoadTrace) -> str:
    """What held a GPU back and when, whether it was idle, and when it was seen last."""
    if not gpu.samples:
        return "nvidia-smi never showed it"
    remarks = []
    if gpu.slowed_s:
        times = ends_text(gpu.slowed_s, "s")
        remarks.append(f"{', '.join(gpu.reasons)} in {gpu.slowed_samples} of {counted(gpu.samples, 'sample')}, at {times}")
    if gpu.idle_samples:
        remarks.append(f"idle in {gpu.idle_samples} of {counted(gpu.samples, 'sample')}")
    if gpu.last_s is not None:
        remarks.append(f"seen last at {number_text(gpu.last_s)} of {number_text(load.span_s[1])} s")
    return "; ".join(remarks) or "none"


def notes(load: LoadTrace) -> Iterator[str]:
    """What is not in the picture."""
    if load.unread:
        printed = load.unread_text or "nvidia-smi printed nothing"
        yield f"{load.unread} of {counted(load.samples, 'sample')} cannot be read, the first at {number_text(load.unread_s)} s: {printed}"
    if load.not_drawn:
        yield f"not drawn: {counted(load.not_drawn, 'other GPU')}"


def ends_of(gpus: Sequence[GpuLoad], place: int) -> str:
    """From the lowest to the highest value of some GPUs, in one of LOAD_FIGURES; empty where they have none."""
    known = [ends for gpu in gpus if (ends := gpu.ends[place])]
    ends = (min(low for low, _ in known), max(high for _, high in known)) if known else None
    return ends_text(ends, LOAD_FIGURES[place].unit)
