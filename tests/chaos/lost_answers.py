"""Kills of a run whose scheduler loses answers, and of nothing else: no node may be in a pool without a current admission."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from chaos.boundaries import Boundaries
from chaos.databases import SqliteFiles
from chaos.rack import SCENARIOS, DiskRack
from chaos.rounds import chosen, in_child
from chaos.schedulers import SCHEDULES
from chaos.snapshot import take, wrong_admissions
from clusterctl.adapters.store import Store
from clusterctl.model.errors import ClusterctlError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from chaos.schedulers import Scheduler
    from chaos.snapshot import Snapshot


@dataclass
class PoolScore:
    """What was found with one kind of pool.

    Attributes:
        rounds: kills, each followed by two runs of the same command: one that loses more answers, one that loses none.
        in_without_admission: nodes in the pool without a current admission, of which the record does not say that nobody knows; those
            in doubt count, too, after the run that lost nothing.
        in_doubt: how often the record said so, which shows that the case was reached.
        left_over: leases, runs without an end and nodes in doubt after that run.
        failed_recoveries: commands that ended with another error than one of clusterctl's own, or with any where nothing was lost.
        findings: where.
    """

    rounds: int = 0
    in_without_admission: int = 0
    in_doubt: int = 0
    left_over: int = 0
    failed_recoveries: int = 0
    findings: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings


@dataclass(frozen=True)
class LossyRack:
    """A prepared rack whose scheduler loses the answers of one schedule; `boundaries` are those of a run that nobody kills."""

    name: str
    scheduler: Scheduler
    schedule: dict[str, Any]
    template: Path
    before: Snapshot
    boundaries: tuple[str, ...] = ()

    @property
    def work(self) -> Path:
        """Where the rounds are played."""
        return self.template.parent / "work"

    def rack(self, folder: Path) -> DiskRack:
        """The rack of a folder as it is now."""
        return DiskRack(folder, address=SqliteFiles().url(folder), scheduler=self.scheduler)

    def copy(self) -> None:
        """A fresh copy to play with, whose scheduler loses answers."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.template, self.work)
        self.scheduler.lose(self.work, self.schedule[self.scheduler.kind])


def prepare(name: str, scheduler: Scheduler, folder: Path, schedules: Sequence[dict[str, Any]]) -> list[LossyRack]:
    """One rack for every schedule of lost answers."""
    template = folder / scheduler.kind / name / "template"
    SqliteFiles().create(template)
    scheduler.start(template)
    scheduler.lose(template, [])
    plain = LossyRack(name, scheduler, {}, template, take(_prepared(name, scheduler, template)))
    return [_counted(replace(plain, schedule=schedule)) for schedule in schedules]


def play_all(
    scheduler: Scheduler, names: Iterable[str], folder: Path, points: int, schedules: Sequence[dict[str, Any]] = SCHEDULES
) -> PoolScore:
    """Kill at every boundary of each scenario (`points`: at so many), each time with the next schedule of lost answers."""
    score = PoolScore()
    for name in names:
        racks = prepare(name, scheduler, folder, schedules)
        for number, kill_at in enumerate(chosen(max(len(r.boundaries) for r in racks), points)):
            reached = [r for r in racks if kill_at <= len(r.boundaries)]
            play(reached[number % len(reached)], kill_at, score)
    return score


def play(lossy: LossyRack, kill_at: int, score: PoolScore) -> None:
    """Kill at one boundary, run again while answers are lost, and once more without."""
    lossy.copy()
    name = f"{lossy.name}, {lossy.schedule['name']}, {kill_at} ({lossy.boundaries[kill_at - 1]})"
    in_child(lambda: _run(lossy, kill_at), killed=True)
    score.rounds += 1
    _look(lossy, f"{name}: when killed", score)
    if in_child(lambda: _run(lossy)):
        _fail(score, f"{name}: the same command fails")
    _look(lossy, f"{name}: after losing more answers", score)
    lossy.scheduler.lose(lossy.work, [])
    if in_child(lambda: lossy.rack(lossy.work).provision()):
        _fail(score, f"{name}: the command that loses nothing fails")
    _look(lossy, f"{name}: at the end", score, settled=True)


def _prepared(name: str, scheduler: Scheduler, template: Path) -> DiskRack:
    def rack() -> DiskRack:
        return DiskRack(template, address=SqliteFiles().url(template), scheduler=scheduler)

    if in_child(lambda: SCENARIOS[name](rack())):
        raise RuntimeError("the rack cannot be prepared: the traceback is above")
    return rack()


def _counted(lossy: LossyRack) -> LossyRack:
    lossy.copy()
    counted = lossy.template.parent / "boundaries.json"
    if in_child(lambda: counted.write_text(json.dumps(_run(lossy)))):
        raise RuntimeError("the run that nobody kills failed: its traceback is above")
    return replace(lossy, boundaries=tuple(json.loads(counted.read_text())))


def _run(lossy: LossyRack, kill_at: int = 0) -> list[str]:
    boundaries = Boundaries(kill_at)
    rack = lossy.rack(lossy.work)
    rack.before = boundaries.reached
    boundaries.install()
    with suppress(ClusterctlError):  # a scheduler that says nothing ends the command, with its reason
        rack.provision()
    return boundaries.names


def _look(lossy: LossyRack, where: str, score: PoolScore, *, settled: bool = False) -> None:
    rack = lossy.rack(lossy.work)
    now = take(rack)
    with Store.open(rack.url) as store:
        doubts = {d.node for d in store.pool_doubts()}
    wrong = [n for n in wrong_admissions(now, lossy.before, rack.gate_fails) if settled or n not in doubts]
    score.in_without_admission += len(wrong)
    score.findings += [f"{where}: {n} is in ({now.states.get(n)})" for n in wrong]
    score.in_doubt += len(doubts)
    if settled:
        left = now.leases + now.open_runs + len(doubts)
        score.left_over += left
        score.findings += [f"{where}: {now.leases} leases, {now.open_runs} open runs, in doubt: {sorted(doubts)}"] if left else []


def _fail(score: PoolScore, what: str) -> None:
    score.failed_recoveries += 1
    score.findings.append(what)
