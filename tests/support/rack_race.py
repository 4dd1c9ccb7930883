"""One of eight processes that work on one rack at the same time."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.adapters.pools.answering import Answering
from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.store import Store
from clusterctl.core.pool_limits import PoolLimits
from clusterctl.model.errors import LeaseHeldError
from clusterctl.model.move import MoveOutcome
from clusterctl.model.state import State
from clusterctl.workflows.admit import Admitter, Candidate
from clusterctl.workflows.admit_again import admit_now
from clusterctl.workflows.drain import drain, release
from support.provisioning import GATES, World

if TYPE_CHECKING:
    import multiprocessing
    from collections.abc import Sequence
    from multiprocessing.synchronize import Barrier

    from clusterctl.model.move import Move

WORKERS = 8
NAMES = tuple(f"r12-n{i:02d}" for i in range(1, 9))
_STEPS = 6
_WAIT_S = 120
_TO = (State.DRAINED, State.MAINTENANCE, State.QUARANTINED)


@dataclass(frozen=True)
class Claims:
    """What one process believes to have done.

    Attributes:
        whole_rack: the run that got all nodes at once, or the one that held them.
        won: whether that was its own.
        own_node: state of its own node after its run.
        runs: run -> node -> state, of all its runs.
        moves: (operator, node, state) of each transition outside of a run.
    """

    number: int
    whole_rack: str
    won: bool
    own_node: State
    runs: dict[str, dict[str, State]]
    moves: list[tuple[str, str, State]]


@dataclass
class SharedRack(World):
    """A rack whose record is in a database that others use as well; what is wrong on its nodes, each process finds anew."""

    names: Sequence[str] = NAMES
    address: str = ""
    runs: dict[str, dict[str, State]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self.address

    def provisioned(self, *names: str) -> str:
        """Provision drifted nodes; returns the run, remembers where each node ended."""
        self.bad = {n: {"kernel"} for n in names}
        result = self.run(*names, force=True, retest=True)
        self.runs[result.run_id] = {n.node: n.state for n in result.nodes}
        return result.run_id


def work(number: int, address: str, folder: str, start: Barrier, results: multiprocessing.Queue[Claims]) -> None:
    """All at once on the whole rack; then each on its own node; then everything on everything."""
    rack = SharedRack(Path(folder), address=address)
    start.wait(_WAIT_S)
    holder, won = _whole_rack(rack, start)
    start.wait(_WAIT_S)
    run = rack.provisioned(NAMES[number])
    own = rack.runs[run][NAMES[number]]
    start.wait(_WAIT_S)
    moves = _anything(rack, number)
    results.put(Claims(number, holder, won, own, rack.runs, moves))


def _whole_rack(rack: SharedRack, tried: Barrier) -> tuple[str, bool]:
    """Who holds the whole rack holds it until everybody has tried."""
    waited: list[str] = []

    def wait_once(what: str) -> None:
        if not waited:
            waited.append(what)
            tried.wait(_WAIT_S)

    rack.before = wait_once
    try:
        return rack.provisioned(*NAMES), True
    except LeaseHeldError as e:
        tried.wait(_WAIT_S)
        return str(e.values["run_id"]), False
    finally:
        rack.before = lambda _what: None


def _anything(rack: SharedRack, number: int) -> list[tuple[str, str, State]]:
    chance = random.Random(number)  # noqa: S311 the same steps in every test
    moves: list[tuple[str, str, State]] = []
    for step in range(_STEPS):
        names = chance.sample(NAMES, chance.randint(1, 3))
        what = chance.choice(("provision", "drain", "drain", "release", "admit"))
        operator = f"p{number}-{step}"
        try:
            if what == "provision":
                rack.gate_fails = set(names[:1]) if chance.random() < 0.3 else set()
                rack.provisioned(*names)
            else:
                moves += _move(rack, what, names, operator, chance.choice(_TO))
        except LeaseHeldError:
            continue
    return moves


def _move(rack: SharedRack, what: str, names: Sequence[str], operator: str, to: State) -> list[tuple[str, str, State]]:
    with Store.open(rack.url) as store:
        pool = LocalPool.create(store)
        done: Sequence[Move]
        if what == "drain":
            done = drain(store, pool, store.nodes(names), operator=operator, reason="race", force=True, to=to, limits=PoolLimits())
        elif what == "release":
            done = release(store, store.nodes(names), operator=operator, reason="race")
        else:
            candidates = [Candidate(rack.node(n), GATES, ()) for n in names]
            admitter = Admitter(store, Answering(pool), operator, {})
            admissions = admit_now(admitter, candidates, rack.validate, rack.state_dir, target="rack-12", include_owned=True)
            (run,) = [r.id for r in store.runs(1000) if r.operator == operator]
            rack.runs[run] = {a.verdict.node: State.ADMITTED if a.verdict.admit else a.from_state for a in admissions}
            return []
        return [(operator, m.node, m.to_state) for m in done if m.outcome is MoveOutcome.MOVED]
