"""The doctor's findings on stdout."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.model.site_documents import DoctorDocument
from clusterctl.terminal import out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.doctor_check import Check


def checks(output: str, found: Sequence[Check]) -> None:
    """A line per check; hints only where something is missing."""
    if output == "table":
        rows = [(_verdict(c), c.name, c.found, "" if c.ok else c.hint) for c in found]
        out.table(("", "CHECK", "FOUND", "HINT"), rows)
    else:
        out.emit_document(output, "doctor", DoctorDocument(tuple(replace(c, hint="") if c.ok else c for c in found)))


def _verdict(check: Check) -> str:
    if check.ok:
        return "ok"
    return "missing" if check.required else "optional"
