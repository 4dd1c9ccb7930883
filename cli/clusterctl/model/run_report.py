"""What the report of a run is made from: the run, its nodes with their evidence, its raw records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.model.gate_result import Outcome
from clusterctl.model.measured_curve import Curves
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.gate_result import GateResult, RawRecord
    from clusterctl.model.installed_skew import InstalledSkew
    from clusterctl.model.load_trace import NodeLoads
    from clusterctl.model.part import Part
    from clusterctl.model.records import NodeRecord, RunRow, TransitionRow
    from clusterctl.model.run_timeline import RunTimeline
    from clusterctl.model.slow_class import SlowClass
    from clusterctl.model.state import State
    from clusterctl.model.version_skew import VersionSkew

_ORDER = (Outcome.FAIL, Outcome.COULD_NOT_RUN, Outcome.WARN, Outcome.WAIVED, Outcome.PASS, Outcome.NOT_APPLICABLE)
WORST_FIRST = {outcome: rank for rank, outcome in enumerate(_ORDER)}


@dataclass(frozen=True, slots=True)
class EvidenceLink:
    """A file of the run directory, relative to the page."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Earlier:
    """Where evidence comes from that the run did not gather itself.

    Attributes:
        runs: ids of the runs that gathered it, oldest first.
        counts: it is still evidence: of the node's present epoch and declared state.
    """

    runs: tuple[str, ...]
    counts: bool


@dataclass(frozen=True, slots=True)
class NodeSection:
    """A node in a run.

    Attributes:
        state, reason: as the run left it.
        findings_earlier, gates_earlier: where the evidence comes from, if this run gathered none; None = from this run, or there is none.
        links: its raw evidence.
    """

    record: NodeRecord
    state: State
    reason: str
    findings: NodeFindings | None
    findings_earlier: Earlier | None
    gate_results: tuple[GateResult, ...]
    gates_earlier: Earlier | None
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


@dataclass(frozen=True, slots=True)
class RunReport:
    """A run with everything its page shows.

    Attributes:
        status: of the run; `unfinished` where it was killed.
        sections: one per node, by rack and slot.
        links: files of the run that belong to no single node.
        records: the raw records of its gates, or of the runs whose measurements still count.
        no_records: why there are none; empty where there are.
        records_of: the runs that wrote `records`; empty where this run did.
        slow: classes that were slow as a whole in this run.
        version_skews, installed_skews: scalable units with several versions of a tool, or of what runs on their nodes.
        curves: what is to be looked at, over time; none before they are read.
        loads: what GPUs showed under load, of nodes with something to look at; none before they are read.
        timeline: what took its time; None before it is read.
    """

    run: RunRow
    status: str
    made_at: str
    sections: tuple[NodeSection, ...]
    links: tuple[EvidenceLink, ...]
    records: tuple[RawRecord, ...] = ()
    no_records: str = ""
    records_of: tuple[str, ...] = ()
    slow: tuple[SlowClass, ...] = ()
    version_skews: tuple[VersionSkew, ...] = ()
    installed_skews: tuple[InstalledSkew, ...] = ()
    curves: Curves = field(default_factory=Curves)
    loads: tuple[NodeLoads, ...] = ()
    timeline: RunTimeline | None = None


@dataclass(frozen=True, slots=True)
class GateSpan:
    """When a gate was measured on a node, by the node's clock."""

    began_at: str
    ended_at: str


@dataclass(frozen=True, slots=True)
class NodeTestRun:
    """A node in a run, as a test run of its own.

    Attributes:
        parts: those that were recorded at the time of the run.
        validated_at: when its checks answered in this run; empty where they did not run.
        spans: gate -> when it was measured in this run.
    """

    section: NodeSection
    parts: tuple[Part, ...]
    validated_at: str
    spans: Mapping[str, GateSpan]
