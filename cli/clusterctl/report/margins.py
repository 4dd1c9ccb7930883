"""How far the measurements of a node are from their floors. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.model.own_history import VALUE_RULES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.model.gate_result import GateResult

# Percent above the floor at which the colour of a tile changes.
_STEPS = (0.0, 2.0, 10.0)


@dataclass(frozen=True, slots=True)
class Margin:
    """The measurement of a node that is nearest to its floor, or farthest below it; `percent` of the floor, negative below."""

    percent: float
    what: str

    @property
    def level(self) -> int:
        """0 below the floor, 1 within 2 % of it, 2 within 10 %, 3 above. Steps for the eye, chosen here: nothing is judged by them."""
        return sum(self.percent >= step for step in _STEPS)

    @property
    def text(self) -> str:
        """`+9 %`; one decimal near the floor, where it decides."""
        digits = 0 if abs(self.percent) >= _STEPS[1] else 1
        return f"{self.percent:+.{digits}f} %".replace("-", "\N{MINUS SIGN}")


def lowest_margin(results: Iterable[GateResult]) -> Margin | None:
    """The lowest margin of the results that have a floor, whichever rule judged them; None where there is none."""
    found = [
        Margin((r.value / r.limit - 1) * 100, " ".join(w for w in (r.gate, r.metric, r.device) if w))
        for r in results
        if r.rule in VALUE_RULES and r.value is not None and r.limit and r.limit > 0
    ]
    return min(found, key=lambda m: (m.percent, m.what), default=None)
