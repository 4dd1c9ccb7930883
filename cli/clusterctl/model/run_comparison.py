"""Two runs side by side: what each found on a node, and what changed between them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.part import Part
    from clusterctl.model.records import RunRow
    from clusterctl_validators.finding import Finding


@dataclass(frozen=True, slots=True)
class NodeEvidence:
    """What one run found on a node.

    Attributes:
        parts: as they were recorded when the run ended.
        tools: gate and tool -> version of the tool, where it reports one.
    """

    results: tuple[GateResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    parts: tuple[Part, ...] = ()
    tools: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class RunEvidence:
    """A run with what it found itself, by node."""

    run: RunRow
    status: str
    nodes: Mapping[str, NodeEvidence]


class RunChange(StrEnum):
    """How a result or check of the second run differs from the first.

    LOWER and HIGHER: by more than noise, with an outcome that is good in both. ONLY_BEFORE and ONLY_AFTER: the other run did not measure or check it.
    FOUND: still good, and the text of what was found is another.
    """

    SAME = "same"
    LOWER = "lower"
    HIGHER = "higher"
    FOUND = "found"
    NEWLY_FAILS = "newly_fails"
    NEWLY_PASSES = "newly_passes"
    STILL_FAILS = "still_fails"
    ONLY_BEFORE = "only_before"
    ONLY_AFTER = "only_after"


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One of the two runs."""

    id: str
    verb: str
    target: str
    started_at: str
    status: str


@dataclass(frozen=True, slots=True)
class ComparedResult:
    """A gate result as one of the runs has it.

    Attributes:
        outcome: pass, warn, fail, could_not_run, not_applicable or waived.
        reason: why it is not a pass, as a code; null for a pass.
        value: what was measured; null where nothing was.
        limit: the number it was compared with; null where there is none.
        margin_percent: how far the value is above a floor; negative below it; null where the rule is not a floor.
        found: for people.
        simulated: the number comes from a lab.
    """

    outcome: str
    rule: str
    reason: str | None
    device: str
    value: float | None
    limit: float | None
    margin_percent: float | None
    found: str
    simulated: bool


@dataclass(frozen=True, slots=True)
class ResultPair:
    """The results of both runs for one gate, metric and device.

    Attributes:
        before: null where the first run has none.
        after: null where the second run has none.
        difference_percent: of the second value from the first; null where one of them is missing, or the first is 0.
        noise_percent: a difference up to it is not significant; null for what is not a rate.
        change: same, lower, higher, newly_fails, newly_passes, still_fails, only_before or only_after.
    """

    gate: str
    metric: str
    unit: str
    before: ComparedResult | None
    after: ComparedResult | None
    difference_percent: float | None
    noise_percent: float | None
    change: RunChange


@dataclass(frozen=True, slots=True)
class CheckPair:
    """A check that the two runs answer differently, or that fails in both.

    Attributes:
        before: its outcome in the first run; empty where it was not checked.
        after: its outcome in the second run; empty where it was not checked.
        found_before: what the first run found.
        found_after: what the second run found.
        change: found, newly_fails, newly_passes, still_fails, only_before or only_after.
    """

    check: str
    before: str
    after: str
    found_before: str
    found_after: str
    change: RunChange


@dataclass(frozen=True, slots=True)
class ChangedPart:
    """Another serial at a place; an empty one where no part was recorded."""

    kind: str
    slot: str
    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ChangedVersion:
    """Another version of a program; an empty one where none was recorded."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ComparedNode:
    """A node of one or both runs.

    Attributes:
        in_before: the first run includes it.
        in_after: the second run includes it.
        results: of all gates, equal ones included.
        checks: only what differs, or fails in both.
        versions: of the tools of gates.
    """

    name: str
    in_before: bool
    in_after: bool
    results: tuple[ResultPair, ...]
    checks: tuple[CheckPair, ...]
    parts: tuple[ChangedPart, ...]
    versions: tuple[ChangedVersion, ...]


@dataclass(frozen=True, slots=True)
class ComparisonDocument:
    """clusterctl report --compare RUN RUN -o json.

    Attributes:
        versions: of clusterctl and what it ran with.
    """

    before: ComparedRun
    after: ComparedRun
    versions: tuple[ChangedVersion, ...]
    nodes: tuple[ComparedNode, ...]
