"""What the policy does about drift, by severity, and about links that flap for days. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.model.drift import DriftAction, DriftKind
from clusterctl.model.state import State
from clusterctl_validators.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from clusterctl.model.drift import DriftReport, Known

LINK_FLAPS = "link_flaps"
# No role mends a cable.
_OF_LINKS = (DriftAction.REPORT, DriftAction.DRAIN)
_ORDER = (DriftAction.REPORT, DriftAction.HEAL, DriftAction.DRAIN)


@dataclass(frozen=True, slots=True)
class Decisions:
    """Which nodes are drained and healed, in the order of the report; `left`: node -> why it is not healed; `flapping`: drained for a link."""

    drain: tuple[str, ...]
    heal: tuple[str, ...]
    left: Mapping[str, str]
    flapping: tuple[str, ...] = ()


def parse_policy(words: str) -> dict[str, DriftAction]:
    """`critical=drain,major=heal,link_flaps=drain`; what is not named is reported. ValueError on anything else."""
    policy: dict[str, DriftAction] = {**dict.fromkeys(Severity, DriftAction.REPORT), LINK_FLAPS: DriftAction.REPORT}
    for word in filter(None, (w.strip() for w in words.split(","))):
        name, _, action = word.partition("=")
        allowed = _OF_LINKS if name == LINK_FLAPS else _ORDER
        if name not in policy or action not in allowed:
            severities, actions = (", ".join(e.value for e in c) for c in (Severity, DriftAction))
            text = f"{word!r} is not SEVERITY=ACTION: severities {severities}; actions {actions}"
            raise ValueError(f"{text}; or {LINK_FLAPS}=drain")
        policy[name] = DriftAction(action)
    return policy


def decide_actions(
    report: DriftReport, policy: Mapping[str, DriftAction], known: Mapping[str, Known], *, heal: bool, flapping: Collection[str] = ()
) -> Decisions:
    """Drain comes before heal, heal before report. Only drift of admitted nodes is acted on: other nodes take no jobs.

    A node with drift to heal is left where healing would do more than mend drift, or could not be judged. `flapping`: nodes with a link
    that flapped for days.
    """
    out = tuple(n for n in report.nodes if n in flapping and known[n].state is State.ADMITTED and policy[LINK_FLAPS] is DriftAction.DRAIN)
    drains: list[str] = []
    heals: list[str] = []
    left: dict[str, str] = {}
    for node in report.nodes:
        drift = report.of(node, DriftKind.DRIFT)
        action = max((policy[d.severity] for d in drift), key=_ORDER.index, default=DriftAction.REPORT)
        if action is DriftAction.REPORT or known[node].state is not State.ADMITTED or node in out:
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
    return Decisions(tuple(drains), tuple(heals), left, out)
