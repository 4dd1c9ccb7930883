"""Judges a stored burn-in again: its raw records under today's profile, or under the profile stored with it. Contacts no node."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.given_yaml import given_yaml
from clusterctl.adapters.installed_versions_file import read_installed
from clusterctl.adapters.raw_records import read_all, read_header
from clusterctl.adapters.run_directory import RunDir
from clusterctl.adapters.store import Store
from clusterctl.adapters.usual_values import read_usual
from clusterctl.core.gates.judging.group_findings import group_findings
from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.judging.not_proven import not_proven
from clusterctl.core.gates.registry import gate_named, gate_names
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.errors import ConfigError, UsageProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.core.gates.planning.header import Header
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.group_findings import GroupFindings
    from clusterctl.model.level import Level
    from clusterctl.model.node import Node


@dataclass(frozen=True, slots=True)
class Rejudged:
    """The verdicts on a stored run, or on given outputs: on its nodes, and on groups of them.

    Attributes:
        gates: those that were measured.
        pair_coverage: what the pair schedule reached; None without pairs.
        not_proven: gate -> what its pass does not prove at this level.
    """

    level: Level
    gates: tuple[str, ...]
    pair_coverage: Mapping[str, Any] | None
    nodes: tuple[str, ...]
    results: tuple[GateResult, ...]
    group: GroupFindings
    not_proven: Mapping[str, str]


def find_run(config: Config, run: str) -> Path:
    """The directory of a run: itself, or what the store has of an id, a unique prefix of one, or `last`.

    Raises:
        UnknownRunError: the store has no such run, or several match.
        RunDirectoryGoneError: of the run that is meant.
    """
    if Path(run).is_dir():
        return Path(run)
    with Store.open_to_read(config.store_url) as store:
        return RunDir.of(store.run(run)).path


def judge_stored(
    directory: Path, load: Callable[[str], Sequence[Node]] | None, *, gate: str = "", baselines: Path | None = None
) -> Rejudged:
    """Judge the run in `directory`; `load` resolves host patterns to nodes, None takes the profiles stored with the run.

    Raises:
        UsageProblemError: the run did not measure `gate`.
        ConfigError: the directory holds no burn-in, a gate of it is not registered here, a profile is invalid, or a node is no
            longer in the inventory.
    """
    header = read_header(directory)
    records = read_all(directory)
    if gate and gate not in header.gates:
        hint = f"it has: {', '.join(header.gates)}; all gates: {', '.join(gate_names())}"
        raise UsageProblemError(detail=f"the run has no gate {gate!r}", hint=hint)
    for name in header.gates:
        gate_named(name)
    nodes = header.stored_nodes() if load is None else _today(header, load)
    nodes = with_baselines(nodes, baselines)
    today = datetime.now(UTC).date()
    subjects = [subject_of(n, today, partner=n.name in header.partners) for n in nodes]
    results = judge(subjects, records, level=header.level, gates=header.gates, impossible=header.impossible, usual=read_usual(directory))
    chosen = tuple(r for r in results if gate in ("", r.gate))
    group = group_findings(subjects, chosen, read_installed(directory))
    gates = (gate,) if gate else header.gates
    return Rejudged(header.level, gates, header.pair_coverage, header.nodes, chosen, group, not_proven(subjects, header.level, gates))


def _today(header: Header, load: Callable[[str], Sequence[Node]]) -> Sequence[Node]:
    names = (*header.nodes, *header.partners)
    found = {n.name: n for n in load(",".join(names))}
    gone = [n for n in names if n not in found]
    if gone:
        raise ConfigError(
            detail=f"{gone[0]} is no longer in the inventory", hint="add --recorded to judge by the profile that was stored with the run"
        )
    return [found[n] for n in names]


def with_baselines(nodes: Sequence[Node], file: Path | None) -> Sequence[Node]:
    """The nodes with the baselines of a file in place of their own; unchanged without a file.

    Raises:
        ConfigError: it cannot be read, or has no gates_baselines.
    """
    if file is None:
        return nodes
    entries = _read_baselines(file)
    return [replace(n, spec=replace(n.spec, gates={**n.spec.gates, "gates_baselines": entries})) for n in nodes]


def _read_baselines(file: Path) -> list[Any]:
    try:
        data = given_yaml(file)
    except OSError as e:
        raise ConfigError(detail=f"{file}: {e}", hint="write a YAML file with gates_baselines: [...]") from e
    entries = data.get("gates_baselines") if isinstance(data, dict) else data
    if not isinstance(entries, list):
        raise ConfigError(detail=f"{file}: holds no list gates_baselines", hint="write a YAML file with gates_baselines: [...]")
    return entries
