"""Judges outputs of tools that others ran, such as a vendor's acceptance, by the profiles of their nodes. Contacts no node and changes no record."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING

from clusterctl.adapters.given_outputs import read_outputs
from clusterctl.core.gates.gate import Scope
from clusterctl.core.gates.judging.group_findings import group_findings
from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.judging.not_proven import not_proven
from clusterctl.core.gates.registry import gate_named, gate_names, require_known
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.errors import ConfigError, UsageProblemError
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, RawRecord
from clusterctl.model.level import LEVELS, Level
from clusterctl.workflows.judge_again import Rejudged, with_baselines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl.adapters.given_outputs import GivenOutput
    from clusterctl.core.gates.planning.step import Obstacle
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.node import Node


def judge_given(directory: Path, nodes: Sequence[Node], level: Level, *, gate: str = "", baselines: Path | None = None) -> Rejudged:
    """Judge what is in `directory` as if `burnin` had printed it at `level`. A node without an output that others have gets could-not-run.

    Raises:
        UsageProblemError: `gate` is unknown, or no node has an output of it.
        ConfigError: an output is of no node of the target, or of no gate that one command on one node measures in its own time, or a profile is invalid.
    """
    if gate:
        require_known((gate,))
    found = read_outputs(directory)
    outputs = [o for o in found if gate in ("", o.gate)]
    if not outputs:
        raise UsageProblemError(
            detail=f"{directory} has no output of {gate}", hint=f"it has outputs of: {', '.join(sorted({o.gate for o in found}))}"
        )
    unknown = sorted({o.node for o in outputs} - {n.name for n in nodes})
    if unknown:
        raise ConfigError(
            detail=f"{directory / unknown[0]}: the target has no such node", hint="name a target that has it, or remove the folder"
        )
    names = tuple(name for name in gate_names() if name in {o.gate for o in outputs})
    for output in outputs:
        _require_judgeable(directory, output)
    today = datetime.now(UTC).date()
    subjects = [subject_of(_with_levels(n, names), today) for n in with_baselines(nodes, baselines)]
    records: list[RawRecord] = []
    impossible: dict[tuple[str, str], Obstacle] = {}
    for name in names:
        own = [o for o in outputs if o.gate == name]
        records += _records(own, [s for s in subjects if s.name in {o.node for o in own}], level, impossible)
    results = tuple(_of_a_file(directory, r) for r in judge(subjects, records, level=level, gates=names, impossible=impossible))
    return Rejudged(
        level, names, None, tuple(n.name for n in nodes), results, group_findings(subjects, results, {}), not_proven(subjects, level, names)
    )


def _of_a_file(directory: Path, result: GateResult) -> GateResult:
    """The usual hint to an output that cannot be read leads to a run directory, and there is no run."""
    if result.reason not in (GateReason.UNPARSABLE, GateReason.INCOMPLETE):
        return result
    file = f"{directory / result.node}/{result.gate}.*"
    return replace(result, hint=f"look at {file}: the whole output of the tool is needed, as `clusterctl parse --list` has it")


def _require_judgeable(directory: Path, output: GivenOutput) -> None:
    """Raises ConfigError for a gate of several nodes, and for one that loads a node for a time: only the agent of a burn-in measures how long it ran."""
    gate = gate_named(output.gate)
    timed = [g for g in gate_names(Scope.NODE) if "duration_s" in gate_named(g).settings_model.model_fields]
    if gate.scope is Scope.NODE and gate.name not in timed:
        return
    why = "must load a node for a time, which an output does not prove" if gate.name in timed else "is not measured by one node alone"
    possible = ", ".join(g for g in gate_names(Scope.NODE) if g not in timed)
    raise ConfigError(detail=f"{directory / output.node}: {gate.name} {why}", hint=f"gates: {possible}")


def _with_levels(node: Node, names: tuple[str, ...]) -> Node:
    """Its profile with just these gates: what was measured elsewhere is judged whether or not a level of it has them."""
    return replace(node, spec=replace(node.spec, gates={**node.spec.gates, "gates_levels": {level: list(names) for level in LEVELS}}))


def _records(
    outputs: Sequence[GivenOutput], subjects: Sequence[Subject], level: Level, impossible: dict[tuple[str, str], Obstacle]
) -> list[RawRecord]:
    """As the agent of a burn-in would have brought them, but for time and exit status, which are unknown."""
    gate = gate_named(outputs[0].gate)
    planned = gate.plan(subjects, level, count())
    impossible.update({(gate.name, node): obstacle for node, obstacle in planned.obstacles.items()})
    records = []
    for output in outputs:
        steps = planned.steps.get(output.node, ())
        if len(steps) > 1:
            raise ConfigError(
                detail=f"{gate.name} takes {len(steps)} commands on a node; a single output cannot be judged",
                hint="measure it: `clusterctl burnin`",
            )
        records += [
            RawRecord(
                gate.name, s.name, s.tool, output.node, tuple(s.argv), output.written_at, 0.0, exit_status=0, stdout=output.text, stderr=""
            )
            for s in steps
        ]
    return records
