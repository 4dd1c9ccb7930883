"""The machine-readable results of `doctor`, `profile`, `baseline` and `parse --list`; `documents` has the others."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 pydantic reads the annotations when the schemas are generated
from dataclasses import dataclass
from typing import Any

from clusterctl.model.doctor_check import Check  # noqa: TC001 as above
from clusterctl.model.gate_result import Baseline  # noqa: TC001
from clusterctl.model.learned import Cluster, DeviceClass, NotLearned  # noqa: TC001
from clusterctl.model.problem import Problem  # noqa: TC001


@dataclass(frozen=True, slots=True)
class DoctorDocument:
    """clusterctl doctor -o json."""

    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class ListedProfile:
    """A profile, and how many nodes are in it."""

    name: str
    nodes: int


@dataclass(frozen=True, slots=True)
class ProfilesDocument:
    """clusterctl profile list -o json."""

    profiles: tuple[ListedProfile, ...]


@dataclass(frozen=True, slots=True)
class RoleOfSpec:
    """The variables of one role in a distinct spec, as `--role` shows them.

    Attributes:
        profile: of the first of its nodes.
        digest: of the whole spec.
        nodes: those that it is declared for.
        roles: role -> its variables, without secrets; empty where these nodes do not have the role.
    """

    profile: str
    digest: str
    nodes: tuple[str, ...]
    roles: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ShownSpec(RoleOfSpec):
    """A distinct spec.

    Attributes:
        profile: of the first of its nodes.
        digest: of the whole spec.
        nodes: those that it is declared for.
        roles: role -> its variables, without secrets.
        gates: settings and baselines of the burn-in.
    """

    gates: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ProfileDocument:
    """clusterctl profile show TARGET -o json."""

    specs: tuple[ShownSpec | RoleOfSpec, ...]


@dataclass(frozen=True, slots=True)
class ProfileCheckDocument:
    """clusterctl profile check -o json.

    Attributes:
        problems: all of them; empty exactly where the exit code is 0.
        nodes: how many were checked; null where there are problems. So for the next two.
        specs: how many distinct specs they have.
        profiles: those that have no node.
    """

    problems: tuple[Problem, ...]
    nodes: int | None = None
    specs: int | None = None
    profiles: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class BaselinesDocument:
    """clusterctl baseline show TARGET -o json."""

    baselines: tuple[Baseline, ...]


@dataclass(frozen=True, slots=True)
class MeasuredBaseline:
    """What a class of nodes measured for one limit.

    Attributes:
        floor: the strictest one in force; with the value 0 and no source where none is declared.
        declared: whether one is.
        class_: what makes the values comparable.
        nodes: node -> its worst value.
        median: of these; 0 without any value.
        spread: the median absolute deviation as a share of the median; 0 without any value.
        learned: the floor that the values support; null where there is none.
        expected: what the class reads; null where there is none.
        refusal: why no floor is proposed; null where one is.
        clusters: the lower and the upper one, where the class is two; else empty.
    """

    floor: Baseline
    declared: bool
    class_: DeviceClass
    nodes: Mapping[str, float]
    median: float
    spread: float
    learned: Baseline | None
    expected: Baseline | None
    refusal: NotLearned | None
    clusters: tuple[Cluster, ...]


@dataclass(frozen=True, slots=True)
class MeasuredBaselinesDocument:
    """clusterctl baseline diff TARGET -o json."""

    baselines: tuple[MeasuredBaseline, ...]


@dataclass(frozen=True, slots=True)
class ReadableTool:
    """A tool whose output `parse` reads.

    Attributes:
        aliases: other names for it.
        reads: what of its output, for people.
    """

    tool: str
    aliases: tuple[str, ...]
    reads: str


@dataclass(frozen=True, slots=True)
class ToolsDocument:
    """clusterctl parse --list -o json."""

    tools: tuple[ReadableTool, ...]
