"""Observe mode: what a check or gate finds is recorded and shown, and decides nothing. Pure.

Not a waiver: a waiver accepts one failure of one node for a time, with an owner; an observed check is new or too flappy to decide on any node yet. A
site switches it on when its flake rate is known (`clusterctl history --observed`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterctl.core.waivers import matches
from clusterctl.model.errors import ConfigError
from clusterctl.model.gate_reason import GateReason
from clusterctl_validators.finding import Finding, Outcome, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterctl.model.gate_result import GateResult

KEYS = ("check", "gate", "rule", "reason")
_HOLDS_BACK = frozenset({Outcome.FAIL, Outcome.COULD_NOT_RUN})
# What a job would pay for with wrong results or its life decides always: wrong sums, a word of memory or of a file that is read otherwise than it was written,
# a GPU that is gone, memory to be replaced, an error or a reboot under load. No threshold is involved, so no observation is needed first.
ALWAYS_DECIDES = frozenset(
    {
        GateReason.WRONG_RESULTS,
        GateReason.WRONG_CONTENT,
        GateReason.DEVICE_LOST,
        GateReason.ROW_REMAP,
        GateReason.RAISED_BY_LOAD,
        GateReason.REBOOTED,
    }
)


@dataclass(frozen=True, slots=True)
class Observation:
    """What is observed: checks by a glob over their ids; or a gate, whole or by one rule of it.

    Attributes:
        check, gate: one of them is empty.
        rule: empty = all rules of the gate.
        reason: why it does not decide yet.
    """

    reason: str
    check: str = ""
    gate: str = ""
    rule: str = ""


def entry_problems(entry: object) -> list[str]:
    """What is wrong with an entry of `observe` as the inventory gives it."""
    if not isinstance(entry, dict):
        return [f"{entry!r} is not a mapping with check or gate, and reason"]
    problems = [f"{k} is not a key of observe" for k in entry if k not in KEYS]
    problems += [f"{k}: {v!r} is not text" for k, v in entry.items() if k in KEYS and not (isinstance(v, str) and v.strip())]
    if ("check" in entry) is ("gate" in entry):
        problems.append("name either check or gate")
    if "rule" in entry and "gate" not in entry:
        problems.append("rule is of a gate: name the gate, too")
    return problems if "reason" in entry else [*problems, "reason is missing"]


def parse_observations(entries: Iterable[Mapping[str, str]], node: str) -> tuple[Observation, ...]:
    """The observations of a node.

    Raises:
        ConfigError: one does not name what is observed, or not why.
    """
    found = []
    for entry in entries:
        if problems := entry_problems(dict(entry)):
            hint = "write {check: <glob>, reason: <why>}, or {gate: <name>, rule: <rule>, reason: <why>}"
            raise ConfigError(detail=f"{node}: observe: {problems[0]}", hint=hint)
        found.append(Observation(**entry))
    return tuple(found)


def observe_findings(findings: Iterable[Finding], observations: Iterable[Observation]) -> tuple[Finding, ...]:
    """The findings with observed ones marked. A check of critical severity decides all the same: no job may run there, and a waiver would have an end."""
    own = tuple(o for o in observations if o.check)
    return tuple(_finding(f, own) for f in findings) if own else tuple(findings)


def observe_results(results: Iterable[GateResult], observations: Iterable[Observation]) -> tuple[GateResult, ...]:
    """The results of one node with observed ones marked; what always decides is left as it is. Twice is as once."""
    own = tuple(o for o in observations if o.gate)
    return tuple(_result(r, own) for r in results) if own else tuple(results)


def deciding_gates(gates: Iterable[str], observations: Iterable[Observation]) -> tuple[str, ...]:
    """The gates that admission expects: those that are observed as a whole need not even have been measured."""
    observed = {o.gate for o in observations if not o.rule}
    return tuple(g for g in gates if g not in observed)


def _finding(finding: Finding, observations: tuple[Observation, ...]) -> Finding:
    why = next((o.reason for o in observations if matches(o.check, finding.check)), "")
    if not why or finding.observed or finding.severity is Severity.CRITICAL:
        return finding
    before = f"{finding.reason}; " if finding.reason else ""
    reason = f"{before}observed, so it does not decide: {why}" if finding.outcome in _HOLDS_BACK else finding.reason
    return replace(finding, outcome=_shown(finding.outcome), observed=finding.outcome.value, reason=reason)


def _result(result: GateResult, observations: tuple[Observation, ...]) -> GateResult:
    why = next((o.reason for o in observations if o.gate == result.gate and o.rule in ("", result.rule)), "")
    if not why or result.observed or result.reason in ALWAYS_DECIDES:
        return result
    before = f"{result.detail}; " if result.detail else ""
    detail = f"{before}observed, so it does not decide: {why}" if result.outcome in _HOLDS_BACK else result.detail
    return replace(result, outcome=_shown(result.outcome), observed=result.outcome, detail=detail)


def _shown(outcome: Outcome) -> Outcome:
    """A warning is shown and keeps no node out."""
    return Outcome.WARN if outcome in _HOLDS_BACK else outcome
