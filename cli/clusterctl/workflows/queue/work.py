"""The worker: takes shards of its site from the queue, and runs each in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.job_queue import JobQueue, RetryLaterError, queue_name
from clusterctl.model.errors import ContentDiffersError, QueueError, StaleTokenError, StoreError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.provision import Note
from clusterctl.model.shard import SEEN_EVERY_S, ShardState, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clusterctl.adapters.store import Store
    from clusterctl.model.shard import Shard

MOST_FAILURES = 5
_FIRST_WAIT_S, _LONGEST_WAIT_S = 5.0, 300.0
_HELD_S = 30.0
_RECONNECT_S = 2.0
_END_S = 60.0
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class ShardCommand:
    """A command line, and environment variables beside those of this process."""

    argv: Sequence[str]
    variables: Mapping[str, str]


@dataclass(slots=True)
class ShardWorker:
    """A worker.

    Attributes:
        about: its name, site and content.
        content_now: the digest of what this machine has at the moment; a worker whose checkout was changed ends.
        command: runs the shard named on its standard input.
        lost_after_s: a worker that was silent for so long is taken for dead.
        until_empty: end when no shard for this worker is open.
    """

    store: Store
    url: str
    about: Worker
    content_now: Callable[[], str]
    command: ShardCommand
    notify: Callable[[Shard | Note], None]
    lost_after_s: float
    until_empty: bool = False
    _processes: set[Process] = field(default_factory=set)
    _queue: JobQueue | None = None
    _stopping: bool = False
    _changed: str = ""

    async def run(self) -> None:
        """Work until it is stopped. The first signal lets the shards that run end, the second ends them.

        Raises:
            QueueError: the server does not answer at the start; later the worker waits for it.
            ContentDiffersError: the content of this machine has changed since the start; what ran has ended.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        loop.set_exception_handler(self._note_failed_job)
        connected = False
        while not self._stopping:
            try:
                async with JobQueue.open(self.url) as queue:
                    self._queue, connected = queue, True
                    await self._work(queue)
            except QueueError as e:
                if not connected:
                    raise
                self.notify(Note(f"{e}; trying again"))
                await asyncio.sleep(_RECONNECT_S)
        with suppress(StoreError):
            await asyncio.to_thread(self.store.forget_worker, self.about.name)
        if self._changed:
            raise ContentDiffersError(what="this worker", wanted=self.about.content[:_SHOWN], found=self._changed[:_SHOWN])

    def _note_failed_job(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A job whose end could not be recorded, because the server went away or another worker has it: the next sweep gives it back."""
        error = context.get("exception")
        self.notify(Note(f"{context.get('message', 'failed')}: {' '.join(str(error).split()) or type(error).__name__}"))

    async def _work(self, queue: JobQueue) -> None:
        name = queue_name(self.about.site, self.about.content)
        work = asyncio.create_task(queue.work(name, self._provision, jobs=self.about.jobs, lost_after_s=self.lost_after_s))
        sweeps = asyncio.create_task(self._sweep(queue))
        await asyncio.wait((work, sweeps), return_when=asyncio.FIRST_COMPLETED)  # neither goes on without the other
        for task in (work, sweeps):
            task.cancel()
        for task in (work, sweeps):
            with suppress(asyncio.CancelledError):
                await task

    async def _sweep(self, queue: JobQueue) -> None:
        reported = ""
        while True:
            try:
                await self._sweep_once(queue)
                reported = ""
            except (StoreError, QueueError) as e:
                if str(e) != reported:
                    reported = str(e)
                    self.notify(Note(f"{reported}; trying again"))
            await asyncio.sleep(min(self.lost_after_s / 6, SEEN_EVERY_S))

    async def _sweep_once(self, queue: JobQueue) -> None:
        await asyncio.to_thread(self.store.save_worker, self.about)
        await asyncio.to_thread(self.store.release_waiting)
        opened = await asyncio.to_thread(self.store.shards, open_only=True)
        await queue.sweep(opened, self.lost_after_s)
        ours = [s for s in opened if (s.site, s.content) == (self.about.site, self.about.content)]
        if self.until_empty and not ours and not self._stopping:
            self._stop()
        if self._stopping:
            queue.stop()  # again: a signal that came before the queue began to work went unheard

    def _stop(self) -> None:
        if self._stopping:
            for process in self._processes:
                process.send_signal(signal.SIGTERM)
        elif self._processes:
            self.notify(Note("no more shards are taken; those that run go on to their end, a second signal interrupts them"))
        self._stopping = True
        if self._queue:
            self._queue.stop()

    async def _provision(self, shard_id: int) -> None:
        found = await asyncio.to_thread(self.content_now)
        if found != self.about.content:
            self._changed = found
            if not self._stopping:
                self._stop()
            raise RetryLaterError(0)
        shard = await asyncio.to_thread(self.store.take_shard, shard_id, self.about.name)
        if shard is None:
            return
        self.notify(shard)
        code = await self._run(shard)
        await self._after(shard, code)

    async def _run(self, shard: Shard) -> int:
        """The exit code. The process ends when this one does: it reads its standard input to the end."""
        environment = {**os.environ, **self.command.variables}
        process = await asyncio.create_subprocess_exec(*self.command.argv, stdin=PIPE, start_new_session=True, env=environment)
        self._processes.add(process)
        try:
            if process.stdin:
                process.stdin.write(json.dumps(asdict(shard.fence)).encode() + b"\n")
            return await process.wait()
        finally:
            self._processes.discard(process)
            if process.returncode is None:  # this worker lost the queue: another one takes the shard
                process.send_signal(signal.SIGTERM)
                await _end(process)

    async def _after(self, shard: Shard, code: int) -> None:
        """Return the shard to the queue where its process ended without recording an end."""
        now = await asyncio.to_thread(self.store.shard, shard.id)
        if now is None or now.ended or now.token != shard.token:
            if now:
                self.notify(now)
            return
        if now.state is ShardState.QUEUED:
            self.notify(now)
            raise RetryLaterError(_HELD_S)
        detail = f"its process was ended by signal {-code}" if code < 0 else f"its process ended with exit code {code}"
        failed = not self._stopping
        try:
            if failed and now.failures + 1 >= MOST_FAILURES:
                detail = f"{detail}, for the {MOST_FAILURES}th time"
                await asyncio.to_thread(self._fail, shard, code, detail)
                return
            await asyncio.to_thread(self.store.queue_again, shard.fence, detail, failed=failed)
        except StaleTokenError:
            return
        self.notify(Note(f"shard {shard.id} of rack {shard.rack or '-'} is queued again: {detail}"))
        raise RetryLaterError(min(_FIRST_WAIT_S * 2**now.failures, _LONGEST_WAIT_S) if failed else 0)

    def _fail(self, shard: Shard, code: int, detail: str) -> None:
        exit_code = code if code > 0 else int(ExitCode.UNEXPECTED)
        self.store.end_shard(shard.fence, ShardState.FAILED, exit_code=exit_code, detail=detail)
        found = self.store.shard(shard.id)
        if found:
            self.notify(found)


async def _end(process: Process) -> None:
    try:
        await asyncio.wait_for(process.wait(), _END_S)
    except TimeoutError:
        process.kill()
        await process.wait()


def own_command(words: Sequence[str], variables: Mapping[str, str]) -> ShardCommand:
    """This program with other words."""
    return ShardCommand((sys.executable, "-m", "clusterctl", *words), variables)
