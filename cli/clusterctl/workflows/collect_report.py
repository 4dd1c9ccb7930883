"""Collects what the report of a run shows from the store and the run directory."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from clusterctl.adapters import clock, raw_records
from clusterctl.model.errors import ConfigError
from clusterctl.model.records import RunStatus
from clusterctl.model.run_report import EvidenceLink, NodeSection, RunReport
from clusterctl.model.state import State

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.adapters.store import Store
    from clusterctl.model.gate_result import RawRecord
    from clusterctl.model.records import NodeRecord, RunRow, TransitionRow

REPORTABLE = frozenset({"provision", "validate", "burnin"})
_SEARCHED = 200


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

    Nodes are shown as the run left them. Where it gathered no evidence of its own, the newest earlier evidence is shown and marked.
    """
    names = [n.node for n in store.run_nodes(run.id)]
    files = _files(Path(run.directory))
    links = _links(files, Path(run.directory), page_folder)
    unfinished = run.id in {r.id for r in store.unfinished_runs()}
    records, no_records = _records(run, files)
    return RunReport(
        run=run,
        status="unfinished" if unfinished else run.status.value,
        made_at=clock.now(),
        sections=tuple(_section(store, run, record, links) for record in store.nodes(names)),
        links=tuple(links.get("", ())),
        records=records,
        no_records=no_records,
    )


def _section(store: Store, run: RunRow, record: NodeRecord, links: Mapping[str, Sequence[EvidenceLink]]) -> NodeSection:
    steps = store.history(record.name)
    state, reason = _left_in(run, record, steps)
    findings, results = store.findings(record.name, run.id), store.gate_results(record.name, run.id)
    return NodeSection(
        record=record,
        state=state,
        reason=reason,
        findings=findings or store.findings(record.name),
        findings_earlier=findings is None,
        gate_results=results or store.gate_results(record.name),
        gates_earlier=not results,
        steps=tuple(s for s in steps if s.run_id == run.id),
        links=tuple(links.get(record.name, ())),
    )


def _left_in(run: RunRow, record: NodeRecord, steps: Sequence[TransitionRow]) -> tuple[State, str]:
    if run.status is RunStatus.RUNNING:
        return record.state, record.reason
    before = [s for s in steps if s.at <= run.finished_at]
    return (before[-1].to_state, before[-1].reason) if before else (State.REGISTERED, "")


def _files(directory: Path) -> tuple[str, ...]:
    if not directory.is_dir():
        return ()
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


def _records(run: RunRow, files: Sequence[str]) -> tuple[tuple[RawRecord, ...], str]:
    """The raw records of a run, or why there are none."""
    if not any(f.startswith("gates/") for f in files):
        return (), "this run measured nothing"
    try:
        return raw_records.read_all(Path(run.directory)), ""
    except ConfigError as e:
        return (), str(e)
