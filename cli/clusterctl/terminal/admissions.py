"""The result of `admit`: admitted nodes, and what the others lack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.verdict import admissions_exit_code
from clusterctl.terminal import out
from clusterctl.terminal.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterctl.model.records import Verification
    from clusterctl.model.verdict import Admission


def show_admissions(admissions: Sequence[Admission], output: str) -> int:
    """Print it; returns the exit code."""
    if output == "table":
        out.print_text("\n".join(line for a in admissions for line in _lines(a)))
    else:
        out.emit(output, "admit", {"nodes": [_json(a) for a in admissions]})
    return admissions_exit_code(admissions)


def _json(admission: Admission) -> dict[str, object]:
    verdict = admission.verdict
    return {
        "name": verdict.node,
        "from": admission.from_state.value,
        "admitted": verdict.admit,
        "reasons": [r.to_json() for r in verdict.reasons],
        "notes": [r.to_json() for r in verdict.notes],
    }


def _lines(admission: Admission) -> Iterator[str]:
    verdict = admission.verdict
    if verdict.admit:
        yield f"{verdict.node}: admitted (was {admission.from_state.value})"
        return
    yield f"{verdict.node}: not admitted, stays {admission.from_state.value}:"
    for reason in verdict.reasons:
        yield f"  {printable(reason.text)}"
        if reason.hint:
            yield f"    hint: {printable(reason.hint)}"


def show_verified(verifications: Sequence[Verification], output: str) -> int:
    """Print the result of checking admission records; returns the exit code."""
    if output == "table":
        out.print_text("\n".join(line for v in verifications for line in _verified_lines(v)))
    else:
        out.emit(output, "admit_verify", {"nodes": [_verified_json(v) for v in verifications]})
    return ExitCode.VALIDATOR_FAILED if any(v.problems for v in verifications) else ExitCode.OK


def _verified_json(verification: Verification) -> dict[str, object]:
    record = verification.record
    return {
        "name": verification.node,
        "digest": record.digest if record else "",
        "run_id": record.run_id if record else "",
        "files": verification.files,
        "signed_by": verification.signed_by,
        "problems": list(verification.problems),
    }


def _verified_lines(verification: Verification) -> Iterator[str]:
    record = verification.record
    if not verification.problems and record is not None:
        signed = f", signed by {verification.signed_by}" if verification.signed_by else ", not checked for a signature"
        yield f"{verification.node}: record {record.digest[:12]} of {record.at[:10]} is intact, {verification.files} raw files as recorded{signed}"
        return
    yield f"{verification.node}: not proven:"
    yield from (f"  {printable(p)}" for p in verification.problems)
