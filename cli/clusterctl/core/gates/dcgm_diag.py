"""dcgm_diag: every required test must be Pass on every GPU, and mean it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from clusterctl.core.gates.dcgm_errors import DcgmVerdict, error_titles, explained_errors, verdict_of
from clusterctl.core.gates.judging.reading import Reading, not_run
from clusterctl.core.gates.node_gate import NodeGate
from clusterctl.core.gates.settings import GateSettings, Seconds, at_level
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord
from clusterctl.model.level import LEVELS, Level
from clusterctl.model.running_text import counted
from clusterctl_validators.nvidia import ADVICE
from clusterctl_validators.nvidia_processes import DIAGNOSTICS_DAEMON

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import Sample

_RunLevel = Annotated[int, Field(ge=1, le=4)]
# DCGM 3 splits what DCGM 4 calls `software` into these, once per node.
_SOFTWARE_3 = ("nvml_library", "cuda_main_library", "permissions_and_os_blocks", "persistence_mode", "environment_variables", "inforom")
_NOT_ALLOCATED = re.compile(
    r"(fail\w*|unable|could ?n.t|could not|cannot|error|insufficient)\b[^.;]{0,80}alloc|alloc\w*[^.;]{0,60}\b(fail|error)|out of memory",
    re.IGNORECASE,
)
_PERSISTENCE = re.compile("persistence", re.IGNORECASE)
_ROW_REMAP = re.compile("row remap|remapp", re.IGNORECASE)
_ROW_REMAP_DUE = re.compile(r"(row.?remap\w*|remapping)[^.;]{0,80}(pending|fail)|pending[^.;]{0,40}row.?remap", re.IGNORECASE)
# In outputs without codes, DCGM_FR_INTERNAL ("There was an internal error during the test: '...'", recordings of 4.4.1): the test did not take place.
_OWN_ERROR = re.compile(r"internal error during the test|child process|could ?n.t be parsed|cannot load plugins", re.IGNORECASE)
# Tests of memory, whose failure requires a field diagnostic (DCGM_FR_FAULTY_MEMORY in NVSentinel's dcgmerrorsmapping.csv), not for a reset.
_MEMORY = frozenset({"memory", "memtest"})
# Tests that put load on a GPU's memory and cores.
_STRESS = frozenset({"memory_bandwidth", "diagnostic", "targeted_stress", "targeted_power", "pulse_test"})
_DETAIL_LIMIT = 600
# Two to ten minutes for level 2, 20 to 30 for 3 (Azure, AWS), 45 minutes to 2.25 hours for 4 (DCGM user guide; Azure's and AWS's suites).
_USUAL_S = {1: 20, 2: 300, 3: 1500, 4: 5400}
_NOT_PROVEN = {
    1: "anything under load: it checks driver, software and settings",
    2: "what shows under sustained load: memory is allocated and copies are made for two minutes",
    3: "bad cells of memory, and wrong results that its few patterns do not bring out",
    4: "wrong results of other instructions and data than its own; the diagnostics of vendors test more",
}
_SOURCE = "required_tests of the node's profile; a Skip is not a Pass"


class DcgmDiagSettings(GateSettings):
    """`dcgmi diag -r LEVEL -j`.

    Attributes:
        diag_level: DCGM's own run level, for all burn-in levels or for each.
        required_tests: tests that must be Pass on every GPU, by run level; a Skip is not a Pass. Not `pulse_test`: which GPUs it supports is not
            confirmed, and DCGM skips it on others. If it fails, the node does, as with every test.
        parameters: `test.name=value`, passed as `-p`.
    """

    diag_level: _RunLevel | dict[Level, _RunLevel] = {"quick": 1, "standard": 2, "full": 4}
    timeout_s: Seconds | dict[Level, Seconds] = {"quick": 300, "standard": 1200, "full": 12600}
    required_tests: dict[Annotated[int, Field(ge=1, le=4, strict=False)], list[str]] = {
        1: ["software"],
        2: ["software", "memory", "pcie"],
        3: ["software", "memory", "pcie", "diagnostic", "targeted_stress", "targeted_power"],
        4: ["software", "memory", "pcie", "diagnostic", "targeted_stress", "targeted_power", "memtest"],
    }
    parameters: list[str] = []


class DcgmDiag(NodeGate[DcgmDiagSettings]):
    """Passes when every required test is Pass on every GPU; a Skip, a Warn and a Pass with a failed allocation are none."""

    name = "dcgm_diag"
    settings_model = DcgmDiagSettings
    tool = "dcgmi_diag"
    installed_by = "gpu_tools"
    works_through = (DIAGNOSTICS_DAEMON,)
    default_levels = LEVELS
    needs_floor = False

    def argv(self, settings: DcgmDiagSettings, level: Level, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002 the same for all nodes
        """`dcgmi diag` with its JSON output."""
        parameters = ("-p", ";".join(settings.parameters)) if settings.parameters else ()
        return ("dcgmi", "diag", "-r", str(at_level(settings.diag_level, level)), *parameters, "-j")

    def version_argv(self, settings: DcgmDiagSettings) -> tuple[str, ...]:  # noqa: ARG002 the same everywhere
        """Of dcgmi, which has the version of DCGM."""
        return ("dcgmi", "--version")

    def verdicts(self, subject: Subject, record: RawRecord, reading: Reading) -> Sequence[GateResult]:
        """One result per required test: the GPUs where it did not pass, or one pass for all of them; and every other test that failed."""
        required = _required(record, subject.profile.settings_of(self))
        results = [_bad(subject, s) for s in reading.samples if _is_bad(s)]
        failed = {(r.metric, r.device) for r in results}
        for test in required:
            results += _test(subject, test, reading.samples, failed)
        if reading.rule and all(r.outcome is Outcome.PASS for r in results):
            results.append(not_run(self, record, reading))
        if not required:
            detail = "the profile requires no test at this run level, so nothing is proven"
            results.append(_result(subject, "", Outcome.COULD_NOT_RUN, reason=GateReason.NO_BASELINE, detail=detail))
        return tuple(results)

    def usual_s(self, settings: DcgmDiagSettings, level: Level) -> float:
        """By DCGM's run level."""
        return _USUAL_S[at_level(settings.diag_level, level)]

    def not_proven(self, settings: DcgmDiagSettings, level: Level) -> str:
        """By DCGM's run level."""
        return _NOT_PROVEN[at_level(settings.diag_level, level)]


