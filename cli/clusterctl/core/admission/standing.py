"""Which of the gate results of a node count: the newest of every gate, and failures that a later measurement does not lift. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterctl_validators.finding import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterctl.model.gate_result import GateResult

_WHY = "it stands until a repair or a new boot, whatever was measured since"


@dataclass(frozen=True, slots=True)
class Measured:
    """A stored result. `batch` grows with each burn-in and judgement; `current`: it was measured under the state that is declared now."""

    result: GateResult
    batch: int
    current: bool = True


def counting(measured: Sequence[Measured]) -> tuple[GateResult, ...]:
    """What counts of the results of one node since its evidence was last voided, in the order given.

    A failure that names its boot is a fault that the load raised on the hardware: only a result of the same gate in another boot lifts it,
    not a quieter burn-in, not one of other gates, and no change of the declared state.
    """
    newest: dict[str, int] = {}
    for one in measured:
        if one.current:
            newest[one.result.gate] = max(newest.get(one.result.gate, 0), one.batch)
    return tuple(_counting(measured, newest))


def _counting(measured: Sequence[Measured], newest: dict[str, int]) -> Iterator[GateResult]:
    decided = {one.result for one in measured if one.current and one.batch == newest[one.result.gate]}
    for one in measured:
        if one.current and one.batch == newest[one.result.gate]:
            yield one.result
        elif one.result not in decided and _stands(one, measured):
            decided.add(one.result)
            yield replace(one.result, detail=f"{one.result.detail}; {_WHY}".removeprefix("; "))


def _stands(failed: Measured, measured: Sequence[Measured]) -> bool:
    boot = failed.result.boot_id
    if failed.result.outcome is not Outcome.FAIL or not boot:
        return False
    later = (m.result for m in measured if m.batch > failed.batch and m.result.gate == failed.result.gate)
    return not any(r.boot_id not in ("", boot) for r in later)
