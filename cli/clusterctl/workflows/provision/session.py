"""A run's frame: leases and the run's row, from its start to whatever end. Whatever happens inside, both are put right."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from clusterctl.adapters import clock
from clusterctl.adapters.store.leases import DEFAULT_TTL_S
from clusterctl.adapters.versions import versions
from clusterctl.model.errors import InterruptedRunError, StoreError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.records import RunRow, RunStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from clusterctl.adapters.run_directory import RunDir
    from clusterctl.adapters.store.store import Store


class LeaseKeeper(threading.Thread):
    """Pushes the leases of a run back while it works. `lost` is set when somebody took them over."""

    def __init__(self, store: Store, run_id: str, count: int, ttl_s: float = DEFAULT_TTL_S) -> None:
        super().__init__(name="lease-keeper", daemon=True)
        self._store, self._run_id, self._count, self._ttl_s = store, run_id, count, ttl_s
        self._ended = threading.Event()
        self.lost = threading.Event()

    def run(self) -> None:
        """Renew three times per lifetime."""
        while not self._ended.wait(self._ttl_s / 3):
            try:
                kept = self._store.renew(self._run_id, self._ttl_s)
            except StoreError:
                continue  # two more tries before it expires
            if kept < self._count:
                self.lost.set()
                return

    def end(self) -> None:
        """Stop renewing."""
        self._ended.set()


@contextmanager
def session(
    store: Store,
    rundir: RunDir,
    *,
    target: str,
    operator: str,
    nodes: Sequence[str],
    argv: Sequence[str],
    partners: Sequence[str] = (),
) -> Iterator[LeaseKeeper]:
    """Hold the nodes and their partners, and keep the run's row (of the nodes only) while the body works.

    Ctrl-C and SIGTERM end the body with KeyboardInterrupt. The body finishes the run; if it does not get there, the row says how it ended.

    Raises:
        LeaseHeldError: somebody else works on one of the nodes; nothing was recorded.
        InterruptedRunError: in place of KeyboardInterrupt.
    """
    run_id = rundir.id
    held = {*nodes, *partners}
    store.acquire(held, run_id=run_id, holder=operator)
    keeper = LeaseKeeper(store, run_id, len(held))
    try:
        row = RunRow(run_id, "provision", target, operator, clock.now(), tuple(argv), versions(), str(rundir.path))
        store.start_run(row, nodes)
        keeper.start()
        with _sigterm_as_interrupt():
            yield keeper
    except KeyboardInterrupt as e:
        _finish(store, run_id, RunStatus.INTERRUPTED, ExitCode.INTERRUPTED, {"error": "interrupted"})
        hint = f"`clusterctl provision --resume {run_id}` goes on, and so does the same command"
        raise InterruptedRunError(
            detail="stopped; nodes that were being changed are out of the pool, none was admitted since", hint=hint
        ) from e
    except BaseException as e:
        code = getattr(e, "exit_code", ExitCode.UNEXPECTED)
        _finish(store, run_id, RunStatus.FAILED, code, {"error": f"{type(e).__name__}: {e}"})
        raise
    finally:
        keeper.end()
        store.release(run_id)


def _finish(store: Store, run_id: str, status: RunStatus, code: ExitCode, summary: dict[str, Any]) -> None:
    try:
        store.finish_run(run_id, status, int(code), summary)
    except StoreError:
        return  # the disk may be what failed; a run without an end, whose process is gone, is told as unfinished


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
