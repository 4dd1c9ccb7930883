"""Runs: who started which verb, when, and how it ended; also runs without a recorded end."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, insert, select, update

from clusterctl.adapters import processes
from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import reading, writing
from clusterctl.adapters.store.repository import Repository, slices, storable_text
from clusterctl.model.errors import UnknownRunError
from clusterctl.model.holder import Holder
from clusterctl.model.records import RunNodeRow, RunRow, RunStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection, Row


class RunRepository(Repository):
    """Run records."""

    def start_run(self, run: RunRow, nodes: Iterable[str] = ()) -> None:
        """Record a run before it starts; `nodes` (registered) are the nodes it will change."""
        row = {f: getattr(run, f) for f in ("id", "verb", "target", "operator", "started_at", "finished_at", "exit_code")}
        row["directory"] = self._stored_path(run.directory)
        more = {"status": run.status.value, "argv": list(run.argv), "versions": dict(run.versions), "summary": dict(run.summary)}
        process = asdict(run.holder or processes.current())
        with writing(self._engine) as connection:
            connection.execute(insert(t.runs).values(**row, **more, **process))
            for part in slices(nodes):
                connection.execute(
                    insert(t.run_nodes), [{"run_id": run.id, "node": n, "phase": "", "outcome": "", "detail": ""} for n in part]
                )
                connection.execute(update(t.nodes).where(t.nodes.c.name.in_(part)).values(last_run=run.id))

    def finish_run(self, run_id: str, status: RunStatus | str, exit_code: int, summary: Mapping[str, Any]) -> None:
        """Record how a run ended."""
        end = {"status": RunStatus(status).value, "exit_code": exit_code, "summary": dict(summary), "finished_at": self._clock()}
        with writing(self._engine) as connection:
            connection.execute(update(t.runs).where(t.runs.c.id == run_id).values(**end))

    def save_run_node(self, run_id: str, node: str, *, phase: str, outcome: str = "", detail: str = "") -> None:
        """Record the progress of a run on a node, for --resume and the report."""
        key = (t.run_nodes.c.run_id == run_id) & (t.run_nodes.c.node == node)
        values = {"phase": phase, "outcome": outcome, "detail": storable_text(detail)}
        with writing(self._engine) as connection:
            if connection.execute(update(t.run_nodes).where(key).values(**values)).rowcount == 0:
                connection.execute(insert(t.run_nodes).values(run_id=run_id, node=node, **values))
                connection.execute(update(t.nodes).where(t.nodes.c.name == node).values(last_run=run_id))

    def run_nodes(self, run_id: str) -> tuple[RunNodeRow, ...]:
        """The nodes of a run and the progress on each."""
        with reading(self._engine) as connection:
            rows = connection.execute(select(t.run_nodes).where(t.run_nodes.c.run_id == run_id).order_by(t.run_nodes.c.node))
            return tuple(RunNodeRow(*r) for r in rows)

    def run(self, run_id: str) -> RunRow:
        """A run by its id, a unique prefix of it, or `last`.

        Raises:
            UnknownRunError: no run matches, or several do.
        """
        newest = select(t.runs).order_by(t.runs.c.started_at.desc(), t.runs.c.id.desc())
        with reading(self._engine) as connection:
            if run_id == "last":
                rows = list(connection.execute(newest.limit(1)))
            else:
                exact = list(connection.execute(select(t.runs).where(t.runs.c.id == run_id)))
                rows = exact or list(connection.execute(newest.where(t.runs.c.id.startswith(run_id, autoescape=True)).limit(6)))
        if len(rows) != 1 or not run_id:
            near = f" (several: {', '.join(r.id for r in rows)})" if rows else ""
            raise UnknownRunError(run_id=run_id, near=near)
        return self._row(rows[0])

    def runs(self, limit: int = 20, node: str = "") -> tuple[RunRow, ...]:
        """The newest runs, newest first; only those of `node` if given."""
        query = select(t.runs).order_by(t.runs.c.started_at.desc(), t.runs.c.id.desc()).limit(limit)
        if node:
            query = query.join(t.run_nodes, t.run_nodes.c.run_id == t.runs.c.id).where(t.run_nodes.c.node == node)
        with reading(self._engine) as connection:
            return tuple(self._row(r) for r in connection.execute(query))

    def ended_since(self, moment: str) -> tuple[RunRow, ...]:
        """The runs that ended at or after a moment, in the order of their ends."""
        query = select(t.runs).where(t.runs.c.finished_at >= moment).order_by(t.runs.c.finished_at, t.runs.c.id)
        with reading(self._engine) as connection:
            return tuple(self._row(r) for r in connection.execute(query))

    def unfinished_runs(self) -> tuple[RunRow, ...]:
        """Runs without a recorded end whose process has ended (killed, or its host rebooted); oldest first."""
        now = self._clock()
        with reading(self._engine) as connection:
            expiry = {r.run_id: r.expires_at for r in connection.execute(select(t.leases.c.run_id, t.leases.c.expires_at))}
            return tuple(
                r for r in self._open_runs(connection) if r.holder and processes.is_dead(r.holder, r.started_at, expiry.get(r.id, ""), now)
            )

    def runs_in_progress(self) -> tuple[RunRow, ...]:
        """Runs without a recorded end whose process may be at work; oldest first."""
        dead = {r.id for r in self.unfinished_runs()}
        with reading(self._engine) as connection:
            return tuple(r for r in self._open_runs(connection) if r.id not in dead)

    def phase_counts(self, run_id: str) -> dict[str, int]:
        """Phase -> how many nodes of a run are in it; the empty phase for those that it has not begun with."""
        c = t.run_nodes.c
        query = select(c.phase, func.count().label("number")).where(c.run_id == run_id).group_by(c.phase).order_by(c.phase)
        with reading(self._engine) as connection:
            return {row.phase: row.number for row in connection.execute(query)}

    def _open_runs(self, connection: Connection) -> tuple[RunRow, ...]:
        rows = connection.execute(
            select(t.runs).where(t.runs.c.status == RunStatus.RUNNING.value).order_by(t.runs.c.started_at, t.runs.c.id)
        )
        return tuple(self._row(r) for r in rows)

    def _row(self, row: Row[Any]) -> RunRow:
        data = dict(row._mapping)  # noqa: SLF001 SQLAlchemy's documented name
        holder = Holder(data.pop("host"), data.pop("pid"), data.pop("mark"))
        if data["directory"] and self._folder:
            data["directory"] = str(self._folder / data["directory"])
        return RunRow(**{**data, "argv": tuple(data["argv"]), "status": RunStatus(data["status"]), "holder": holder})

    @property
    def _folder(self) -> Path | None:
        """The folder of an SQLite database: run directories below it are stored relative to it, so that it can be moved as a whole."""
        url = self._engine.url
        return Path(url.database).absolute().parent if url.get_backend_name() == "sqlite" and url.database else None

    def _stored_path(self, directory: str) -> str:
        inside = directory and self._folder and Path(directory).is_relative_to(self._folder)
        return str(Path(directory).relative_to(self._folder)) if inside and self._folder else directory
