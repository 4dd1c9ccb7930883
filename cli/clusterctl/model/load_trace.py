"""What the GPUs of a node showed while a gate loaded them, as far as a picture needs it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class LoadFigure(NamedTuple):
    """A figure that is drawn over the time of a load; `field`: of GpuUnderLoad."""

    field: str
    name: str
    unit: str


LOAD_FIGURES = (
    LoadFigure("clock_mhz", "SM clock", "MHz"),
    LoadFigure("power_w", "power", "W"),
    LoadFigure("temperature_c", "temperature", "C"),
    LoadFigure("margin_c", "margin to the slowdown", "C"),
)


class NoPicture(StrEnum):
    """Why a load is not drawn."""

    NO_ROOM = "no_room"
    NO_RECORDS = "no_records"
    DAMAGED = "damaged"
    NO_TRACE = "no_trace"
    NOT_TRACED = "not_traced"
    UNREADABLE = "unreadable"
    IDLE = "idle"
    NO_VALUES = "no_values"


@dataclass(frozen=True, slots=True)
class GpuLoad:
    """One GPU over the time of a load; moments at which it was idle have no values.

    Attributes:
        is_named: a result that is not a pass names it, or it vanished.
        values: of each of LOAD_FIGURES, a value for each moment of the trace; None where there is none.
        ends: of each of LOAD_FIGURES, the lowest and the highest value of all samples; None where there is none.
        slowed: the moments, by place, at which its clock was throttled.
        reasons: what did, as the vendor names it.
        slowed_samples, idle_samples, samples: how many samples show that, and how many show the GPU.
        slowed_s: seconds of the first and the last sample that show it slowed; None where none does.
        last_s: when it was seen last, where other GPUs were seen later; None for all others.
    """

    device: str
    is_named: bool
    values: tuple[tuple[float | None, ...], ...]
    ends: tuple[tuple[float, float] | None, ...]
    slowed: tuple[int, ...]
    reasons: tuple[str, ...]
    slowed_samples: int
    slowed_s: tuple[float, float] | None
    idle_samples: int
    samples: int
    last_s: float | None


@dataclass(frozen=True, slots=True)
class LoadTrace:
    """A load of all GPUs of a node.

    Attributes:
        is_again: the repeat of a load.
        span_s: seconds of the first and the last sample.
        moments: seconds, of several samples each where there are more samples than a picture needs.
        gpus: those that are named first.
        not_drawn: how many other GPUs were seen.
        samples, unread: how many there are, and how many of them are not readable.
        unread_s, unread_text: when the first of these was due, and what it had printed.
    """

    is_again: bool
    simulated: bool
    span_s: tuple[float, float]
    moments: tuple[float, ...]
    gpus: tuple[GpuLoad, ...]
    not_drawn: int
    samples: int
    unread: int
    unread_s: float
    unread_text: str


@dataclass(frozen=True, slots=True)
class MissingTrace:
    """A load that is not drawn. `detail`: what was found instead."""

    is_again: bool
    why: NoPicture
    detail: str = ""


@dataclass(frozen=True, slots=True)
class NodeLoads:
    """The load of a node by a gate that has something to look at, and its repeat.

    Attributes:
        gate: its name.
        run: the run that measured them, where it is not that of the report; else empty.
    """

    node: str
    gate: str
    run: str
    loads: tuple[LoadTrace | MissingTrace, ...]
