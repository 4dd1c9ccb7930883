"""The result of a check."""

from dataclasses import dataclass
from enum import Enum
from typing import Any, Dict


class Outcome(str, Enum):
    """The six outcomes. FAIL and COULD_NOT_RUN hold a node back; WARN is shown and does not."""

    PASS = "pass"  # noqa: S105
    WARN = "warn"
    FAIL = "fail"
    COULD_NOT_RUN = "could_not_run"
    NOT_APPLICABLE = "not_applicable"
    WAIVED = "waived"


class Severity(str, Enum):
    """How serious a failing check is: critical = never run a job on the node, major = not as declared, minor = cosmetic."""

    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"


# What a view need not name one by one.
QUIET = frozenset({Outcome.PASS, Outcome.NOT_APPLICABLE, Outcome.WAIVED})
GOOD = QUIET | {Outcome.WARN}


# Fields of a finding that no node gives; see there.
SET_BY_CONTROLLER = ("observed", "above", "owner")


@dataclass(frozen=True)
class Finding:
    """One check on one node.

    Attributes:
        check: stable id `<role>.<what>[<item>].<aspect>`, e.g. `hugepages.pages[1G].node0.running`.
        role: the role whose declared state was checked.
        expected: the declared state, as text.
        found: the state of the node, as text; empty if it could not be read.
        hint: the next action; empty for what passes.
        reason: why a check could not run, does not apply or is waived.
        observed: the outcome that the check had, where it is observed and does not decide; set by the controller, empty for all others.
        above: the check that names the cause, where it is above the node and others have the same; set by the controller, empty for all others.
        owner: who or what owns the role's part of the node instead of clusterctl, where that is declared; set by the controller, empty for all others.
    """

    check: str
    role: str
    outcome: Outcome
    severity: Severity
    expected: str = ""
    found: str = ""
    hint: str = ""
    reason: str = ""
    observed: str = ""
    above: str = ""
    owner: str = ""

    def to_json(self) -> Dict[str, Any]:
        """The finding as plain JSON values; those of SET_BY_CONTROLLER only where they are set."""
        data = dict(vars(self))  # all values are immutable; asdict copies each, which took a tenth of the checking process's own time
        for name in SET_BY_CONTROLLER:
            if not data[name]:
                del data[name]
        data["outcome"] = self.outcome.value
        data["severity"] = self.severity.value
        return data

    @classmethod
    def from_json(cls, data: Dict[str, Any]) -> "Finding":
        """The reverse of `to_json` on a node, where nothing is observed and nothing of others is known. Raises KeyError or ValueError on anything else."""
        rest = {k: str(data.get(k, "")) for k in ("expected", "found", "hint", "reason")}
        return cls(str(data["check"]), str(data["role"]), Outcome(data["outcome"]), Severity(data["severity"]), **rest)
