"""Runs without a recorded end: reported, taken over, or resumed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.run_directory import RunDir
from clusterctl.model.errors import UsageProblemError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.provision import Phase, ProvisionOptions
from clusterctl.model.records import RunStatus

if TYPE_CHECKING:
    from collections.abc import Collection

    from clusterctl.adapters.store.store import Store
    from clusterctl.workflows.provision.request import ProvisionRequest

INTERRUPTED = "stopped; nodes that were being changed are out of the pool"
RESUME_HINT = "`clusterctl provision --resume {run_id}` continues, and so does the same command"
_FILE = "request.json"


@dataclass(frozen=True, slots=True)
class Resumed:
    """The request of an earlier run. `nodes` are those it did not finish."""

    run_id: str
    inventory: tuple[Path, ...]
    nodes: tuple[str, ...]
    options: ProvisionOptions


def save_request(rundir: RunDir, request: ProvisionRequest, target: str) -> None:
    """Save what `--resume` needs."""
    layers = [str(i.resolve()) for i in request.inventory]
    body = {"target": target, "inventory": layers, "options": request.options.to_json(), "healing": request.healing}
    rundir.write_json(_FILE, body)


def was_healing(rundir: RunDir) -> bool:
    """Whether `drift --heal` made the request of a run; False where it cannot be read."""
    try:
        data = json.loads(rundir.read_text(_FILE) or "{}")
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and data.get("healing") is True


def resumed(store: Store, run_id: str, ansible_args: tuple[str, ...]) -> Resumed:
    """What is left to do of a run.

    Raises:
        UnknownRunError: no such run.
        RunDirectoryGoneError: of this run.
        UsageProblemError: it is not a `provision` run, it is still in progress, or nothing of it is left.
    """
    run = store.run(run_id)
    if run.verb != "provision":
        raise UsageProblemError(detail=f"run {run.id} is a {run.verb}, which cannot be resumed", hint=f"run `clusterctl {run.verb}` again")
    if run.status is RunStatus.RUNNING and run.id not in {r.id for r in store.unfinished_runs()}:
        raise UsageProblemError(detail=f"run {run.id} is still in progress", hint="wait for its end; `clusterctl status` shows it")
    nodes = tuple(n.node for n in store.run_nodes(run.id) if n.phase != Phase.DONE)
    text = RunDir.of(run).read_text(_FILE)
    if not nodes or text is None:
        raise UsageProblemError(detail=f"nothing of run {run.id} is left to do", hint=f"`clusterctl provision {run.target}` starts anew")
    data: dict[str, Any] = json.loads(text)
    options = ProvisionOptions.from_json(data["options"], ansible_args)
    return Resumed(run.id, tuple(Path(i) for i in data["inventory"]), nodes, options)


def take_over(store: Store, names: Collection[str]) -> tuple[str, ...]:
    """Close dead runs that concern these nodes, which this run continues from where they stand. Returns one line per run that left nodes.

    A run that died after its last node left none, only its end was not recorded.
    """
    taken_over: list[str] = []
    for run in store.unfinished_runs():
        nodes = store.run_nodes(run.id)
        open_nodes = [n.node for n in nodes if n.phase != Phase.DONE]
        left = [name for name in open_nodes if name in names]
        if left or (not open_nodes and any(n.node in names for n in nodes)):
            store.finish_run(run.id, RunStatus.ABANDONED, ExitCode.INTERRUPTED, {"abandoned": left})
        if left:
            taken_over.append(
                f"run {run.id} of {run.operator} was killed and left {len(left)} of these nodes unfinished ({', '.join(left)}); taken over"
            )
    return tuple(taken_over)
