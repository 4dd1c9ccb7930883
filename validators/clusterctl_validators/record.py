"""Collects the findings of a check."""

import json
from typing import Any, Dict, List

from clusterctl_validators.finding import Finding, Outcome, Severity

UNDECLARED = "not declared for this node"
_ORDER = (Outcome.PASS, Outcome.WAIVED, Outcome.NOT_APPLICABLE, Outcome.WARN, Outcome.COULD_NOT_RUN, Outcome.FAIL)


def as_text(value: Any) -> str:
    """A value as it is shown and compared: text unchanged, None as "", everything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


class Record:
    """Collects the findings of one check function. Recording never raises.

    A check id that does not start with `<role>.` cannot be attributed, so it is recorded as could_not_run.
    """

    def __init__(self, role: str) -> None:
        self.role = role
        self.findings: List[Finding] = []

    def equal(self, check: str, expected: Any, found: Any, *, severity: Severity = Severity.MAJOR, hint: str = "") -> None:
        """Pass if both values are equal as text: 64 equals "64", because kernel files are text. None equals only None."""
        absent = expected is None or found is None
        same = expected is found if absent else expected == found or as_text(expected) == as_text(found)
        self.ok(check, same, expected=expected, found=found, severity=severity, hint=hint)

    def ok(
        self, check: str, condition: bool, *, expected: Any = "", found: Any = "", severity: Severity = Severity.MAJOR, hint: str = ""
    ) -> None:
        """Pass if `condition` is true; `expected` and `found` describe it, `hint` names the next action if it is not.

        What passes has no hint: most name a serial or an address of the node, and without them the findings of equal nodes are equal.
        """
        outcome = Outcome.PASS if condition else Outcome.FAIL
        self._add(Finding(check, self.role, outcome, severity, as_text(expected), as_text(found), "" if condition else hint))

    def warn(self, check: str, *, expected: Any = "", found: Any = "", hint: str = "") -> None:
        """Something to look at that does not hold the node back."""
        self._add(Finding(check, self.role, Outcome.WARN, Severity.MINOR, as_text(expected), as_text(found), hint))

    def could_not_run(self, check: str, reason: str, severity: Severity = Severity.MAJOR) -> None:
        """The evidence is not available; this is never a pass."""
        self._add(Finding(check, self.role, Outcome.COULD_NOT_RUN, severity, reason=reason))

    def not_applicable(self, check: str, reason: str) -> None:
        """The spec does not require this on this node."""
        self._add(Finding(check, self.role, Outcome.NOT_APPLICABLE, Severity.MINOR, reason=reason))

    def seen(self, check: str, found: Any) -> None:
        """A value for which nothing is declared: kept, so that the nodes of a scalable unit can be compared, and judged by nothing."""
        self._add(Finding(check, self.role, Outcome.NOT_APPLICABLE, Severity.MINOR, found=as_text(found), reason=UNDECLARED))

    def _add(self, finding: Finding) -> None:
        if finding.check.startswith(self.role + "."):
            self.findings.append(finding)
            return
        reason = "the check id does not start with {!r}".format(self.role + ".")
        self.findings.append(Finding(finding.check, self.role, Outcome.COULD_NOT_RUN, finding.severity, reason=reason))


def distinct(findings: List[Finding]) -> List[Finding]:
    """One finding per check, in order of first mention; the worse of two counts."""
    chosen: Dict[str, Finding] = {}
    for finding in findings:
        other = chosen.get(finding.check)
        if other is None or _ORDER.index(finding.outcome) > _ORDER.index(other.outcome):
            chosen[finding.check] = finding
    return list(chosen.values())