def _required(record: RawRecord, settings: DcgmDiagSettings) -> Sequence[str]:
    argv = list(record.argv)
    level = argv[argv.index("-r") + 1] if "-r" in argv[:-1] else ""
    return settings.required_tests.get(int(level), []) if level.isdigit() else []


def _test(subject: Subject, test: str, samples: Sequence[Sample], failed: set[tuple[str, str]]) -> list[GateResult]:
    metric = f"diag_{test}"
    own = [s for s in samples if s.metric == metric]
    if test == "software" and not own:
        return _software_of_dcgm_3(subject, samples)
    passed = {s.device for s in own if s.status == "Pass" and (metric, s.device) not in failed}
    other = [s for s in own if s.status not in ("Pass", "Fail") and (metric, s.device) not in failed]
    results = [_unproven(subject, s, f"{test} reports {s.status}{': ' + _reported(s) if s.detail else ''}") for s in other]
    known = {s.device for s in own}
    whole_node = any(s.device == "" and s.status != "Pass" for s in own)
    missing = [] if whole_node else [f"gpu{i}" for i in range(subject.gpus) if f"gpu{i}" not in known]
    results += [_absent(subject, metric, f"{test} has no verdict for this GPU", device) for device in missing]
    if not own and not missing:
        results.append(_absent(subject, metric, f"{test} is not in the output"))
    named = passed - {""}
    if passed and not results and not any(m == metric for m, _ in failed):
        passing = _result(subject, metric, Outcome.PASS, found=f"Pass on {counted(len(named), 'GPU')}")
        results.append(passing if named else _absent(subject, metric, f"{test} names no GPU"))
    return results


def _software_of_dcgm_3(subject: Subject, samples: Sequence[Sample]) -> list[GateResult]:
    status = {s.metric.removeprefix("diag_"): s.status for s in samples}
    lacking = [t for t in _SOFTWARE_3 if status.get(t) != "Pass"]
    if not lacking:
        return [_result(subject, "diag_software", Outcome.PASS, found="Pass")]
    words = ", ".join(f"{t} {status.get(t, 'missing')}" for t in lacking)
    if any(status.get(t) == "Fail" for t in lacking):
        return []  # named one by one already
    reason = GateReason.PERSISTENCE_OFF if "persistence_mode" in lacking else GateReason.TEST_NOT_PASSED
    result = _result(subject, "diag_software", Outcome.COULD_NOT_RUN, reason=reason, detail=f"software: {words}", found=words)
    return [replace(result, hint=_hint("", "", reason))]


def _is_bad(sample: Sample) -> bool:
    """Whichever test reports it, required or not. DCGM 3 reports a pending row remap as a Warn of a deployment test, DCGM 4 a broken SRAM as one of `software`."""
    if sample.status == "Pass":
        return _is_unallocated(sample) or _contradicts(sample)
    if sample.status == "Fail" or any(e.is_hardware_fault for e in explained_errors(sample.codes)):
        return True
    return not sample.codes and bool(_ROW_REMAP_DUE.search(sample.detail))


def _is_unallocated(sample: Sample) -> bool:
    # The text beside a Pass is mostly `info`, which has no codes.
    return bool(_NOT_ALLOCATED.search(sample.detail)) or any(e.reason is GateReason.NOT_ALLOCATED for e in explained_errors(sample.codes))


