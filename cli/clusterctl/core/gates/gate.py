"""What a gate is. Everything outside a gate's own file works through this interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from clusterctl.core.gates.judging.direction import HIGHER_IS_BETTER
from clusterctl.core.gates.planning.step import GateSteps
from clusterctl.core.gates.settings import GateSettings
from clusterctl.core.parsers import parse_output
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import BaselineKind, Figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.core.gates.judging.direction import Direction
    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.planning.devices import Hca
    from clusterctl.core.gates.planning.step import GateStep
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import Baseline, GateResult, RawRecord, Sample
    from clusterctl.model.level import Level

S = TypeVar("S", bound=GateSettings)
# Assumed, of a command whose gate has no better value.
_USUAL_S = 60.0


class Scope(StrEnum):
    """The nodes of one measurement: each by itself, every two, all together. Gates run in this order.

    A gate of the whole burn-in measures each node before the first gate and after the last one.
    """

    NODE = "node"
    PAIR = "pair"
    BURN_IN = "burn_in"
    GROUP = "group"


class Gate(ABC, Generic[S]):
    """A burn-in gate. Derive from `NodeGate`, `PairGate` or `GroupGate`.

    Attributes:
        name: in profiles, results and the run directory; lower case, digits and `_`.
        settings_model: the schema of `gates_settings.<name>`.
        tool: the parser of its output, by its name in `clusterctl.core.parsers`; a gate with an own parser overrides `samples`.
        units: metric -> the unit that baselines of it must have; a metric that is not listed may have any.
        default_levels: the burn-in levels that it is meant for.
        direction: which values of its figures are the better ones.
        needs_floor: a profile in which it decides must have a floor for it, or an upper limit where lower values are better. False where the tool itself decides.
        installed_by: the role that installs the tool; empty where none does.
        always: it takes part in every burn-in, whatever the profile and the command line name.
        reads_stderr: the tool writes part of its result to stderr.
        works_through: daemons that compute for the tool.
        actions: reason for missing evidence -> the next action, where the general one is not enough; `{node}` is the node.
    """

    name: ClassVar[str]
    scope: ClassVar[Scope]
    settings_model: type[S]
    tool: ClassVar[str]
    units: ClassVar[Mapping[str, str]] = {}
    default_levels: ClassVar[tuple[Level, ...]] = ()
    direction: ClassVar[Direction] = HIGHER_IS_BETTER
    needs_floor: ClassVar[bool] = True
    installed_by: ClassVar[str] = ""
    always: ClassVar[bool] = False
    reads_stderr: ClassVar[bool] = False
    works_through: ClassVar[tuple[str, ...]] = ()
    actions: ClassVar[Mapping[GateReason, str]] = {}

    @abstractmethod
    def plan(self, subjects: Sequence[Subject], level: Level, batches: Iterator[int]) -> GateSteps:
        """The steps of the nodes that take part, at least one; `batches` gives the numbers of new batches.

        Raises:
            ConfigError: the settings cannot be met.
        """

    def plan_again(self, subjects: Sequence[Subject], evidence: Evidence, batches: Iterator[int]) -> GateSteps:  # noqa: ARG002 for gates to override
        """The steps of the nodes that are to be measured once more, from the records of the first time; none by default."""
        return GateSteps({})

    def closing_steps(self, subjects: Sequence[Subject], level: Level, batches: Iterator[int], part: str) -> Mapping[str, GateStep]:  # noqa: ARG002 for gates to override
        """For a gate of the whole burn-in: node -> its step after all other gates of a part."""
        return {}

    @abstractmethod
    def judge(self, evidence: Evidence) -> tuple[GateResult, ...]:
        """The results of all judged nodes that `evidence` has records of; a node without any does not concern the gate."""

    def usual_s(self, settings: S, level: Level) -> float:  # noqa: ARG002 for gates to override
        """About how long one of its commands takes where nothing is wrong, in seconds."""
        return _USUAL_S

    def not_proven(self, settings: S, level: Level) -> str:  # noqa: ARG002 for gates to override
        """What a pass at that level does not prove, for people; empty where nobody stated it."""
        return ""

    def shares_with(self, subject: Subject) -> tuple[str, ...]:
        """Programs that may compute on the node while it is measured, with what they start."""
        return (*self.works_through, *subject.profile.allowed_programs)

    def version_argv(self, settings: S) -> tuple[str, ...]:  # noqa: ARG002 for gates to override
        """A cheap command that prints the tool's version; empty where the tool has none."""
        return ()

    def version_of(self, record: RawRecord) -> str:
        """The version of the tool that measured a record: what `version_argv` printed, unless the output itself names it."""
        return record.tool_version

    def with_versions(self, evidence: Evidence) -> Evidence:
        """The same evidence, each record with the version that its output names."""
        named = [(r, self.version_of(r)) for r in evidence.records]
        if all(r.tool_version == version for r, version in named):
            return evidence
        return replace(evidence, records=[replace(r, tool_version=version) for r, version in named])

    def samples(self, text: str) -> tuple[Sample, ...]:
        """The samples in the tool's output.

        Raises:
            UnparsableError: the text is empty, cut off, or something else.
        """
        return parse_output(self.tool, text)

    def output_of(self, record: RawRecord) -> str:
        """The part of a record's output that `samples` reads."""
        return f"{record.stdout}\n{record.stderr}" if self.reads_stderr else record.stdout

    def last_line(self, record: RawRecord) -> str:
        """The line of a failed command's output that explains the failure best; empty where it printed nothing."""
        lines = [line.strip() for line in (record.stderr or record.stdout).splitlines() if line.strip()]
        return lines[-1] if lines else ""

    def failure_reason(self, record: RawRecord) -> GateReason:  # noqa: ARG002 for gates to override
        """Why a command failed, where its output shows it."""
        return GateReason.EXIT_STATUS

    def line_rate(self, baseline: Baseline, settings: S, hcas: Sequence[Hca], gpus: int) -> float | None:  # noqa: ARG002 for gates to override
        """The most the hardware can show for a baseline's metric, in its unit; None where no law is known."""
        return None

    def highest(self, baseline: Baseline, settings: S, hcas: Sequence[Hca], gpus: int) -> float | None:
        """What no measurement of a baseline's metric can exceed, in its unit; by default the line rate. None where no law is known."""
        return self.line_rate(baseline, settings, hcas, gpus)

    def limited_figures(self, settings: S) -> tuple[Figure, ...]:  # noqa: ARG002 for gates to override
        """The figures of a node or a pair that a baseline can limit, whether one is declared or not; by default those with a unit."""
        return tuple(Figure(self.name, metric, unit) for metric, unit in self.units.items())

    def limits_of(self, subject: Subject, nodes: int) -> tuple[Baseline, ...]:
        """The baselines of a node for a run over `nodes` nodes, with a ceiling by physical law for each floor whose metric has no declared one."""
        declared = subject.profile.for_gate(self.name)
        settings = subject.profile.settings_of(self)
        capped = {b.metric for b in declared if b.kind is BaselineKind.CEILING}
        laws = []
        for floor in (b for b in declared if b.kind is BaselineKind.FLOOR and b.metric not in capped):
            rate = self.highest(replace(floor, nodes=nodes), settings, subject.hcas, subject.gpus)
            if rate is not None:
                laws.append(replace(floor, kind=BaselineKind.CEILING, value=rate, source="physical: line rate of the declared hardware"))
        return (*declared, *laws)

    @property
    def options(self) -> str:
        """By which `clusterctl burnin` measures this gate alone: its name, and its level where the default one is not meant for it."""
        levels = self.default_levels
        return f"--gates {self.name}" if not levels or "standard" in levels else f"--level {levels[0]} --gates {self.name}"

    def hint(self, result: GateResult) -> str:  # noqa: ARG002 for gates to override
        """What to do next about a measurement that did not pass."""
        return ""
