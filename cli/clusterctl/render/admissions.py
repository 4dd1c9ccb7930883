"""What `admit` decided, and what every other node lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.admission import EXIT_CODES
from clusterctl.exit_codes import ExitCode, worst
from clusterctl.render import out
from clusterctl.render.states import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterctl.admission import Reason
    from clusterctl.admitting import Admission


def show(admissions: Sequence[Admission], output: str) -> int:
    """Print it; returns the exit code."""
    if output == "table":
        out.text("\n".join(line for a in admissions for line in _lines(a)))
    else:
        out.emit(output, "admit", {"nodes": [_json(a) for a in admissions]})
    return worst([EXIT_CODES[r.kind] for a in admissions for r in a.verdict.reasons] or [ExitCode.OK])


def _json(admission: Admission) -> dict[str, object]:
    verdict = admission.verdict
    return {
        "name": verdict.node,
        "from": admission.from_state.value,
        "admitted": verdict.admit,
        "reasons": [_reason_json(r) for r in verdict.reasons],
        "notes": [_reason_json(r) for r in verdict.notes],
    }


def _reason_json(reason: Reason) -> dict[str, str]:
    return {"kind": reason.kind.value, "text": reason.text, "device": reason.device, "hint": reason.hint}


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
