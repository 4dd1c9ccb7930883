"""One round: copy a rack, kill a run at one boundary, look, run again, look again."""

from __future__ import annotations

import json
import os
import shutil
import sys
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chaos.boundaries import Boundaries
from chaos.power_loss import PowerLoss
from chaos.rack import NODES_FILE, SCENARIOS, DiskRack
from chaos.snapshot import Snapshot, lost_rows, take, wrong_admissions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from chaos.databases import Databases


@dataclass
class Score:
    """The results so far; the lists name scenario, boundary and what is wrong."""

    kill_points: int = 0
    power_losses: int = 0
    lost_rows: int = 0
    wrong_admissions: list[str] = field(default_factory=list)
    divergent_final_states: list[str] = field(default_factory=list)
    stale_leases: int = 0
    open_runs: int = 0
    failed_recoveries: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing was lost, wrong or left over."""
        bad = (self.lost_rows, self.stale_leases, self.open_runs)
        return not (any(bad) or self.wrong_admissions or self.divergent_final_states or self.failed_recoveries)


@dataclass(frozen=True)
class Scenario:
    """A prepared rack, its boundaries, and the state that a run of it reaches undisturbed."""

    name: str
    databases: Databases
    folder: Path
    before: Snapshot
    boundaries: tuple[str, ...]
    expected: Snapshot

    @property
    def title(self) -> str:
        """Scenario and database."""
        return f"{self.name} on {self.databases.name}"

    def rack(self, folder: Path) -> DiskRack:
        """The rack of a folder as it is now."""
        return DiskRack(folder, address=self.databases.url(folder))


def prepare(name: str, folder: Path, databases: Databases) -> Scenario:
    """Prepare a rack and run it once undisturbed, on a copy."""
    template, undisturbed = folder / name / "template", folder / name / "undisturbed"
    databases.create(template)
    _in_child_or_raise(lambda: SCENARIOS[name](DiskRack(template, address=databases.url(template))))
    before = take(DiskRack(template, address=databases.url(template)))
    _copy(databases, template, undisturbed)
    counted = folder / name / "boundaries.json"
    _in_child_or_raise(lambda: counted.write_text(json.dumps(_run(databases, undisturbed))))
    expected = take(DiskRack(undisturbed, address=databases.url(undisturbed)))
    return Scenario(name, databases, template, before, tuple(json.loads(counted.read_text())), expected)


def play(scenario: Scenario, kill_at: int, score: Score, *, power_loss: bool = False) -> None:
    """Kill at one boundary, with or without the power of the machine; run again, and score what is left."""
    work = scenario.folder.parent / "work"
    _copy(scenario.databases, scenario.folder, work)
    where = f"{scenario.title} {kill_at} ({scenario.boundaries[kill_at - 1]}{', power lost' if power_loss else ''})"
    in_child(lambda: _run(scenario.databases, work, kill_at, power_loss=power_loss), killed=True)
    score.kill_points += 1
    score.power_losses += power_loss
    rack = scenario.rack(work)
    killed = take(rack)
    score.wrong_admissions += [f"{where}: {n} when killed" for n in wrong_admissions(killed, scenario.before, rack.gate_fails)]
    if in_child(lambda: _run(scenario.databases, work)):
        score.failed_recoveries.append(where)
    rack = scenario.rack(work)
    end = take(rack)
    score.wrong_admissions += [f"{where}: {n} at the end" for n in wrong_admissions(end, scenario.before, rack.gate_fails)]
    score.lost_rows += lost_rows(killed, end)
    score.stale_leases += end.leases
    score.open_runs += end.open_runs
    if end.end != scenario.expected.end:
        score.divergent_final_states.append(f"{where}: {end.end}")


def chosen(total: int, limit: int) -> Iterable[int]:
    """All boundaries, or `limit` of them at equal distances."""
    return range(1, total + 1) if not limit or limit >= total else sorted({1 + i * total // limit for i in range(limit)})


def in_child(work: Callable[[], object], *, killed: bool = False) -> int:
    """Run in a process of its own; returns its exit status. With `killed`, it must not come to its end."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            work()
            code = 0
        except BaseException:  # noqa: BLE001 the parent only sees the exit status
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status) != killed:
        raise RuntimeError(f"the process {'was not' if killed else 'was'} killed")
    return os.WEXITSTATUS(status) if not killed else 0


def _in_child_or_raise(work: Callable[[], object]) -> None:
    if in_child(work):
        raise RuntimeError("the undisturbed run failed: its traceback is above")


def _run(databases: Databases, folder: Path, kill_at: int = 0, *, power_loss: bool = False) -> list[str]:
    boundaries = Boundaries(kill_at)
    rack = DiskRack(folder, before=boundaries.reached, address=databases.url(folder))
    if power_loss:
        loss = PowerLoss(folder, kept=(NODES_FILE,))
        loss.install()
        boundaries.before_kill = loss.happen
    boundaries.install()
    rack.provision()
    return boundaries.names


def _copy(databases: Databases, template: Path, to: Path) -> None:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(template, to)
    databases.copy(template, to)
