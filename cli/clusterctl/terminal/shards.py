"""Shards of the queue and their workers: as they go, and as tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from clusterctl.core import timestamps
from clusterctl.model.provision import Note
from clusterctl.model.queue_documents import CurrentRunsDocument, QueuedDocument, RunInProgress
from clusterctl.model.running_text import counted, first_of
from clusterctl.model.shard import SEEN_EVERY_S, Shard, ShardKind, ShardState, Worker
from clusterctl.terminal import messages, out
from clusterctl.terminal.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.model.records import RunRow
    from clusterctl.model.shard import RunsOverview

_QUEUED = ("ORDER", "SHARD", "SITE", "RACK", "NODES", "STATE")
_SHARDS = (*_QUEUED, "WORKER", "RUN", "SINCE", "EXIT", "DETAIL")
_RUNS = ("RUN", "VERB", "TARGET", "OPERATOR", "SINCE", "NODES BY PHASE")
_WORKERS = ("WORKER", "SITE", "RACKS AT A TIME", "CONTENT", "SEEN")
_CONTENT = 12
_FEW = 6
# one that missed so many heartbeats has ended without a report
_SILENT_S = 6 * SEEN_EVERY_S


def show_progress(progress: Shard | Worker | Note) -> None:
    """One line on stderr."""
    messages.note(progress.text if isinstance(progress, Note) else _line(progress))


def show_queued(shards: Sequence[Shard], output: str) -> None:
    """What `provision --queue` queued, or `--cancel` cancelled."""
    if output != "table":
        out.emit(output, "queued", asdict(QueuedDocument(tuple(shards))))
        return
    out.table(_QUEUED, [_place(s) for s in shards])
    messages.note("`clusterctl status --runs` shows how far they are")


def show_runs(found: RunsOverview, output: str) -> None:
    """Runs in progress, shards and workers; tables that would be empty are left out."""
    if output != "table":
        runs = tuple(RunInProgress(r.id, r.verb, r.target, r.operator, r.started_at, found.phases[r.id]) for r in found.runs)
        out.emit(output, "runs", asdict(CurrentRunsDocument(runs, tuple(found.shards), tuple(found.workers))))
        return
    if found.runs:
        out.table(_RUNS, [(*_run_row(r), _phases(found.phases[r.id])) for r in found.runs])
    if found.shards:
        out.table(_SHARDS, [_shard_row(s) for s in found.shards])
    if found.workers:
        out.table(_WORKERS, [_worker_row(w) for w in found.workers])
    if not (found.runs or found.shards or found.workers):
        messages.note("no run is in progress, and nothing is queued")
    for text in _unserved(found):
        messages.note(text)


def queue_question(shards: Sequence[Shard]) -> str:
    """The question to the operator before they are queued."""
    shards = [s for s in shards if s.kind is ShardKind.PROVISION]
    nodes = sum(len(s.nodes) for s in shards)
    racks = first_of([s.rack or "no rack" for s in shards], _FEW)
    return f"{counted(nodes, 'node')} in {racks}. Queue {'it' if nodes == 1 else 'them'}?"


def _unserved(found: RunsOverview) -> list[str]:
    """Shards that wait for a worker of their site and content, where none of the recorded workers is one that was seen lately."""
    silent_since = timestamps.after(found.now, -_SILENT_S)
    served = {(w.site, w.content) for w in found.workers if w.seen_at > silent_since}
    waiting = sorted({(s.site, s.content) for s in found.shards if not s.ended} - served)
    return [f"no worker takes {_site(site)} with content {content[:_CONTENT]}: `clusterctl worker` starts one" for site, content in waiting]


def _rack(shard: Shard) -> str:
    return shard.rack or ("-" if shard.kind is ShardKind.PROVISION else "across racks")


def _site(name: str) -> str:
    return f"racks of site {name}" if name else "racks without a site"


def _run_row(run: RunRow) -> tuple[str, ...]:
    return run.id, run.verb, printable(run.target), run.operator, timestamps.short(run.started_at)


def _phases(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {phase or 'waiting'}" for phase, number in counts.items()) or "-"


def _place(shard: Shard) -> tuple[str, ...]:
    return shard.order_id, str(shard.id), shard.site or "-", _rack(shard), str(len(shard.nodes)), shard.state.value


def _shard_row(s: Shard) -> tuple[str, ...]:
    since = timestamps.short(s.ended_at or s.started_at or s.queued_at)
    exit_code = "" if s.exit_code is None else str(s.exit_code)
    return *_place(s), s.worker or "-", s.run_id or "-", since, exit_code or "-", printable(s.detail) or "-"


def _worker_row(w: Worker) -> tuple[str, ...]:
    return w.name, w.site or "-", str(w.jobs), w.content[:_CONTENT], timestamps.short(w.seen_at)


def _line(x: Shard | Worker) -> str:
    if isinstance(x, Worker):
        return f"worker {x.name} takes {_site(x.site)}, {x.jobs} at a time; content {x.content[:_CONTENT]}"
    what = f"shard {x.id}, {'rack ' if x.kind is ShardKind.PROVISION else ''}{_rack(x)}, {counted(len(x.nodes), 'node')}: {x.state}"
    if x.state is ShardState.RUNNING:
        return what
    exit_code = "" if x.exit_code is None else f", exit code {x.exit_code}"
    return f"{what}{exit_code}{f', run {x.run_id}' if x.run_id else ''}{f': {printable(x.detail)}' if x.detail else ''}"
