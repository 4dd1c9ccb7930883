"""What the policy does about drift, by severity. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.model.drift import DriftAction, DriftKind
from clusterctl.model.state import State
from clusterctl_validators.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.drift import DriftReport, Known

_ORDER = (DriftAction.REPORT, DriftAction.HEAL, DriftAction.DRAIN)


@dataclass(frozen=True, slots=True)
class Decisions:
    """Which nodes are drained and healed, in the order of the report; `left`: node -> why it is not healed."""

    drain: tuple[str, ...]
    heal: tuple[str, ...]
    left: Mapping[str, str]


def parse_policy(words: str) -> dict[Severity, DriftAction]:
    """`critical=drain,major=heal`; a severity that is not named is reported. ValueError on anything else."""
    policy = dict.fromkeys(Severity, DriftAction.REPORT)
    for word in filter(None, (w.strip() for w in words.split(","))):
        severity, _, action = word.partition("=")
        try:
            policy[Severity(severity)] = DriftAction(action)
        except ValueError:
            severities, actions = (", ".join(e.value for e in c) for c in (Severity, DriftAction))
            raise ValueError(f"{word!r} is not SEVERITY=ACTION: severities {severities}; actions {actions}") from None
    return policy


def decide_actions(report: DriftReport, policy: Mapping[Severity, DriftAction], known: Mapping[str, Known], *, heal: bool) -> Decisions:
    """Drain comes before heal, heal before report. Only drift of admitted nodes is acted on: other nodes take no jobs.

    A node with drift to heal is left where healing would do more than mend drift, or could not be judged.
    """
    drains: list[str] = []
    heals: list[str] = []
    left: dict[str, str] = {}
    for node in report.nodes:
        drift = report.of(node, DriftKind.DRIFT)
        action = max((policy[d.severity] for d in drift), key=_ORDER.index, default=DriftAction.REPORT)
        if action is DriftAction.REPORT or known[node].state is not State.ADMITTED:
            continue
        if action is DriftAction.DRAIN:
            drains.append(node)
        elif not heal:
            left[node] = "the policy heals it, --heal was not given"
        elif report.of(node, DriftKind.PENDING):
            left[node] = "its declared state changed, too, and healing would apply that; `clusterctl plan` shows it"
        elif report.of(node, DriftKind.UNKNOWN):
            left[node] = "some of its checks could not run"
        else:
            heals.append(node)
    return Decisions(tuple(drains), tuple(heals), left)
