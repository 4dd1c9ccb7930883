"""Events against nodes for tests, by days ago."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.core import timestamps
from clusterctl.core.lemons.lemon_limits import limits_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl.model.part import Part
from clusterctl.model.records import TransitionRow
from clusterctl.model.state import State
from clusterctl.model.trouble import BadResult, PartSpan, Trouble, TroubleKind, TroubleSources
from clusterctl.model.verdict import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Mapping

NOW = "2026-11-20T12:00:00.000000Z"
NODE = "n1"
DEFAULT_LIMITS = limits_of({})
_DAY_S = 86_400


def ago(days: float) -> str:
    """A point in time that many days before NOW."""
    return timestamps.after(NOW, -days * _DAY_S)


def move(days: float, to: str, cause: str | None, run: str, *, node: str = NODE, reason: str = "") -> TransitionRow:
    """A transition; what the node was before does not count."""
    why = ReasonKind(cause) if cause else None
    return TransitionRow(0, node, run, "ada", State.VALIDATED, State(to), reason, "", ago(days), 0, why)


def bad_result(days: float, outcome: str, reason: str | None, metric: str, device: str, run: str, *, node: str = NODE) -> BadResult:
    """A gate result that is not a pass."""
    return BadResult(node, run, ago(days), "a_gate", Outcome(outcome), GateReason(reason) if reason else None, metric, device)


def span(kind: str, slot: str, name: str, serial: str, node: str, ended: float | None) -> PartSpan:
    """A part; None = it is still there."""
    return PartSpan(node, Part(kind, slot, name, "M", serial), "" if ended is None else ago(ended))


def sources_of(case: Mapping[str, Any]) -> TroubleSources:
    """The rows of a case in tests/cases/lemons."""
    return TroubleSources(
        tuple(move(*words) for words in case.get("moves", ())),
        tuple(bad_result(*words) for words in case.get("results", ())),
        tuple(Trouble(NODE, TroubleKind.LINK_FLAP, ago(days), f"v{days}", device) for days, device in case.get("flaps", ())),
        tuple(span(*words) for words in case.get("parts", ())),
    )
