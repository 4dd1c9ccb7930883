"""Collects what the report of a run shows from the store and the run directory."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from clusterctl.adapters import clock, raw_records
from clusterctl.adapters.installed_versions_file import read_installed
from clusterctl.adapters.run_directory import RunDir
from clusterctl.adapters.slow_classes_file import read_slow
from clusterctl.core.gates.judging.installed_skew import installed_skews
from clusterctl.core.gates.judging.version_skew import version_skews
from clusterctl.core.gates.planning.header import FILE as HEADER_FILE
from clusterctl.core.gates.registry import gate_names
from clusterctl.model.errors import ConfigError, RunDirectoryGoneError
from clusterctl.model.records import RunStatus
from clusterctl.model.run_report import Earlier, EvidenceLink, NodeSection, RunReport
from clusterctl.model.state import State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from clusterctl.adapters.store import Store
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.gate_result import GateResult, RawRecord
    from clusterctl.model.installed_skew import InstalledVersion
    from clusterctl.model.records import NodeRecord, RunRow, TransitionRow
    from clusterctl.model.slow_class import SlowClass

REPORTABLE = frozenset({"provision", "validate", "burnin"})
_SEARCHED = 200


@dataclass(frozen=True, slots=True)
class _Folder:
    """What the directory of a run has for its page; nothing where there is none."""

    files: tuple[str, ...] = ()
    links: Mapping[str, Sequence[EvidenceLink]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    slow: tuple[SlowClass, ...] = ()
    installed: Mapping[str, Sequence[InstalledVersion]] = field(default_factory=dict)


def chosen_run(store: Store, run_id: str) -> RunRow:
    """The run to report: by id or unique prefix; for `last`, the newest that provisioned, validated or burned in nodes.

    Raises:
        UnknownRunError: there is none, or several match.
    """
    if run_id == "last":
        newest = next((r for r in store.runs(_SEARCHED) if r.verb in REPORTABLE), None)
        return newest or store.run("last")
    return store.run(run_id)


def collect(store: Store, run: RunRow, page_folder: Path) -> RunReport:
    """Everything the page of a run shows; links are relative to `page_folder`.

    Nodes are shown as the run left them. Where it gathered no evidence of its own, what still
    counts of earlier evidence is shown, else the newest, with the run that gathered it.
    """
    rundir = RunDir.find(run)
    folder = _read_folder(rundir.path, page_folder) if rundir else _Folder()
    unfinished = run.id in {r.id for r in store.unfinished_runs()}
    sections = tuple(node_sections(store, run, folder.links))
    records, no_records, records_of = _records(store, run, folder.files, sections)
    return RunReport(
        run=run,
        status="unfinished" if unfinished else run.status.value,
        made_at=clock.now(),
        sections=sections,
        links=tuple(folder.links.get("", ())),
        records=records,
        no_records=no_records,
        records_of=records_of,
        slow=folder.slow,
        version_skews=version_skews(
            folder.units, [r for s in sections if s.gates_earlier is None for r in s.gate_results if r.gate in gate_names()]
        ),
        installed_skews=installed_skews(folder.units, folder.installed),
    )


def _read_folder(directory: Path, page_folder: Path) -> _Folder:
    files = _files(directory)
    links = _links(files, directory, page_folder)
    return _Folder(files, links, _units(directory), read_slow(directory), read_installed(directory))


def _units(directory: Path) -> Mapping[str, str]:
    """The scalable unit of each node, partners too, as recorded by the burn-in of the run; none where it has no burn-in."""
    if not (directory / HEADER_FILE).is_file():
        return {}
    return {node.name: node.place.su for node in raw_records.read_header(directory).stored_nodes()}


def node_sections(store: Store, run: RunRow, links: Mapping[str, Sequence[EvidenceLink]]) -> Iterator[NodeSection]:
    """The nodes of a run as it left them, by rack and slot, with what it found and its `links` by node."""
    names = [n.node for n in store.run_nodes(run.id)]
    return (_section(store, run, record, links) for record in store.nodes(names))


def _section(store: Store, run: RunRow, record: NodeRecord, links: Mapping[str, Sequence[EvidenceLink]]) -> NodeSection:
    steps = store.history(record.name)
    state, reason = _left_in(run, record, steps)
    findings, findings_earlier = _findings(store, run.id, record.name)
    results, gates_earlier = _gate_results(store, run.id, record.name)
    return NodeSection(
        record=record,
        state=state,
        reason=reason,
        findings=findings,
        findings_earlier=findings_earlier,
        gate_results=results,
        gates_earlier=gates_earlier,
        steps=tuple(s for s in steps if s.run_id == run.id),
        links=tuple(links.get(record.name, ())),
    )


def _findings(store: Store, run_id: str, node: str) -> tuple[NodeFindings | None, Earlier | None]:
    """Those of the run; else those that count; else the newest."""
    if own := store.findings(node, run_id):
        return own, None
    for counts in (True, False):
        if found := store.findings(node, current=counts):
            return found, Earlier((store.validated_in(node, current=counts),), counts)
    return None, None


def _gate_results(store: Store, run_id: str, node: str) -> tuple[tuple[GateResult, ...], Earlier | None]:
    """Those of the run; else those that count; else those of the last run that judged the node."""
    if own := store.gate_results(node, run_id):
        return own, None
    for counts in (True, False):
        if results := store.gate_results(node, current=counts):
            return results, Earlier(store.measured_in(node, current=counts), counts)
    return (), None


def _left_in(run: RunRow, record: NodeRecord, steps: Sequence[TransitionRow]) -> tuple[State, str]:
    if run.status is RunStatus.RUNNING:
        return record.state, record.reason
    before = [s for s in steps if s.at <= run.finished_at]
    return (before[-1].to_state, before[-1].reason) if before else (State.REGISTERED, "")


def _files(directory: Path) -> tuple[str, ...]:
    found = (p for p in directory.rglob("*") if p.is_file() and not p.is_symlink() and not p.name.startswith("."))
    return tuple(sorted(p.relative_to(directory).as_posix() for p in found))


def _links(files: Sequence[str], directory: Path, page_folder: Path) -> dict[str, list[EvidenceLink]]:
    """Links by node; those in the top folder under the empty name."""
    base = PurePosixPath(os.path.relpath(directory, page_folder))
    found: dict[str, list[EvidenceLink]] = {}
    for name in files:
        path = PurePosixPath(name)
        owner = "" if len(path.parts) == 1 else path.name.removesuffix(path.suffix)
        if path.suffix != ".html":
            found.setdefault(owner, []).append(EvidenceLink(name, (base / path).as_posix()))
    return found


def _records(
    store: Store, run: RunRow, files: Sequence[str], sections: Sequence[NodeSection]
) -> tuple[tuple[RawRecord, ...], str, tuple[str, ...]]:
    """The raw records of the run; where it measured nothing, of the runs whose measurements still count, with their ids; or why there are none."""
    try:
        if any(f.startswith("gates/") for f in files):
            return raw_records.read_all(RunDir.of(run).path), "", ()
        by_run = {s.name: s.gates_earlier.runs for s in sections if s.gates_earlier and s.gates_earlier.counts}
        runs = tuple(sorted({run for of_node in by_run.values() for run in of_node}))
        if not runs:
            return (), "this run measured nothing", ()
        found = ((r, record) for r in runs for record in raw_records.read_all(RunDir.of(store.run(r)).path))
        return tuple(record for r, record in found if r in by_run.get(record.node, ())), "", runs
    except (ConfigError, RunDirectoryGoneError) as e:
        return (), str(e), ()
