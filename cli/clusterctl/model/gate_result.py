"""The currency of burn-in: raw records (measured), samples (parsed), gate results (judged)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from clusterctl_validators.finding import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Baseline", "BaselineKind", "GateResult", "Outcome", "RawRecord", "Sample"]


@dataclass(frozen=True, slots=True)
class RawRecord:
    """One command as it ran on one node: nothing parsed, nothing judged.

    Attributes:
        gate: `dcgm_diag`, `rdma_pair`, `nccl_node`, `nccl_group` ...
        step: unique within gate and node, e.g. `round2.rail3.client`.
        tool: the parser's name: `dcgmi_diag`, `perftest`, `nccl_tests` ...
        device: GPU or HCA under test, empty where the whole node is.
        peer: the other node of a pair; `peers`: all nodes of a group run, this one included.
        exit_status: None where the command never started or was ended by its time limit.
        error: why there is no exit status (`timed out after 60 s`, `not installed`).
        simulated: the numbers come from a lab, not from hardware.
        attempts: how often the command was started until its peer answered.
    """

    gate: str
    step: str
    tool: str
    node: str
    argv: tuple[str, ...]
    started_at: str
    duration_s: float
    exit_status: int | None
    stdout: str
    stderr: str
    device: str = ""
    peer: str = ""
    peer_device: str = ""
    peers: tuple[str, ...] = ()
    error: str = ""
    tool_version: str = ""
    simulated: bool = False
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Sample:
    """One number (or verdict) a tool printed.

    Attributes:
        metric: `busbw`, `bandwidth_average`, `wrong`, `diag_memory` ...
        value: in `unit`; for verdict-like metrics 1.0 = pass, 0.0 = fail.
        op: `all_reduce`, `ib_write_bw` ...; transport: `NET/IB`, `NVLS`, `NET/Socket` ... where the tool says.
        status: the tool's own word for a verdict (`Pass`, `Skip`, `Warn` ...); empty for numbers.
    """

    metric: str
    value: float
    unit: str
    node: str = ""
    device: str = ""
    peer: str = ""
    peer_device: str = ""
    size_bytes: int | None = None
    op: str = ""
    transport: str = ""
    detail: str = ""
    status: str = ""


class BaselineKind(StrEnum):
    """A floor must be reached, a ceiling not passed (above it is a measuring error), expected is for people."""

    FLOOR = "floor"
    CEILING = "ceiling"
    EXPECTED = "expected"


@dataclass(frozen=True, slots=True)
class Baseline:
    """A number with its provenance; `source`, `date` and `unit` are never empty.

    Attributes:
        nodes: number of nodes it holds for; None = any number.
        size_bytes: message size it holds for; None = the tool's own average or only figure.
        n, spread: how many measurements it rests on, and their relative spread.
        tolerance_percent: only for `expected`: the node may be this much below it; a floor is a limit already.
    """

    gate: str
    metric: str
    kind: BaselineKind
    value: float
    unit: str
    source: str
    date: str
    expires: str = ""
    sku: str = ""
    fabric: str = ""
    nodes: int | None = None
    size_bytes: int | None = None
    op: str = ""
    n: int | None = None
    spread: float | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    tolerance_percent: float = 0.0

    @property
    def limit(self) -> float:
        """The number a measurement is compared with."""
        return self.value * (1 - self.tolerance_percent / 100)


@dataclass(frozen=True, slots=True)
class GateResult:
    """The verdict of one rule on one node (or one of its devices).

    Attributes:
        rule: `floor`, `ceiling`, `correctness`, `transport`, `complete`, `exit_status` ...
        source: provenance of the expectation.
        detail: what else was seen (`both partners were fine with others`).
        hint: what to do next.
    """

    gate: str
    node: str
    outcome: Outcome
    rule: str
    metric: str = ""
    expected: str = ""
    found: str = ""
    device: str = ""
    peers: tuple[str, ...] = ()
    source: str = ""
    detail: str = ""
    hint: str = ""
    simulated: bool = False
