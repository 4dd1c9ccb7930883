"""Everything that the results of a burn-in show of groups of nodes. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.installed_skew import installed_skews, installed_text
from clusterctl.core.gates.judging.slow_classes import class_text, slow_classes
from clusterctl.core.gates.judging.version_skew import skew_text, version_skews
from clusterctl.model.group_findings import GroupFindings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.installed_skew import InstalledVersion


def group_findings(
    subjects: Sequence[Subject], results: Sequence[GateResult], installed: Mapping[str, Sequence[InstalledVersion]]
) -> GroupFindings:
    """The classes that are slow as a whole, and the scalable units with several versions of a tool, or of what is `installed` on their nodes."""
    units = {s.name: s.node.place.su for s in subjects}
    return GroupFindings(slow_classes(subjects, results), version_skews(units, results), installed_skews(units, installed))


def group_texts(group: GroupFindings) -> tuple[str, ...]:
    """For people: a line for each."""
    return (*map(class_text, group.slow_classes), *map(skew_text, group.version_skews), *map(installed_text, group.installed_skews))
