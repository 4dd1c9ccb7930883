"""The overhead of clusterctl's playbook runner compared with the equivalent ansible-playbook command."""

from __future__ import annotations

import re
import shutil
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cpu_cost import CannotMeasureError, require_success, run_command

from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.ansible.environment import added_settings
from clusterctl_lab.layout import lab_node

if TYPE_CHECKING:
    from lab_site import Lab

_SCRIPT = Path(__file__).parent / "through_runner.py"
_PLAYBOOK = Path(__file__).resolve().parents[1] / "playbooks" / "provision.yml"
_VARIABLE = "provision_out_of_pool=true"
_CHANGED = re.compile(r"changed=(\d+)")


@dataclass(frozen=True)
class Overhead:
    """Median CPU times without and with the runner; `files` is the number of files that a run with it creates."""

    bare_cpu_s: float
    through_cpu_s: float
    files: int

    @property
    def pct(self) -> float:
        """Additional CPU time in percent."""
        return 100 * (self.through_cpu_s / self.bare_cpu_s - 1)


def overhead_unchanged(lab: Lab, turns: int) -> Overhead:
    """All roles on nodes in their declared state, as with `provision --all-roles`."""
    return _alternate(lab, (), turns, None)


def overhead_changed(lab: Lab, turns: int) -> Overhead:
    """One role that has changes to make, as `provision` runs it after drift: /etc/nccl.conf is removed from both nodes before each run."""
    return _alternate(lab, ("nccl",), turns, "rm /etc/nccl.conf")


def _alternate(lab: Lab, tags: tuple[str, ...], turns: int, before: str | None) -> Overhead:
    """Alternate both variants, so that a temporary load on the machine affects both."""
    # with the settings that the printed equivalent command carries: without its callback, ansible-playbook is slower, and the runner's cost is hidden
    printed = added_settings(lab.environment(), content_dir())
    cpu_s: dict[bool, list[float]] = {True: [], False: []}
    files = 0
    for turn in range(turns):
        for through in (False, True) if turn % 2 == 0 else (True, False):
            if before:
                _on_both(lab, before)
            folder = lab.site / "runner"
            shutil.rmtree(folder, ignore_errors=True)
            argv = (
                [sys.executable, str(_SCRIPT), str(lab.site), str(folder), ",".join(tags), _VARIABLE, *lab.names]
                if through
                else _bare(lab, tags)
            )
            ran = require_success(
                run_command(argv, cwd=lab.site, env=lab.environment(**printed)), "the runner" if through else "ansible-playbook"
            )
            if not through and any((int(n) > 0) is not (before is not None) for n in _CHANGED.findall(ran.out)):
                raise CannotMeasureError(f"the playbook made unexpected changes, or none: {ran.output[-300:]}")
            cpu_s[through].append(ran.cpu_s)
            files = sum(1 for f in folder.rglob("*") if f.is_file()) if through else files
    return Overhead(statistics.median(cpu_s[False]), statistics.median(cpu_s[True]), files)


def _bare(lab: Lab, tags: tuple[str, ...]) -> list[str]:
    """The line that the runner reports as `equivalent command`."""
    chosen = ["--tags", ",".join(tags)] if tags else []
    binary = str(Path(sys.executable).parent / "ansible-playbook")
    return [
        binary,
        *lab.layers,
        "--limit",
        ",".join(lab.names),
        *chosen,
        "--forks",
        "25",
        "-e",
        _VARIABLE,
        str(_PLAYBOOK),
    ]


def _on_both(lab: Lab, command: str) -> None:
    config = str(lab.ssh_config())
    for name in lab.names:
        require_success(run_command(["ssh", "-F", config, lab_node(name).address, command]), f"{command} on {name}")
