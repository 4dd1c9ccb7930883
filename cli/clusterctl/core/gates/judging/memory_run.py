"""What a run of stressapptest shows about the memory of a node, and what it does not prove. Pure."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.core.gates.judging.reading import Reading
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl_tools.host_memory import MemoryLoad, read_load
from clusterctl_tools.stressapptest import StressRun, read_stress

if TYPE_CHECKING:
    from clusterctl.model.gate_result import RawRecord

METRIC = "hardware_incidents"
_RULE = "content"
_WORDS = "worker.cc of stressapptest (CheckRegion): 64-bit words that differ from the pattern that was written"
_POISON = "mm/memory-failure.c of Linux: a program that uses a page with an uncorrected error gets SIGBUS"
_LEAST_SHARE = 0.9
# Two of five pages begin as empty ones, and are compared only after they were a copy's destination (InitializePages in sat.cc); copies choose at random.
# By arithmetic: after n copies of everything 0.4 x exp(-2.5 n) of the memory was never read back, with 2 this is 0.3 %.
_LEAST_COPIES = 2.0


@dataclass(frozen=True, slots=True)
class MemoryRun:
    """The output of one run.

    Attributes:
        load: the lines about the memory and the end; None where they are missing or cut off.
        stress: what stressapptest printed; None where it is not its output.
    """

    load: MemoryLoad | None
    stress: StressRun | None

    @property
    def signal(self) -> int:
        """Which ended stressapptest; 0 for none."""
        return max(0, -(self.load.exit_status or 0)) if self.load else 0

    @property
    def ended_by(self) -> str:
        """What went wrong beside the memory, for people; empty where the output does not show it."""
        if self.load is None:
            return ""
        ended = f"stressapptest was ended by signal {self.signal}" if self.signal else ""
        lack = f"processes that the kernel ended for lack of memory: {self.load.oom_kills}" if self.load.oom_kills else ""
        return "; ".join(filter(None, (self.load.problem, ended, lack, self.stress.complaint if self.stress else "")))


def memory_run(record: RawRecord) -> MemoryRun:
    """The output of a record, complete or not."""
    try:
        load = read_load(record.stdout)
    except ValueError:
        load = None
    try:
        return MemoryRun(load, read_stress(record.stdout))
    except ValueError:
        return MemoryRun(load, None)


def wrong_memory(record: RawRecord, run: MemoryRun) -> GateResult | None:
    """A failure where the output shows a fault of the memory, also one that was cut off later; None where it shows none."""
    stress = run.stress
    if stress and stress.incidents:
        first = f"; the first: {stress.where}" if stress.where else ""
        detail = f"words of memory that were read otherwise than written: {stress.incidents}{first}"
        return _about(record, Outcome.FAIL, stress.incidents, detail, source=_WORDS, reason=GateReason.WRONG_CONTENT)
    # Huge pages that run out have the same signal.
    if stress and run.signal == signal.SIGBUS and stress.tested_mib and not stress.hugepages:
        detail = "the kernel ended stressapptest because of an uncorrected error in its memory (SIGBUS)"
        return _about(record, Outcome.FAIL, 1, detail, source=_POISON, reason=GateReason.TEST_FAILED)
    return None


def unproven_memory(run: MemoryRun, least_percent: int) -> Reading | None:
    """Why a run without incidents is not a pass; None where it is one."""
    load, stress = run.load, run.stress
    if load is None or stress is None or load.problem or not load.node_mib or load.exit_status != 0 or not stress.passed:
        return Reading((), "complete", GateReason.INCOMPLETE, "its verdict, or its line about the memory or the end, is missing")
    tested, requested_s, ran_s = stress.tested_mib or 0, stress.requested_s or 0, stress.ran_s or 0.0
    if not tested or tested != load.asked_mib:
        return Reading((), "complete", GateReason.WRONG_RUN, f"{tested} MiB were tested, {load.asked_mib} were requested")
    if tested * 100 < least_percent * load.node_mib:
        detail = f"{tested} of the node's {load.node_mib} MiB were tested, {least_percent} % must be; {load.free_mib} MiB were free"
        return Reading((), "coverage", GateReason.NO_SPACE, detail)
    if not requested_s or ran_s < _LEAST_SHARE * requested_s:
        return Reading((), "complete", GateReason.WRONG_RUN, f"the memory was loaded for {limit_text(ran_s)} of {requested_s} s")
    if copies(stress) < _LEAST_COPIES:
        detail = f"copies of each MiB on average: {limit_text(copies(stress))}, needed: {limit_text(_LEAST_COPIES)}"
        return Reading((), "coverage", GateReason.WRONG_RUN, detail)
    return None


def copies(stress: StressRun) -> float:
    """How often each MiB was copied on average."""
    return stress.copied_mib / 2 / stress.tested_mib if stress.tested_mib else 0.0


def right_memory(record: RawRecord, run: MemoryRun) -> GateResult:
    """The pass of a run that proves it."""
    stress, node_mib = run.stress, run.load.node_mib if run.load else 0
    tested_text = f"{stress.tested_mib} of {node_mib} MiB, each copied {limit_text(copies(stress))} times on average" if stress else ""
    return _about(record, Outcome.PASS, 0, "; ".join(filter(None, (tested_text, run.ended_by))), source=_WORDS)


def _about(record: RawRecord, outcome: Outcome, count: int, detail: str, *, source: str, reason: GateReason | None = None) -> GateResult:
    return GateResult(
        gate=record.gate,
        node=record.node,
        outcome=outcome,
        rule=_RULE,
        metric=METRIC,
        expected="0",
        found=str(count),
        source=source,
        detail=detail,
        reason=reason,
        value=float(count),
        limit=0.0,
    )