def _contradicts(sample: Sample) -> bool:
    """A Pass beside an error with which DCGM lets no work run, or one that the table does not list."""
    found = explained_errors(sample.codes)
    return any(e.is_hardware_fault for e in found) or len(found) < len(sample.codes)


def _bad(subject: Subject, sample: Sample) -> GateResult:
    test = sample.metric.removeprefix("diag_")
    if sample.status == "Pass":
        unallocated = _is_unallocated(sample)
        reason = GateReason.NOT_ALLOCATED if unallocated else GateReason.TEST_NOT_PASSED
        detail = f"{test} reports Pass, but also: {_reported(sample)}"
        result = _result(subject, sample.metric, Outcome.COULD_NOT_RUN, reason=reason, device=sample.device, found="Pass", detail=detail)
        return replace(result, rule="allocation") if unallocated else result
    verdict = _verdict(subject, sample)
    untested = verdict.error.untested if verdict else not sample.codes and bool(_OWN_ERROR.search(sample.detail))
    if sample.status == "Fail" and untested:
        reason = verdict.error.reason if verdict else GateReason.TOOL_FAILED
        hint, detail = verdict.action if verdict else "", f"{test}: {_reported(sample)}"
        outcome = Outcome.COULD_NOT_RUN
    else:
        reason = verdict.error.reason if verdict else _reason(sample)
        hint, detail = verdict.action if verdict else _hint(test, sample.device or "the node", reason), _reported(sample)
        outcome = Outcome.FAIL
    result = _result(subject, sample.metric, outcome, reason=reason, device=sample.device, found=sample.status, detail=detail)
    return replace(result, hint=hint, error_code=verdict.code if verdict else "")


def _unproven(subject: Subject, sample: Sample, detail: str) -> GateResult:
    """What neither passed nor failed; a code leads to an action only where that needs no verdict."""
    verdict = _verdict(subject, sample)
    off = verdict.error.reason is GateReason.PERSISTENCE_OFF if verdict else _is_persistence(sample)
    reason = GateReason.PERSISTENCE_OFF if off else GateReason.TEST_NOT_PASSED
    result = _result(subject, sample.metric, Outcome.COULD_NOT_RUN, reason=reason, device=sample.device, found=sample.status, detail=detail)
    if verdict and verdict.error.about_software:
        return replace(result, hint=verdict.action, error_code=verdict.code)
    return replace(result, hint=_hint("", "", reason))


def _verdict(subject: Subject, sample: Sample) -> DcgmVerdict | None:
    return verdict_of(sample.codes, sample.detail, gpu=sample.device or "the GPU", node=subject.name)


def _reported(sample: Sample) -> str:
    """What DCGM prints, behind the names of its codes."""
    return f"{error_titles(sample.codes)}: {sample.detail}" if sample.codes else sample.detail


def _absent(subject: Subject, metric: str, detail: str, device: str = "") -> GateResult:
    return _result(subject, metric, Outcome.COULD_NOT_RUN, reason=GateReason.INCOMPLETE, device=device, detail=detail)


def _reason(sample: Sample) -> GateReason:
    """Of a failure without a code, or with one that the table does not explain: from the text beside the verdict."""
    if _is_persistence(sample):
        return GateReason.PERSISTENCE_OFF
    return GateReason.ROW_REMAP if _ROW_REMAP.search(sample.detail) else GateReason.TEST_FAILED


def _is_persistence(sample: Sample) -> bool:
    return sample.metric == "diag_persistence_mode" or bool(_PERSISTENCE.search(sample.detail))


def _result(
    subject: Subject,
    metric: str,
    outcome: Outcome,
    *,
    reason: GateReason | None = None,
    device: str = "",
    found: str = "",
    detail: str = "",
) -> GateResult:
    return GateResult(
        gate=GATE.name,
        node=subject.name,
        outcome=outcome,
        rule="diag",
        metric=metric,
        expected="Pass",
        found=found,
        device=device,
        source=_SOURCE,
        detail=detail[:_DETAIL_LIMIT],
        reason=reason,
    )


def _hint(test: str, where: str, reason: GateReason) -> str:
    """A repair only for a test that failed; what gave no verdict has the hint of its reason."""
    if reason is GateReason.PERSISTENCE_OFF:
        return ADVICE.persistence
    if reason is GateReason.ROW_REMAP:
        return ADVICE.row_remap.format(gpu=where)
    return _repair(test, where) if reason is GateReason.TEST_FAILED else ""


def _repair(test: str, where: str) -> str:
    """By what the test is about."""
    if test == "pcie":
        return f"check link width and generation of {where} under load, reseat it; then run again"
    if test in _MEMORY:
        return f"run the field diagnostic on {where}, and RMA it if that fails; XIDs of {where} in the kernel log give details"
    if test in _STRESS:
        return ADVICE.stress.format(gpu=where)
    return f"see what DCGM prints about {where}; no other process may use the GPUs during a diagnostic"


GATE = DcgmDiag()
