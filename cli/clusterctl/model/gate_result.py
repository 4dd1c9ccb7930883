"""The currency of burn-in: raw records (measured), samples (parsed), gate results (judged)."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 pydantic reads the annotations when the schemas are generated
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from clusterctl.model.exit_codes import ExitCode, worst
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.repair import NO_REPAIR, Repair
from clusterctl_validators.finding import GOOD, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.pcie_hop import PcieHop
    from clusterctl.model.trace_sample import TraceSample

__all__ = ["Baseline", "BaselineKind", "Figure", "GateResult", "Outcome", "RawRecord", "Sample", "gates_exit_code"]


@dataclass(frozen=True, slots=True)
class RawRecord:
    """One command as it ran on one node: nothing parsed, nothing judged.

    Attributes:
        gate: `dcgm_diag`, `rdma_pair`, `nccl_node`, `nccl_group` ...
        step: unique within gate and node, e.g. `round2.rail3.turn1.client`.
        tool: the parser's name: `dcgmi_diag`, `perftest`, `nccl_tests` ...
        device: GPU or HCA under test, empty where the whole node is.
        peer: the other node of a pair; `peers`: all nodes of a group run, this one included.
        exit_status: None where the command never started or was ended by its time limit.
        error: why there is no exit status, for people (`timed out after 60 s`).
        error_code: the same as a code; None where there is an exit status.
        simulated: the numbers come from a lab, not from hardware.
        attempts: how often the command was started until its peer answered.
        placement: the NUMA node that the command was bound to, or why not, for people; empty where it was not to be bound.
        unpinned: it was to be bound, and its CPUs or its memory are not.
        links: the PCIe links above the devices that it loads, sampled while it ran; empty where none were to be sampled.
        trace: what a short command printed again and again while it ran; empty where none was to be run.
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
    error_code: GateReason | None = None
    placement: str = ""
    unpinned: bool = False
    links: tuple[PcieHop, ...] = ()
    trace: tuple[TraceSample, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One number (or verdict) a tool printed.

    Attributes:
        metric: `busbw`, `bandwidth_average`, `wrong`, `diag_memory` ...
        value: in `unit`; for verdict-like metrics 1.0 = pass, 0.0 = fail.
        op: `all_reduce`, `ib_write_bw` ...; transport: `NET/IB`, `NVLS`, `NET/Socket` ... where the tool reports it.
        status: the tool's own word for a verdict (`Pass`, `Skip`, `Warn` ...); empty for numbers.
        codes: the tool's own numbers for the errors behind a verdict (`error_id` of DCGM); empty where it prints none.
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
    codes: tuple[int, ...] = ()


class BaselineKind(StrEnum):
    """A floor must be reached, an upper limit kept, a ceiling not passed (above it is a measuring error), expected is for people."""

    FLOOR = "floor"
    UPPER_LIMIT = "upper_limit"
    CEILING = "ceiling"
    EXPECTED = "expected"


@dataclass(frozen=True, slots=True)
class Baseline:
    """A number with its provenance; `source`, `date` and `unit` are never empty.

    Attributes:
        nodes: number of nodes it holds for; None = any number, or those from `nodes_min` to `nodes_max`, both included.
        size_bytes: message size it holds for; None = the tool's own average or only figure.
        n, spread: how many measurements it rests on, and their relative spread.
        tolerance_percent: only for `expected`: the node may be this much below it; a floor is a limit already.
        reason: why it is far below the best published number for such nodes; empty where it is not.
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
    nodes_min: int | None = None
    nodes_max: int | None = None
    size_bytes: int | None = None
    op: str = ""
    n: int | None = None
    spread: float | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    tolerance_percent: float = 0.0
    reason: str = ""

    @property
    def limit(self) -> float:
        """The number a measurement is compared with."""
        return self.value * (1 - self.tolerance_percent / 100)

    @property
    def figure(self) -> Figure:
        """What it limits."""
        return Figure(self.gate, self.metric, self.unit, self.op, self.size_bytes or 0)

    def holds_for(self, nodes: int) -> bool:
        """Whether it applies to a run over this number of nodes."""
        if self.nodes is not None:
            return self.nodes == nodes
        return (self.nodes_min or nodes) <= nodes <= (self.nodes_max or nodes)


@dataclass(frozen=True, slots=True, order=True)
class Figure:
    """A number that gates measure: values of equal figures can be compared.

    Attributes:
        size_bytes: of the messages; 0 where the figure has none.
    """

    gate: str
    metric: str
    unit: str
    op: str = ""
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class DeviceValue:
    """What one device of a node read, in the unit of its result."""

    device: str
    value: float


@dataclass(frozen=True, slots=True)
class GateResult:
    """The verdict of one rule on one node (or one of its devices).

    Attributes:
        rule: `floor`, `upper_limit`, `ceiling`, `correctness`, `transport`, `complete`, `link`, `exit_status` ...
        expected, found: for people, with their units.
        source: provenance of the expectation.
        detail: what else was seen (`both partners were fine with others`).
        hint: what to do next.
        reason: why it is not a pass; None for a pass, and for results stored before there were reasons.
        value, limit: what was measured and what it was compared with, in `unit`; None where the rule compares no numbers.
        observed: the outcome that it had, where its gate or rule is observed and does not decide; None for all others.
        boot_id: the boot of the node in which it was seen, as the kernel names it; empty where the gate does not report it.
        op, size_bytes: operation and message size of the figure; empty and None where its baseline names none.
        tool_version: of the tool that measured it; empty where it is not known.
        best: of a device that was measured with several others, what it read with the best of them; None where `value` is all.
        error_code: the vendor's own code of the error: `xid.79`, `sxid.12028`, `dcgm.52`; empty where it has none.
        repair: what it is about and what to do first, where that depends on more than its other fields; `core.repairs` has it for all others.
        by_device: what each device of the node read, in `unit`, where `value` is the worst of them; empty where it is of one device, or of none.
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
    reason: GateReason | None = None
    value: float | None = None
    limit: float | None = None
    unit: str = ""
    boot_id: str = ""
    observed: Outcome | None = None
    op: str = ""
    size_bytes: int | None = None
    tool_version: str = ""
    best: float | None = None
    by_device: tuple[DeviceValue, ...] = ()
    error_code: str = ""
    repair: Repair = NO_REPAIR

    @property
    def own_value(self) -> float | None:
        """What the device itself can do, as far as it was seen: a collision, or a slower partner, spoils one meeting and not the best."""
        return self.value if self.best is None else self.best

    @property
    def figure(self) -> Figure:
        """What its value is a figure of."""
        return Figure(self.gate, self.metric, self.unit, self.op, self.size_bytes or 0)


def gates_exit_code(results: Sequence[GateResult]) -> ExitCode:
    """The exit code of a burn-in or a judgement: 0, 7 where a gate did not pass, 4 where a node was not reached; no result at all is not a success."""
    bad = [r for r in results if r.outcome not in GOOD]
    codes = [ExitCode.GATE_FAILED] if bad or not results else []
    lost = any(r.reason is GateReason.NODE_UNREACHABLE for r in bad)
    return worst([*codes, *([ExitCode.UNREACHABLE] if lost else [])])
