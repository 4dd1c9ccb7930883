"""Prints which profiles resolve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.terminal import messages, out
from clusterctl_lab.resolve import NOT_COVERED
from clusterctl_lab.resolve_el import EL9
from clusterctl_lab.view_documents import ResolveDocument, ResolvedProfile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl_lab.resolve import Resolution


def document(results: Sequence[Resolution]) -> ResolveDocument:
    """The result as data."""
    return ResolveDocument(simulated=True, not_covered=tuple(NOT_COVERED), results=tuple(map(_result, results)))


def show_resolutions(results: Sequence[Resolution], output: str) -> None:
    """Print a row per profile and release, then the reasons."""
    if output != "table":
        out.emit_document(output, "resolve", document(results))
        return
    rows = [
        (
            r.profile,
            _release(r),
            str(sum(r.declared.values())),
            str(len(r.installed)),
            f"fails: {r.role}" if r.reason else "resolves",
        )
        for r in results
    ]
    out.table(("PROFILE", "RELEASE", "DECLARED", "INSTALLED", "RESULT"), rows)
    for result in results:
        if result.reason:
            messages.note(f"{result.profile}, {_release(result)}, role {result.role}:\n{result.reason}")
    for line in NOT_COVERED if any(r.release == EL9 for r in results) else ():
        messages.note(line)


def _release(result: Resolution) -> str:
    return "EL 9" if result.release == EL9 else f"Ubuntu {result.release}"


def _result(result: Resolution) -> ResolvedProfile:
    return ResolvedProfile(
        profile=result.profile,
        release=result.release,
        resolves=not result.reason,
        role=result.role,
        reason=result.reason,
        declared=dict(result.declared),
        installed=dict(sorted(result.installed.items())),
    )
