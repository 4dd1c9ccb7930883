"""The frame of every run: leases, the run's row and directory, signals, and the recorded end, however the body ends."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clusterctl.adapters import clock
from clusterctl.adapters.run_directory import RunDir
from clusterctl.adapters.store.leases import DEFAULT_TTL_S
from clusterctl.adapters.versions import versions
from clusterctl.core.redact import Redactor
from clusterctl.model.errors import InterruptedRunError, LeaseHeldError, StaleTokenError, StoreError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.records import RunRow, RunStatus

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path
    from types import FrameType

    from clusterctl.adapters.store.store import Store


@dataclass(frozen=True, slots=True)
class RunStart:
    """What is known of a run before it starts.

    Attributes:
        nodes: the nodes of its row; they must be registered.
        leased: the nodes to hold leases on while it runs; empty for a run that changes nothing.
        ttl_s: after how long without a renewal the leases end, where nobody can see whether the process runs.
        interrupted: what Ctrl-C leaves behind, for the error message.
        hint: what to do after an interruption; `{run_id}` is replaced.
    """

    verb: str
    target: str
    operator: str
    state_dir: Path
    nodes: Collection[str]
    leased: Collection[str] = ()
    ttl_s: float = DEFAULT_TTL_S
    interrupted: str = "Ctrl-C"
    hint: str = "run the same command again"


@dataclass(slots=True)
class Run:
    """A run in progress. `code` and `summary` are recorded when the body ends.

    Attributes:
        lease_lost: set when another run took over one of the leases.
    """

    rundir: RunDir
    store: Store
    code: ExitCode = ExitCode.OK
    summary: dict[str, Any] = field(default_factory=dict)
    lease_lost: threading.Event = field(default_factory=threading.Event)


class LeaseKeeper(threading.Thread):
    """Renews the leases of a run until it ends. `lost` is set when another run took one over."""

    def __init__(self, store: Store, run_id: str, count: int, lost: threading.Event, ttl_s: float = DEFAULT_TTL_S) -> None:
        super().__init__(name="lease-keeper", daemon=True)
        self._store, self._run_id, self._count, self._ttl_s = store, run_id, count, ttl_s
        self._ended = threading.Event()
        self._lost = lost

    def run(self) -> None:
        """Renew three times per lifetime; a lease that could not be renewed for a lifetime is lost, too."""
        renewed = time.monotonic()
        while not self._ended.wait(self._ttl_s / 3):
            checked = time.monotonic()
            try:
                kept = self._store.renew(self._run_id, self._ttl_s)
            except StaleTokenError:
                kept = 0
            except StoreError:
                if checked - renewed < self._ttl_s:
                    continue
                kept = 0
            if kept < self._count:
                self._lost.set()
                return
            renewed = checked

    def end(self) -> None:
        """Stop renewing."""
        self._ended.set()


@contextmanager
def recorded_run(store: Store, start: RunStart) -> Iterator[Run]:
    """Take the leases, create the run's directory and row, and record how the body ended.

    Ctrl-C, SIGTERM and SIGHUP end the body with KeyboardInterrupt. A database server that restarts meanwhile is waited for.

    Raises:
        LeaseHeldError: another run holds one of the nodes; nothing was recorded.
        InterruptedRunError: in place of KeyboardInterrupt.
        StoreError: the state directory or the database cannot be used.
    """
    rundir = RunDir.create(start.state_dir, start.verb)
    leased = set(start.leased)
    run = Run(rundir, store)
    keeper = LeaseKeeper(store, rundir.id, len(leased), run.lease_lost, start.ttl_s)
    try:
        if leased:
            store.acquire(leased, run_id=rundir.id, holder=start.operator, ttl_s=start.ttl_s)
    except LeaseHeldError:
        rundir.path.rmdir()
        raise
    try:
        store.start_run(_row(start, rundir), start.nodes)
        if leased:
            keeper.start()
        with store.waits_for_server():
            with _signals_as_interrupt():
                yield run
            store.finish_run(rundir.id, RunStatus.DONE, int(run.code), run.summary)
    except KeyboardInterrupt as e:
        _finish(store, rundir.id, RunStatus.INTERRUPTED, ExitCode.INTERRUPTED, "interrupted")
        raise InterruptedRunError(detail=start.interrupted, hint=start.hint.format(run_id=rundir.id)) from e
    except BaseException as e:
        code = getattr(e, "exit_code", ExitCode.UNEXPECTED)
        status = RunStatus.INTERRUPTED if code is ExitCode.INTERRUPTED else RunStatus.FAILED
        _finish(store, rundir.id, status, code, f"{type(e).__name__}: {e}")
        raise
    finally:
        keeper.end()
        if leased:
            store.release(rundir.id)


def _row(start: RunStart, rundir: RunDir) -> RunRow:
    redact = _redactor()
    argv = tuple(redact(word) for word in sys.argv[1:])
    return RunRow(rundir.id, start.verb, start.target, start.operator, clock.now(), argv, versions(), str(rundir.path))


def _redactor() -> Redactor:
    return Redactor.of_command(os.environ, sys.argv[1:])


def _finish(store: Store, run_id: str, status: RunStatus, code: ExitCode, error: str) -> None:
    try:
        store.finish_run(run_id, status, int(code), {"error": _redactor()(error)})
    except StoreError:
        return  # the disk may be the cause; a run without an end whose process is gone is reported as unfinished


@contextmanager
def _signals_as_interrupt() -> Iterator[None]:
    """SIGTERM and a closed terminal (SIGHUP) end a run as Ctrl-C does; what `nohup` made the process ignore stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
