"""32 nodes measured together, rack by rack and then all: one is off GPUDirect, and a first controller is killed in the middle. No node may log in to another."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from clusterctl.model.exit_codes import ExitCode
from drill.rounds import Round
from support.burnin_rack import BurninRack, burnin_nodes
from support.killed_burnin import END_ALL, kill_in_the_middle, left
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

NAME = "group_of_32"
NODES, PER_RACK, BAD = 32, 8, "b19"
_GATE = ("--gates", "nccl_group")
_SETTINGS = {"nccl_group": {"rungs": ["rack", "all"], "timeout_s": 300, "peer_wait_s": 300}}
_LIMIT_S = 1200
# What lets a node log in to another, and what others may use to log in to it.
_KEYS = "sha256sum /root/.ssh/* /home/*/.ssh/* /etc/ssh/*_key /etc/ssh/ssh_known_hosts 2>/dev/null; pgrep -a ssh-agent; true"


def play_large_group(folder: Path) -> Round:
    """Play it on containers of its own; results are in `folder`."""
    with burnin_nodes(folder / "nodes", NODES) as nodes:
        rack = BurninRack(nodes, folder / "site", folder / "state", _SETTINGS, per_rack=PER_RACK)
        nodes[BAD].shell("touch /etc/fake-no-gdr")
        seen = [_keys(rack)]
        try:
            kill_in_the_middle(rack, *_GATE, limit_s=_LIMIT_S, look=lambda: seen.append(_keys(rack)))
            seen.append(_keys(rack))
            began = time.monotonic()
            code, data = _burnin(rack)
            duration_s = time.monotonic() - began
            seen.append(_keys(rack))
            wrong = [*wrong_verdicts(code, data), *(f"{name} still runs {lines}" for name, lines in left(rack).items())]
        finally:
            for one in nodes.values():
                one.shell(END_ALL)
    changed = sorted({name for keys in seen for name in keys if keys[name] != seen[0][name]})
    wrong += [f"SSH keys of {name} changed" for name in changed]
    passed = sum(n["passed"] for n in data["nodes"])
    return Round(NAME, "group", code, round(duration_s, 1), f"{passed} of {NODES} passed", _reason(data), tuple(wrong))


def _burnin(rack: BurninRack) -> tuple[int, dict[str, Any]]:
    words = ["--state-dir", str(rack.state_dir), "burnin", "rack-b", *_GATE, *rack.write(), "-o", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "clusterctl", *words], cwd=ROOT, check=False, capture_output=True, text=True, timeout=2 * _LIMIT_S
    )
    return done.returncode, json.loads(done.stdout)


def _keys(rack: BurninRack) -> dict[str, str]:
    return {name: one.shell(_KEYS) for name, one in rack.nodes.items()}


def _results(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [r | {"node": n["name"]} for n in data["nodes"] for r in n["results"] if r["gate"] == "nccl_group"]


def _reason(data: dict[str, Any]) -> str:
    return "; ".join(f"{r['node']}: {r['detail']}" for r in _results(data) if r["outcome"] != "pass")


def wrong_verdicts(code: int, data: dict[str, Any]) -> Iterator[str]:
    """What `burnin` should not have said: its exit status and its JSON document."""
    if code != ExitCode.GATE_FAILED:
        yield f"exit status {code}"
    bad = {(r["node"], r["outcome"], r["reason"]) for r in _results(data) if r["outcome"] != "pass"}
    if bad != {(BAD, "fail", "wrong_transport")}:
        yield f"found {bad}"
    proved = {n["name"] for n in data["nodes"] if n["passed"] and any(r["gate"] == "nccl_group" for r in n["results"])}
    if len(proved) != NODES - 1 or BAD in proved:
        yield f"{len(proved)} nodes passed"
