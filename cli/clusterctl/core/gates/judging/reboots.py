"""Nodes that rebooted while they were measured. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterctl.model.gate_result import RawRecord


def by_reboots(results: Sequence[GateResult], records: Sequence[RawRecord]) -> Iterator[GateResult]:
    """A reboot under load is a fault of the node that did it. What it cut off on other nodes is not measured there, and not their fault."""
    rebooted = {r.node for r in records if r.error_code is GateReason.REBOOTED}
    for result in results:
        if result.reason is not GateReason.REBOOTED:
            yield result
        elif result.node in rebooted:
            yield replace(result, outcome=Outcome.FAIL)
        else:
            others = sorted((rebooted & set(result.peers)) or rebooted)
            hint = (
                f"repair {', '.join(others)}, or measure without: `clusterctl burnin {result.node} --partners NODE`"
                if others
                else result.hint
            )
            yield result if result.outcome is Outcome.FAIL else replace(result, reason=GateReason.PEER_SILENT, hint=hint)
