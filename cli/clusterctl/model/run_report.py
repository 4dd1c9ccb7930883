"""What the report of a run is made from: the run, its nodes with their evidence, its raw records."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.model.gate_result import Outcome
from clusterctl.model.state import State
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.gate_result import GateResult, RawRecord
    from clusterctl.model.records import NodeRecord, RunRow, TransitionRow


_SHORT = 12


_ORDER = (Outcome.FAIL, Outcome.COULD_NOT_RUN, Outcome.WARN, Outcome.WAIVED, Outcome.PASS, Outcome.NOT_APPLICABLE)
_WORST_FIRST = {outcome: rank for rank, outcome in enumerate(_ORDER)}


@dataclass(frozen=True, slots=True)
class EvidenceLink:
    """A file of the run directory, relative to the page."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class NodeSection:
    """A node in a run.

    Attributes:
        state, reason: as the run left it.
        findings_earlier, gates_earlier: the evidence is the newest of an earlier run; this run gathered none.
        links: its raw evidence.
    """

    record: NodeRecord
    state: State
    reason: str
    findings: NodeFindings | None
    findings_earlier: bool
    gate_results: tuple[GateResult, ...]
    gates_earlier: bool
    steps: tuple[TransitionRow, ...]
    links: tuple[EvidenceLink, ...]

    @property
    def name(self) -> str:
        """The node's name."""
        return self.record.name

    @property
    def not_good(self) -> int:
        """How many findings and gate results are not good."""
        found = self.findings.findings if self.findings else ()
        return sum(f.outcome not in GOOD for f in found) + sum(g.outcome not in GOOD for g in self.gate_results)

    @property
    def is_open(self) -> bool:
        """Whether its section shows at once: it was quarantined, or is short and not yet in the pool."""
        return self.state is State.QUARANTINED or (self.state is not State.ADMITTED and 0 < self.not_good <= _SHORT)

    @property
    def checks(self) -> dict[str, int]:
        """Outcome -> number of findings."""
        found = self.findings.findings if self.findings else ()
        return dict(Counter(f.outcome.value for f in sorted(found, key=lambda f: _WORST_FIRST[f.outcome])))

    @property
    def gates(self) -> tuple[GateResult, ...]:
        """The gate results, worst first."""
        return tuple(sorted(self.gate_results, key=lambda g: _WORST_FIRST[g.outcome]))


@dataclass(frozen=True, slots=True)
class RunReport:
    """A run with everything its page shows.

    Attributes:
        status: of the run; `unfinished` where it was killed.
        sections: one per node, by rack and slot.
        links: files of the run that belong to no single node.
        records: the raw records of its gates.
        no_records: why there are none; empty where there are.
    """

    run: RunRow
    status: str
    made_at: str
    sections: tuple[NodeSection, ...]
    links: tuple[EvidenceLink, ...]
    records: tuple[RawRecord, ...] = ()
    no_records: str = ""
