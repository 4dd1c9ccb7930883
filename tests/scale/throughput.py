"""One target through more and more workers: replayed nodes that are admitted and as declared, so each run verifies them and leaves them alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from clusterctl.adapters import clock
from clusterctl.adapters.config import read_config
from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.store import Store
from clusterctl.core.admission.decide import decide_admission
from clusterctl.core.admission.record import build_record
from clusterctl.model.playbook_result import HostOutcome, HostStatus
from clusterctl.model.records import RunStatus
from clusterctl.model.state import State
from clusterctl.workflows.burnin.measure_and_judge import subjects_of
from support.stores import ROLE, a_result, a_run, bring, findings

if TYPE_CHECKING:
    import resource
    from collections.abc import Iterator, Sequence

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.level import Level
    from support.replayed_racks import ReplayedRacks

LEVEL: Level = "quick"  # it measures nothing across racks, which replayed nodes could not
_LOOK_S = 0.2
_CLUSTERCTL = [sys.executable, "-m", "clusterctl"]


@dataclass(frozen=True)
class Throughput:
    """What a number of workers took for all racks.

    Attributes:
        cpu_s: of all workers with the processes of their shards, user and system.
        rss_mib: peak of the largest process.
        first_shard_s: from the end of `provision --queue` until a worker that was waiting took the first shard; negative where that came before.
        share_of_linear: nodes per second, relative to one worker, divided by the number of workers; more workers than cores cannot reach 1.
    """

    workers: int
    nodes: int
    wall_s: float
    cpu_s: float
    rss_mib: float
    first_shard_s: float
    not_done: int
    share_of_linear: float | None = None


def seed(racks: ReplayedRacks) -> None:
    """Admit all nodes in the record, as if they had been burned in at the level of the runs."""
    config = read_config(start=racks.folder)
    nodes = load_nodes(config.inventory, "all")
    with Store.open(config.store_url) as store:
        store.register(nodes)
        run = a_run()
        store.start_run(run, [n.name for n in nodes])
        for subject in subjects_of(nodes, ()):
            _admit(store, subject, run.id)
        store.finish_run(run.id, RunStatus.DONE, 0, {})


def _admit(store: Store, subject: Subject, run_id: str) -> None:
    name, gates = subject.name, subject.deciding(LEVEL)
    own, results = findings(node=name), [a_result(node=name, gate=gate) for gate in gates]
    expected: dict[str, Any] = {"expected_roles": [ROLE], "expected_gates": gates, "findings": own, "gate_results": results}
    verdict = decide_admission(name, **expected, outcome=HostOutcome(name, HostStatus.OK))
    about: dict[str, Any] = {"run_id": run_id, "spec_digest": subject.node.spec.digest, "operator": "ada", "at": clock.now()}
    bring(store, name, State.PROVISIONING, State.PROVISIONED, run_id=run_id)
    store.save_findings(run_id, own)
    bring(store, name, State.VALIDATED, run_id=run_id)
    store.save_gate_results(run_id, results)
    bring(store, name, State.BURNED_IN, run_id=run_id)
    store.save_admission(build_record(verdict, **about, **expected, baselines=[], evidence={}, versions={}))
    bring(store, name, State.ADMITTED, run_id=run_id)
    LocalPool(store).admit(name, "run")


def measure(racks: ReplayedRacks, workers: int) -> Throughput:
    """Queue all racks, and let `workers` workers that wait for them take them."""
    with Store.open(racks.database_url) as store, _waiting(racks, store, workers) as processes:
        began = time.monotonic()
        queued = subprocess.run(
            [*_CLUSTERCTL, "provision", "all", "--queue", "--level", LEVEL, "--yes", "-o", "json"],
            cwd=racks.folder,
            check=True,
            capture_output=True,
        )
        at = clock.now()
        order_id = json.loads(queued.stdout)["shards"][0]["order_id"]
        while any(not s.ended for s in store.shards(order_id)):
            if any(p.poll() is not None for p in processes):
                raise RuntimeError("a worker ended: its log is above")
            time.sleep(_LOOK_S)
        wall_s = time.monotonic() - began
        shards = store.shards(order_id)
        used = [_end(p) for p in processes]
    cpu_s = sum(u.ru_utime + u.ru_stime for u in used)
    rss_mib = max(u.ru_maxrss for u in used) / 1024
    first = min(_seconds(at, s.started_at) for s in shards)
    return Throughput(
        workers, racks.nodes, round(wall_s, 2), round(cpu_s, 2), round(rss_mib, 1), round(first, 3), sum(s.exit_code != 0 for s in shards)
    )


@contextmanager
def _waiting(racks: ReplayedRacks, store: Store, workers: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    names = [f"w{n}" for n in range(workers)]
    processes = [subprocess.Popen([*_CLUSTERCTL, "worker", "--name", n], cwd=racks.folder, stderr=subprocess.DEVNULL) for n in names]
    try:
        while len(store.workers()) < workers:
            time.sleep(_LOOK_S)
        yield processes
    finally:
        for process in processes:
            process.kill()


def _end(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """What it and the processes of its shards used."""
    process.send_signal(signal.SIGTERM)
    used = os.wait4(process.pid, 0)[2]
    process.returncode = 0
    return used


def _seconds(begin: str, end: str) -> float:
    """Negative where a shard was taken before `--queue` returned."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()


def compared(found: Sequence[Throughput]) -> list[Throughput]:
    """Each with its share of what so many times the first would be."""
    one = found[0].wall_s * found[0].workers
    return [replace(f, share_of_linear=round(one / (f.wall_s * f.workers), 3)) for f in found]
