"""The queue of shards: one procrastinate job per shard, in the PostgreSQL database of the store. The only module that imports procrastinate.

A job names only the shard to provision; what is to be done, and who may, is in the shard's row. So a job that is lost or
started twice does no harm: `sweep` queues what is missing, and the store refuses the worker with the older token.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from sqlalchemy import make_url

from clusterctl.adapters.store.database_urls import connection_string, without_password
from clusterctl.adapters.store.error_hints import database_hint
from clusterctl.model.errors import QueueError, UsageProblemError
from clusterctl.model.shard import ShardState

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator

    from procrastinate import App
    from procrastinate.worker import Worker

    from clusterctl.model.shard import Shard

INSTALL_QUEUE = "install it: pip install 'clusterctl[queue]'"
TASK = "clusterctl.provision_shard"
_NAME = 32
_DOING = "doing"
_CONNECT_S = 10
_UNEXPECTED_S = 2.0


class RetryLaterError(Exception):
    """Raised by the handler of a shard: work on it again, not before `after_s` seconds."""

    def __init__(self, after_s: float) -> None:
        self.after_s = after_s
        super().__init__(f"again in {after_s:g} s")


def queue_name(site: str, content: str) -> str:
    """The queue of the workers of a site that have the same content; a worker with other content never gets its jobs.

    A digest, because PostgreSQL announces jobs on a channel with the queue's name, and these have at most 63 bytes.
    """
    return hashlib.sha256(f"{site}\n{content}".encode()).hexdigest()[:_NAME]


def require_postgresql(url: str) -> None:
    """Refuse a store that can have no queue.

    Raises:
        UsageProblemError: it is not a PostgreSQL database.
    """
    if make_url(url).get_backend_name() != "postgresql":
        hint = "set database_url in clusterctl.yml to postgresql+psycopg://user@host/name; docs/how-to/queue.md"
        raise UsageProblemError(detail="a queue needs PostgreSQL: this site's record is in SQLite", hint=hint)


def queue_library() -> str:
    """The installed version of procrastinate; empty without the extra `queue`."""
    try:
        return version("procrastinate")
    except PackageNotFoundError:
        return ""


class JobQueue:
    """An open queue."""

    def __init__(self, app: App, url: str) -> None:
        self._app = app
        self._url = url
        self._running: set[int] = set()
        self._worker_ids: set[int] = set()
        self._worker: Worker | None = None

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str) -> AsyncIterator[JobQueue]:
        """Connect to the database of the store, and create the queue's tables if they are missing.

        Raises:
            UsageProblemError: the store is not a PostgreSQL database, or procrastinate is not installed.
            QueueError: the server does not answer.
        """
        require_postgresql(url)
        try:
            from procrastinate import App, PsycopgConnector  # noqa: PLC0415 an extra
        except ImportError as e:
            raise UsageProblemError(detail=f"the queue's library is missing ({e.name})", hint=INSTALL_QUEUE) from e
        from psycopg_pool import PoolTimeout  # noqa: PLC0415 comes with procrastinate

        for name in ("procrastinate", "psycopg.pool"):  # what happens to shards is reported by the handler, the rest by errors
            logging.getLogger(name).addHandler(logging.NullHandler())
            logging.getLogger(name).propagate = False
        conninfo = connection_string(url)
        await _require_server(url, conninfo)
        app = App(connector=PsycopgConnector(conninfo=conninfo, min_size=1, max_size=4, timeout=_CONNECT_S))
        try:
            with _as_queue_errors(url):
                async with app.open_async():
                    queue = cls(app, url)
                    await queue._ensure_tables()
                    yield queue
        except PoolTimeout as e:
            raise _queue_error(url, e) from e

    async def _ensure_tables(self) -> None:
        from procrastinate import exceptions  # noqa: PLC0415

        if await self._app.check_connection_async():
            return
        try:
            await self._app.schema_manager.apply_schema_async()
        except exceptions.ConnectorException:
            if not await self._app.check_connection_async():  # else another process was faster
                raise

    async def add(self, shards: Iterable[Shard]) -> None:
        """Queue a job for each shard. Jobs of one rack run one after the other, those of other orders, too.

        No `queueing_lock`: where a second job waits for a shard, procrastinate would refuse to give back the first one of a lost worker.
        """
        for shard in shards:
            task = self._app.configure_task(
                TASK, queue=queue_name(shard.site, shard.content), lock=f"{shard.kind} {shard.site}/{shard.rack}"
            )
            await task.defer_async(shard_id=shard.id)

    async def sweep(self, open_shards: Collection[Shard], lost_after_s: float) -> None:
        """Give back the jobs of lost workers, and of ours whose end could not be recorded; queue the open shards that have no job.

        Raises:
            QueueError: the server does not answer.
        """
        from procrastinate import exceptions  # noqa: PLC0415

        manager = self._app.job_manager
        with _as_queue_errors(self._url):
            lost = [j.id for j in await manager.get_stalled_jobs(task_name=TASK, seconds_since_heartbeat=lost_after_s)]
            jobs = list(await manager.list_jobs_async(task=TASK))  # ended jobs are deleted
            lost += [j.id for j in jobs if j.status == _DOING and j.worker_id in self._worker_ids and j.id not in self._running]
            for job_id in {i for i in lost if i is not None}:
                with suppress(exceptions.ConnectorException):  # another worker was faster
                    await manager.retry_job_by_id_async(job_id, retry_at=datetime.now(UTC))
            known = {j.task_kwargs.get("shard_id") for j in jobs}
            await self.add(s for s in open_shards if s.id not in known and s.state is not ShardState.WAITING)

    async def work(self, queue: str, handle: Callable[[int], Awaitable[None]], *, jobs: int, lost_after_s: float) -> None:
        """Call `handle` with the id of each shard of a queue, `jobs` of them at a time, until `stop`; where it is cancelled, or the server goes away, those that run are cancelled.

        Raises:
            QueueError: the server went away.
        """
        from procrastinate import BaseRetryStrategy, JobContext, RetryDecision  # noqa: PLC0415
        from procrastinate.worker import Worker  # noqa: PLC0415

        class Again(BaseRetryStrategy):
            """Whatever ended a handler but its return, the shard is not done: the store records when it is."""

            def get_retry_decision(self, *, exception: BaseException, job: object) -> RetryDecision:  # noqa: ARG002
                wait_s = exception.after_s if isinstance(exception, RetryLaterError) else _UNEXPECTED_S
                return RetryDecision(retry_at=datetime.now(UTC) + timedelta(seconds=wait_s))

        async def provision_shard(context: JobContext, shard_id: int) -> None:
            job_id = context.job.id or 0
            self._running.add(job_id)
            try:
                await handle(shard_id)
            finally:
                self._running.discard(job_id)

        self._app.task(name=TASK, pass_context=True, retry=Again())(provision_shard)
        self._worker = Worker(
            self._app,
            queues=[queue],
            concurrency=jobs,
            install_signal_handlers=False,
            shutdown_graceful_timeout=0,
            delete_jobs="always",
            update_heartbeat_interval=lost_after_s / 3,
            stalled_worker_timeout=lost_after_s,
        )
        beats = asyncio.create_task(self._beat(lost_after_s / 3))
        try:
            await self._worker.run()  # type: ignore[no-untyped-call]  # procrastinate annotates no results
        finally:
            beats.cancel()

    def stop(self) -> None:
        """Take no more shards; `work` returns when those that run have ended."""
        if self._worker:
            self._worker.shutdown_graceful_timeout = None
            self._worker.stop()  # type: ignore[no-untyped-call]

    async def _beat(self, interval_s: float) -> None:
        """The heartbeat of procrastinate itself ends when a worker stops, and the last shard may take hours after that."""
        from procrastinate import exceptions  # noqa: PLC0415

        while True:
            await asyncio.sleep(interval_s)
            if self._worker and self._worker.worker_id is not None:
                self._worker_ids.add(self._worker.worker_id)
                with suppress(exceptions.ConnectorException):
                    await self._app.job_manager.update_heartbeat(self._worker.worker_id)


@contextmanager
def _as_queue_errors(url: str) -> Iterator[None]:
    from procrastinate import exceptions  # noqa: PLC0415

    try:
        yield
    except exceptions.ConnectorException as e:
        raise _queue_error(url, e) from e


async def _require_server(url: str, conninfo: str) -> None:
    """A pool of connections tries for its whole time limit, and keeps the reason of the server to itself."""
    from psycopg import AsyncConnection, Error  # noqa: PLC0415 an extra

    try:
        connection = await AsyncConnection.connect(conninfo, connect_timeout=_CONNECT_S)
    except Error as e:
        raise _queue_error(url, e) from e
    await connection.close()


def _queue_error(url: str, error: Exception) -> QueueError:
    cause = str(error.__cause__ or error).strip().splitlines()
    detail = cause[0] if cause else type(error).__name__
    return QueueError(path=without_password(url), detail=detail, hint=database_hint("postgresql", detail))
