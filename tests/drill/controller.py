"""The controller is killed while its nodes run together; the same command measures again and admits."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING

from clusterctl.model.exit_codes import ExitCode
from drill.rounds import NODES, PROVISION, Round, after, drift
from support.demo_rack import CLUSTERCTL
from support.lab_ssh import LabSsh

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.demo_rack import DemoRack

NAME = "controller_killed"
_LIMIT_S = 900
_AT_WORK = "for p in $(pgrep -f 'burnin_agent.py ru[n]'); do readlink /proc/$p/cwd; done"


def play_killed_controller(rack: DemoRack) -> Round:
    """Kill `provision` in the part of its burn-in in which the nodes run together."""
    names = [rack.node(i) for i in range(1, NODES + 1)]
    drift(rack, names)
    began = time.monotonic()
    _kill_in_group(rack, names)
    duration_s = time.monotonic() - began
    status = rack.ok("status", rack.target, "-o", "json").json
    wrong = [*_wrong(rack, status), *after(rack, LabSsh(rack.state_dir), names)]
    first = status["nodes"][0]
    return Round(NAME, "group", -9, round(duration_s, 1), first["state"], first["reason"], tuple(wrong))


def _kill_in_group(rack: DemoRack, names: list[str]) -> None:
    words = [CLUSTERCTL, "provision", rack.target, *PROVISION]
    with subprocess.Popen(
        words, cwd=rack.site, env=rack.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        deadline = time.monotonic() + _LIMIT_S
        try:
            while not _group_runs(names):
                if run.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("the run never came to its group")
                time.sleep(0.2)
        finally:
            run.kill()


def _group_runs(names: list[str]) -> bool:
    """Whether all nodes have an agent at work on the part of a burn-in in which they run together."""
    shown = [subprocess.run(["podman", "exec", n, "sh", "-c", _AT_WORK], check=False, capture_output=True, text=True) for n in names]
    return all("-group" in done.stdout for done in shown)


def _wrong(rack: DemoRack, status: dict[str, list[dict[str, str]]]) -> Iterator[str]:
    for node in status["nodes"]:
        if node["state"] == "admitted":
            yield f"{node['name']} is admitted"
    if len(status["unfinished_runs"]) != 1:
        yield f"{len(status['unfinished_runs'])} runs are unfinished"
    if rack.clusterctl("admit", rack.target).code not in (ExitCode.GATE_FAILED, ExitCode.VALIDATOR_FAILED):
        yield "`admit` takes half of the evidence"
