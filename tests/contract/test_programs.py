"""`doctor` knows every program that clusterctl starts on the controller: what starts one names it by `Program`, and `doctor` checks all of these.

Four libraries start programs themselves: ansible-runner and Ansible, asyncssh (ProxyCommand), the client of Kubernetes (a plug-in for credentials).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterctl.adapters.config import Config, PoolDeclaration
from clusterctl.model.program import Program
from clusterctl.workflows import doctor
from support.roles import ROOT
from support.site import Site
from support.started_programs import started_otherwise

PACKAGE = ROOT / "cli" / "clusterctl"
# what a site names, or clusterctl's own command line -> where `doctor` checks it
OTHERWISE = {
    "adapters/event_delivery.py": {"receiver.command"},  # site_needs: the check `receiver NAME`
    "adapters/inventory/kept.py": {"*argv"},  # this Python, by `inventory_kept_open`
    "adapters/inventory/worker.py": {"_argv()"},  # this Python
    "adapters/programs.py": {"command"},  # the checks themselves
    "workflows/queue/work.py": {"self.command.argv"},  # this Python, by `own_command`
}


def test_what_starts_a_program_names_it() -> None:
    found = {path.relative_to(PACKAGE).as_posix(): set(started_otherwise(path.read_text())) for path in PACKAGE.rglob("*.py")}
    assert {name: programs for name, programs in found.items() if programs} == OTHERWISE


def test_doctor_checks_every_program(tmp_path: Path) -> None:
    layers = tuple(Site(tmp_path).layers)
    config = Config(root=tmp_path, inventory=layers, state_dir=tmp_path, pool=PoolDeclaration("slurm"), signing_key=Path("key"))
    names = [c.name for c in doctor.examine(config)]
    assert set(map(str, Program)) - set(names) == set()
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('subprocess.run(["sinfo", *words])', ["'sinfo'"]),
        ('subprocess.Popen(("sinfo",))', ["'sinfo'"]),
        ("argv = [name, 1]; subprocess.run(argv)", ["name"]),
        ("subprocess.run(argv)", ["argv"]),
        ('await asyncio.create_subprocess_exec("sinfo")', ["'sinfo'"]),
        ("await asyncio.create_subprocess_exec(*words)", ["words"]),
        ('os.system("sinfo -N")', ["'sinfo -N'"]),
        ('shutil.which("sinfo")', ["'sinfo'"]),
        ("which(name)", ["name"]),
        ("from subprocess import run", ["from subprocess import run"]),
        ("subprocess.run([program])", []),
        ("which(program)", []),
        ("subprocess.run([Program.SQUEUE, *words])", []),
        ("argv = [sys.executable, '-m', 'x']; subprocess.run(argv)", []),
        ("runner.run(['sinfo'])", []),
    ],
)
def test_a_program_that_is_not_named_is_found(line: str, expected: list[str]) -> None:
    assert list(started_otherwise(f"async def f(name: str, program: Program, words): {line}")) == expected
