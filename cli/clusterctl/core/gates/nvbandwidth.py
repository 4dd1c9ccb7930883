"""nvbandwidth: copies between host and GPUs, and between GPUs, of one node."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from clusterctl.core.gates.judging.limits import compare_with_limits
from clusterctl.core.gates.judging.reading import not_run
from clusterctl.core.gates.node_gate import NodeGate
from clusterctl.core.gates.pcie_links import judge_links
from clusterctl.core.gates.planning.devices import gpu_joins_of, gpu_model_of
from clusterctl.core.gates.settings import GateSettings
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Figure, GateResult, Outcome, RawRecord
from clusterctl.model.repair import Component, NextAction, Repair
from clusterctl.model.running_text import first_of
from clusterctl_validators.nvidia import ADVICE, PCI_FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from clusterctl.core.gates.judging.reading import Reading
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import Sample
    from clusterctl.model.level import Level

_NOT_READY = "CUDA_ERROR_SYSTEM_NOT_READY"
# kernels.cu prints the first, memcpy.cpp asserts on the second.
_CORRUPTION = re.compile(r"Invalid value when checking the pattern|errorFlag", re.IGNORECASE)
# CUDA driver API: the GPU or its links met an error that no correction undid.
_MEMORY_FAULT = re.compile(r"CUDA_ERROR_(ECC|NVLINK)_UNCORRECTABLE")
_BETWEEN_GPUS = "device_to_device"
_WAIVED = "Waived"
# GH200, GB200, GB300: GPUs and processors are on one board, and copies between them use no PCIe slot.
_WITH_GRACE = re.compile(r"NVIDIA G[BH]\d")
_SHOWN = 4
_OF_BOARD = Repair(Component.PCIE_LINK, NextAction.REBOOT_NODE)


class NvbandwidthSettings(GateSettings):
    """`nvbandwidth -j -t TESTCASE ...`.

    Attributes:
        testcases: as `nvbandwidth --list` names them; each is a metric of its own.
        pcie_links: sample the PCIe links above the GPUs meanwhile, and judge them.
    """

    testcases: Annotated[list[str], Field(min_length=1)] = ["host_to_device_memcpy_ce", "device_to_host_memcpy_ce"]
    pcie_links: bool = True


class Nvbandwidth(NodeGate[NvbandwidthSettings]):
    """Passes when every GPU (pair) reaches the floor of every declared testcase, and every PCIe link above the GPUs what both its ends can do."""

    name = "nvbandwidth"
    settings_model = NvbandwidthSettings
    tool = "nvbandwidth"
    installed_by = "gpu_tools"
    actions = {GateReason.FABRIC_NOT_READY: f"{ADVICE.fabric_not_ready}, then `clusterctl burnin {{node}}`"}
    default_levels = ("standard", "full")

    def argv(self, settings: NvbandwidthSettings, level: Level, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002 the same everywhere
        """`nvbandwidth` with its JSON output."""
        return ("nvbandwidth", "-j", "-t", *settings.testcases)

    def version_argv(self, settings: NvbandwidthSettings) -> tuple[str, ...]:  # noqa: ARG002 the same everywhere
        """Its help has the version in its first line."""
        return ("nvbandwidth", "--help")

    def links_of(self, settings: NvbandwidthSettings) -> str:
        """The GPUs."""
        return PCI_FUNCTIONS if settings.pcie_links else ""

    def verdicts(self, subject: Subject, record: RawRecord, reading: Reading) -> Sequence[GateResult]:
        """Errors of the tool, then testcases that did not finish or lack a GPU, then the limits."""
        settings = subject.profile.settings_of(self)
        declared = settings.testcases
        if errors := [s for s in reading.samples if s.metric == "error" or (s.detail and s.metric in declared)]:
            return [_failed(subject, s) for s in errors]
        if reading.rule:
            return (not_run(self, record, reading),)
        limits = [b for b in self.limits_of(subject, 1) if b.metric in declared]
        found = [gap for case in declared if (gap := _gap(subject, case, reading.samples)) is not None]
        lacking = {gap.metric for gap in found}
        gaps = [_not_possible(subject, gap, {b.metric for b in limits}) for gap in found]
        on_board = _WITH_GRACE.match(gpu_model_of(subject.node))
        judged = compare_with_limits(self.name, subject.name, reading.samples, limits, nodes=1)
        links = judge_links(self.name, subject, record.links) if settings.pcie_links else ()
        kept = (r for r in judged if r.metric not in lacking or r.outcome is Outcome.FAIL)
        shown = (r for r in self.not_limited(subject, reading.samples, limits) if r.metric not in lacking)
        return (*gaps, *(_of_board(r) if on_board else r for r in kept), *shown, *links)

    def limited_figures(self, settings: NvbandwidthSettings) -> tuple[Figure, ...]:
        """The bandwidth of each declared testcase; a testcase of latency has another unit."""
        return tuple(Figure(self.name, case, "GB/s") for case in settings.testcases)

    def hint(self, result: GateResult) -> str:  # noqa: ARG002 those of links bring their own
        """Bandwidth is lost in the PCIe link or in NVLink."""
        return ADVICE.slow_copy

    def usual_s(self, settings: NvbandwidthSettings, level: Level) -> float:  # noqa: ARG002 the same at all levels and settings
        """Assumed for three test cases."""
        return 120.0

    def not_proven(self, settings: NvbandwidthSettings, level: Level) -> str:  # noqa: ARG002 the same at all levels and settings
        """Copies take seconds."""
        return "copies over minutes, and between nodes"


def _of_board(result: GateResult) -> GateResult:
    """With the next action where a copy between host and GPU uses no slot."""
    slow = result.outcome is Outcome.FAIL and not result.metric.startswith(_BETWEEN_GPUS)
    return replace(result, hint=ADVICE.slow_copy_on_board, repair=_OF_BOARD) if slow else result


def _failed(subject: Subject, sample: Sample) -> GateResult:
    """The verdict on an error of the tool: only a failed comparison of what it copied is about the data (error_handling.h, memcpy.cpp)."""
    result = GateResult(
        gate=GATE.name,
        node=subject.name,
        outcome=Outcome.COULD_NOT_RUN,
        rule="complete",
        metric=sample.metric,
        expected="none",
        found="an error",
        detail=sample.detail,
        reason=GateReason.FABRIC_NOT_READY if _NOT_READY in sample.detail else GateReason.TOOL_FAILED,
    )
    if _CORRUPTION.search(sample.detail):
        source = "nvbandwidth checks what it copied"
        return replace(result, outcome=Outcome.FAIL, rule="correctness", source=source, reason=GateReason.WRONG_RESULTS)
    if _MEMORY_FAULT.search(sample.detail):
        return replace(result, outcome=Outcome.FAIL, reason=GateReason.TEST_FAILED)
    return result


def _gap(subject: Subject, case: str, samples: Sequence[Sample]) -> GateResult | None:
    """What a testcase did not measure; None where every GPU, or every two GPUs, have a number."""
    own = [s for s in samples if s.metric == case]
    unfinished = next((s.status for s in own if s.status), "")
    gpus = [f"gpu{i}" for i in range(subject.gpus)]
    measured = {(s.device, s.peer_device) for s in own}
    wanted = permutations(gpus, 2) if case.startswith(_BETWEEN_GPUS) else ((gpu, "") for gpu in gpus)
    missing = [pair for pair in wanted if pair not in measured]
    if own and not unfinished and not missing:
        return None
    names = first_of([" to ".join(filter(None, pair)) for pair in missing], _SHOWN)
    detail = f"testcase {case} is {unfinished}" if unfinished else f"testcase {case} has no number for {names or 'any GPU'}"
    return GateResult(
        gate=GATE.name,
        node=subject.name,
        outcome=Outcome.COULD_NOT_RUN,
        rule="complete",
        metric=case,
        expected="Passed" if unfinished else "a number for every GPU",
        found=unfinished or f"{len(missing)} missing",
        device=missing[0][0] if len(missing) == 1 else "",
        detail=detail,
        reason=GateReason.INCOMPLETE,
    )


def _not_possible(subject: Subject, gap: GateResult, limited: Collection[str]) -> GateResult:
    """Copies between GPUs without NVLink that the tool waived, and for which nothing is declared: where the machine gives GPUs no access to each other (recorded L40S)."""
    links, _ = gpu_joins_of(subject.node)
    if links != 0 or gap.found != _WAIVED or not gap.metric.startswith(_BETWEEN_GPUS) or gap.metric in limited:
        return gap
    detail = f"{gap.detail}: these GPUs have no NVLink, and no access to each other; declare a floor where they must have it"
    return replace(gap, outcome=Outcome.NOT_APPLICABLE, rule="coverage", reason=GateReason.NOT_COVERED, detail=detail)


GATE = Nvbandwidth()
