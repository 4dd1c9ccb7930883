"""Kills workers, the processes of shards, PostgreSQL and the controller, in any order, and counts what is left."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.adapters.store import Store
from clusterctl.model.errors import ClusterctlError
from clusterctl.model.state import State
from scale.simulated_worker import LOST_AFTER_S
from support.postgres import Server, binaries, restartable

if TYPE_CHECKING:
    from collections.abc import Callable

NODES = 4
_WORKERS = 3
_RACKS_PER_KILL = 0.6
_PAUSE_S = 0.15
_END_S = 900.0


@dataclass
class Killed:
    """What became of the racks.

    Attributes:
        doubles: nodes that were admitted more than once, and shards with more than one run that came to its end.
        losses: nodes that were not admitted, and shards that did not end.
        left: leases, open runs and jobs when all was over.
        tries: how often a shard was taken at most.
    """

    kills: dict[str, int] = field(default_factory=dict)
    shards: int = 0
    doubles: int = 0
    losses: int = 0
    left: int = 0
    tries: int = 0
    wall_s: float = 0.0
    nodes: str = "simulated"

    @property
    def clean(self) -> bool:
        """Whether every shard ended once."""
        return not (self.doubles or self.losses or self.left) and bool(self.shards)


@dataclass
class Yard:
    """Server, workers and controller."""

    server: Server
    folder: Path
    racks: int
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    controller: subprocess.Popen[bytes] | None = None
    started: int = 0

    def replace_the_dead(self) -> None:
        """As a service manager does."""
        self.workers = [w for w in self.workers if w.poll() is None]
        while len(self.workers) < _WORKERS:
            self.started += 1
            words = [self.server.url, f"w{self.started}", str(self.folder), str(_PAUSE_S)]
            self.workers.append(self._start("scale.simulated_worker", *words))
        if self.controller is None or self.controller.poll() is not None:
            self.controller = self._start("scale.simulated_controller", self.server.url, "0", str(self.racks), str(NODES))

    def _start(self, module: str, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{module}.log").open("ab") as log:
            return subprocess.Popen([sys.executable, "-m", module, *words], stdout=log, stderr=log)

    def kill(self, what: str, chance: random.Random) -> bool:
        """Kill one; whether there was one."""
        if what == "postgresql":
            self.server.kill()
            self.server.start(within_s=60)
            return True
        if what == "controller":
            return self._kill_process(self.controller)
        worker = chance.choice(self.workers)
        if what == "worker":
            return self._kill_process(worker)
        with suppress(OSError):
            children = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
            if children:
                subprocess.run(["kill", "-9", chance.choice(children)], check=False, stderr=subprocess.DEVNULL)
                return True
        return False

    @staticmethod
    def _kill_process(process: subprocess.Popen[bytes] | None) -> bool:
        if process is None or process.poll() is not None:
            return False
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True

    def end(self) -> None:
        """End all processes."""
        for process in (*self.workers, *([self.controller] if self.controller else [])):
            process.kill()
            process.wait()


def kill_all_over(kills: int, folder: Path, seed: int, tell: Callable[[str], None]) -> Killed:
    """Kill until `kills` are done, then let the rest end."""
    tools = binaries()
    if tools is None:
        raise SystemExit("PostgreSQL's initdb is not installed: apt-get install postgresql")
    chance, found, began = random.Random(seed), Killed(), time.monotonic()  # noqa: S311 no secret
    with ExitStack() as stack:
        server = stack.enter_context(restartable(tools))
        yard = Yard(server, folder, max(10, round(kills * _RACKS_PER_KILL)))
        stack.callback(yard.end)
        while sum(found.kills.values()) < kills:
            yard.replace_the_dead()
            time.sleep(chance.uniform(0.2, 1.5))
            what = chance.choices(["worker", "shard", "postgresql", "controller"], [4, 4, 1, 2])[0]
            if yard.kill(what, chance):
                found.kills[what] = found.kills.get(what, 0) + 1
                tell(f"{sum(found.kills.values())} kills: {what}; {_ended(server.url)} of {yard.racks} racks ended")
        until = time.monotonic() + _END_S
        while _ended(server.url) < yard.racks and time.monotonic() < until:
            yard.replace_the_dead()
            time.sleep(1)
        time.sleep(2 * LOST_AFTER_S)  # what is still running must not do anything any more
        _count(found, server.url, yard.racks)
    found.wall_s = round(time.monotonic() - began, 1)
    return found


def _ended(url: str) -> int:
    try:
        with Store.open(url) as store:
            return sum(s.ended for s in store.shards())
    except ClusterctlError:
        return 0


def _count(found: Killed, url: str, racks: int) -> None:
    with Store.open(url) as store:
        shards = store.shards()
        found.shards = len(shards)
        found.tries = max((s.token for s in shards), default=0)
        racks_queued = Counter(s.rack for s in shards)
        found.losses += racks - len(racks_queued) + sum(not s.ended or s.exit_code != 0 for s in shards)
        found.doubles += sum(n - 1 for n in racks_queued.values())
        for name in (n for s in shards for n in s.nodes):
            times = sum(step.to_state is State.ADMITTED for step in store.history(name)) if store.node(name) else 0
            found.losses += times == 0
            found.doubles += max(times - 1, 0)
        found.left = len(store.leases()) + len(store.runs_in_progress()) + len(store.unfinished_runs())


def as_json(found: Killed) -> dict[str, object]:
    """For build/scale.json."""
    return {**asdict(found), "kills_total": sum(found.kills.values())}
