"""One round: all nodes have something to apply, one fails in a phase of the run; look; mend it; it is admitted."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.model.exit_codes import ExitCode
from drill.faults import FAULTS
from support.demo_rack import CLUSTERCTL
from support.lab_ssh import LabSsh

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.demo_rack import DemoRack

# Phase -> (how its line begins, how to see that it has come to the node). Ansible pipes its modules, so they have no name there.
PHASES = {"apply": ("] apply: r", "pgrep -f 'sshd: root'"), "burn_in": ("] burn in: r", "pgrep -f 'burnin_agent.py ru[n]'")}
_COMES_S = 180
NODES = 3
_DRIFT = "rm /etc/nccl.conf"
# The folder of a burn-in that could not end stays until it is older than a run can last (roles/burnin/tasks/stale.yml).
_LEFT = "pgrep -af 'burnin_agen[t]'; true"
PROVISION = ("--yes", "--force", "--roles", "nccl", "--retest")


@dataclass(frozen=True)
class Round:
    """What was seen.

    Attributes:
        reason: why the node was not admitted, as recorded.
        wrong: what should not be so; empty if all is well.
    """

    fault: str
    phase: str
    exit_code: int
    duration_s: float
    state: str
    reason: str
    wrong: tuple[str, ...]


def drift(rack: DemoRack, names: list[str]) -> None:
    """Give every node something to apply."""
    for name in names:
        LabSsh(rack.state_dir)(name, _DRIFT)


def play(rack: DemoRack, fault: str, phase: str) -> Round:
    """Play one round on an admitted rack; the second node fails, or is disturbed."""
    names, ssh, bad = [rack.node(i) for i in range(1, NODES + 1)], LabSsh(rack.state_dir), rack.node(2)
    drift(rack, names)
    began = time.monotonic()
    code, text = _run_into(rack, fault, phase, bad)
    duration_s = time.monotonic() - began
    status = rack.ok("status", rack.target, "-o", "json").json
    found = {n["name"]: n for n in status["nodes"]}
    wrong = [*wrong_states(status, "" if FAULTS[fault].passes else bad), *(line for line in text.splitlines() if "Traceback" in line)]
    if code not in FAULTS[fault].exit_codes:
        wrong.append(f"exit status {code}")
    FAULTS[fault].stop(bad)
    wrong += after(rack, ssh, names, "--partners", ",".join(n for n in names if n != bad), target=bad)
    return Round(fault, phase, code, round(duration_s, 1), found[bad]["state"], found[bad]["reason"], tuple(wrong))


def _run_into(rack: DemoRack, fault: str, phase: str, bad: str) -> tuple[int, str]:
    argv = [CLUSTERCTL, "provision", rack.target, *PROVISION]
    lines = []
    with subprocess.Popen(
        argv, cwd=rack.site, env=rack.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as run:
        assert run.stdout is not None
        begins, has_come = PHASES[phase]
        pending = True
        for line in run.stdout:
            lines.append(line)
            if pending and begins in line:
                _wait_for(bad, FAULTS[fault].comes or has_come)
                FAULTS[fault].happen(bad)
                pending = False
        code = run.wait()
    if pending:
        raise RuntimeError(f"the run never came to {phase}:\n{''.join(lines)}")
    return code, "".join(lines)


def _wait_for(node: str, has_come: str) -> None:
    deadline = time.monotonic() + _COMES_S
    while subprocess.run(["podman", "exec", node, "sh", "-c", has_come], check=False, capture_output=True).returncode:
        if time.monotonic() > deadline:
            raise RuntimeError(f"nothing came to {node} within {_COMES_S} s: {has_come}")
        time.sleep(0.2)


def wrong_states(status: dict[str, Any], bad: str) -> Iterator[str]:
    """What should not be so after the run, in the document of `clusterctl status`; `bad` must be out, the others admitted."""
    found = {n["name"]: n for n in status["nodes"]}
    if bad and found[bad]["state"] == "admitted":
        yield f"{bad} is admitted"
    if bad and not found[bad]["reason"]:
        yield f"{bad} has no reason"
    for name, node in found.items():
        if node["held_by"]:
            yield f"{name} is still held by {node['held_by']}"
        if name != bad and node["state"] != "admitted":
            yield f"{name} is {node['state']}: {node['reason']}"
    if status["unfinished_runs"]:
        yield "a run has no end"


def after(rack: DemoRack, ssh: LabSsh, names: list[str], *words: str, target: str = "") -> Iterator[str]:
    """What is wrong once all is mended: `provision` must admit the node or the rack, and no process of a run may be left on any node."""
    deadline = time.monotonic() + 120
    while any(ssh.run(name, "systemctl is-system-running --wait").stdout.strip() not in {"running", "degraded"} for name in names):
        if time.monotonic() > deadline:
            yield "the node did not come back within 120 s"
            return
        time.sleep(1)
    again = rack.clusterctl("provision", target or rack.target, "--yes", "--retest", *words)
    if again.code != ExitCode.OK or set(rack.states().values()) != {"admitted"}:
        yield f"mended: provision ended {again.code}: {again.out[-2000:]}{again.err[-500:]}"
    for name in names:
        left = ssh(name, _LEFT)
        if left:
            yield f"still at work on {name}: {left}"
