"""The result of `admit`: admitted nodes, and what the others lack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.state_documents import AdmitDocument, AdmittedNode, AdmitVerifyDocument, ShownReason, VerifiedNode
from clusterctl.model.verdict import admissions_exit_code
from clusterctl.terminal import out
from clusterctl.terminal.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clusterctl.model.records import Verification
    from clusterctl.model.verdict import Admission, Reason


def show_admissions(admissions: Sequence[Admission], output: str) -> int:
    """Print it; returns the exit code."""
    if output == "table":
        out.print_text("\n".join(line for a in admissions for line in _lines(a)))
    else:
        out.emit_document(output, "admit", AdmitDocument(tuple(map(_admitted, admissions))))
    return admissions_exit_code(admissions)


def _admitted(admission: Admission) -> AdmittedNode:
    verdict = admission.verdict
    return AdmittedNode(verdict.node, admission.from_state, verdict.admit, _shown(verdict.reasons), _shown(verdict.notes))


def _shown(reasons: Iterable[Reason]) -> tuple[ShownReason, ...]:
    return tuple(map(_reason, reasons))


def _reason(reason: Reason) -> ShownReason:
    at = reason.first_repair
    return ShownReason(
        reason.kind, reason.code, reason.text, reason.device, at.component or "", at.component_name, at.next_action or "", reason.hint
    )


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
        out.emit_document(output, "admit_verify", AdmitVerifyDocument(tuple(map(_verified, verifications))))
    return ExitCode.VALIDATOR_FAILED if any(v.problems for v in verifications) else ExitCode.OK


def _verified(verification: Verification) -> VerifiedNode:
    digest, run_id = (r.digest, r.run_id) if (r := verification.record) else ("", "")
    return VerifiedNode(verification.node, digest, run_id, verification.files, verification.signed_by, verification.problems)


def _verified_lines(verification: Verification) -> Iterator[str]:
    record = verification.record
    if not verification.problems and record is not None:
        signed = f", signed by {verification.signed_by}" if verification.signed_by else ", not checked for a signature"
        yield f"{verification.node}: record {record.digest[:12]} of {record.at[:10]} is intact, {verification.files} raw files as recorded{signed}"
        return
    yield f"{verification.node}: not proven:"
    yield from (f"  {printable(p)}" for p in verification.problems)
