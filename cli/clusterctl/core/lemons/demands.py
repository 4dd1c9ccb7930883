"""What a node owes before it serves again: a burn-in of level full, where its machine or a part of it is over its limit. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from clusterctl.model.level import FULL
from clusterctl.model.trouble import LemonAction
from clusterctl.model.verdict import Reason, ReasonKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from clusterctl.model.trouble import PartSpan, TroubleRecord
    from clusterctl.model.trouble_counts import TroubleCounts


def due_records(records: Sequence[TroubleRecord], parts: Iterable[PartSpan], nodes: Collection[str]) -> dict[str, TroubleRecord]:
    """Node -> the worst record over its limit of what is in it now; nodes without one are left out. A part that was replaced owes nothing there."""
    due = [r for r in records if r.next_action is not LemonAction.NONE]
    inside: dict[str, set[tuple[str, str]]] = {name: {("node", name)} for name in nodes}
    for span in parts:
        if not span.ended_at and span.node in inside:
            inside[span.node].add((span.part.kind, span.part.serial))
    found = {name: next((r for r in due if (r.kind, r.serial or r.node) in serials), None) for name, serials in inside.items()}
    return {name: record for name, record in found.items() if record}


def owes_full(due: TroubleRecord | None, levels: Collection[str]) -> bool:
    """Whether what was measured at these levels is not enough; of older results no level is known, and they are not."""
    return due is not None and set(levels) != {FULL}


def demand(due: TroubleRecord, node: str) -> Reason:
    """Why it is kept out, and what to do."""
    words = counts_text(due.days_90)
    what = f"{due.name} serial {due.serial}" if due.serial else due.name
    text = f"{what} is over its limit: {words} in 90 days (score {due.score:.2f}); it serves again after a burn-in of level full"
    rma = f"`clusterctl drain {node} --to rma`, because repairs do not hold; or " if due.next_action is LemonAction.RMA else ""
    hint = f"{rma}`clusterctl provision {node} --level full`; `clusterctl history {node} --worst` shows its record"
    return Reason(ReasonKind.GATE_MISSING, text, hint=hint)


def boots_reason(record: TroubleRecord, node: str) -> Reason:
    """Why a node that booted by itself is not returned to the pool, and what to do."""
    short, long = record.days_30.unplanned_boots, record.days_90.unplanned_boots
    text = f"booted by itself {short} times in 30 days, {long} in 90, and was as declared each time"
    hint = (
        f"`clusterctl bmc {node} --only log` shows what its BMC logged of them (power, memory, watchdog); `clusterctl drain {node} --to rma`, or "
        f"`clusterctl provision {node} --level full`"
    )
    return Reason(ReasonKind.CHECK_FAILED, text, hint=hint)


def counts_text(counts: TroubleCounts) -> str:
    """`1 exclusion, 2 repairs`: what is not 0."""
    return ", ".join(
        f"{number} {name.replace('_', ' ').removesuffix('s') if number == 1 else name.replace('_', ' ')}"
        for name, number in asdict(counts).items()
        if number
    )
