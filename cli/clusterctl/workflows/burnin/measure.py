"""Carries a gate plan out: plans to the nodes, raw records back, every planned step accounted for."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from clusterctl.adapters import raw_records as rawfile
from clusterctl.adapters.ansible.runner import PlaybookRequest, run_playbook
from clusterctl.core.parsers.ssh_messages import read_ssh_failure
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import RawRecord
from clusterctl.model.playbook_result import HostStatus, PlaybookStatus
from clusterctl.workflows.burnin import agent_plan as planfile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.adapters.run_directory import RunDir
    from clusterctl.core.gates.planning.gate_plan import GatePlan
    from clusterctl.core.gates.planning.step import GateStep
    from clusterctl.model.playbook_result import PlaybookResult
    from clusterctl.model.task_event import TaskEvent

_PLAYBOOK_MARGIN_S = 300
# A node that reboots while it is measured: 300 s are too short for bare metal, 900 s work (microsoft/lisa, pull request 3082).
_RETURN_S = 900
_FORKS = 50
_TOKEN_BYTES = 32
# The agent keeps 512 KiB of each stream of a step; JSON writes a control character as six.
_RECORD_LIMIT_BYTES = 2 * 6 * 512 * 1024


def measure(
    plan: GatePlan,
    rundir: RunDir,
    config: Config,
    part: str,
    on_event: Callable[[TaskEvent], None] | None = None,
    *,
    earlier: Sequence[RawRecord] = (),
) -> tuple[RawRecord, ...]:
    """Measure, store `gates/<gate>/<node>.json`, return one record per planned step.

    A step whose record did not come back gets one that records this; nothing here is judged. A gate that was measured in an
    earlier part, too, has the records of both in its file.

    Raises:
        ConfigError: the playbook cannot be started.
        StoreError: the run directory cannot be written.
    """
    busy = plan.busy
    if not busy:
        return ()
    run = f"{rundir.id}-{part}"
    folder = f"burnin/{part}"
    owner = planfile.owner_of(config)
    token = secrets.token_hex(_TOKEN_BYTES)
    for name in busy:
        rundir.write_json(f"{folder}/plans/{name}.json", planfile.plan_for(plan, name, run, owner, token))
    fetched = rundir.path_for(f"{folder}/records/.keep").parent
    variables = {
        "burnin_plan_dir": str(rundir.path / folder / "plans"),
        "burnin_records_dir": str(fetched),
        "burnin_run": run,
        "burnin_limit_s": plan.limit_s + 60,
        "burnin_return_s": _RETURN_S,
        "burnin_nvlink_groups": {name: list(members) for name, members in plan.nvlink_groups.items()},
    }
    request = PlaybookRequest(
        playbook="burnin.yml",
        inventory=config.inventory,
        nodes=busy,
        forks=min(max(len(busy), 1), _FORKS),
        timeout_s=plan.limit_s + _RETURN_S + _PLAYBOOK_MARGIN_S,
        extra_vars_file=rundir.write_json(f"{folder}/variables.json", variables),
    )
    outcome = run_playbook(request, rundir.path_for(f"{folder}/ansible/.keep").parent, on_event)
    brought: dict[str, Sequence[RawRecord]] = {}
    for name in busy:
        limit_bytes = len(plan.steps[name]) * _RECORD_LIMIT_BYTES
        brought[name] = rawfile.read_records(rundir.read_text(f"{folder}/records/{name}.jsonl", limit_bytes) or "")
    records = accounted(plan, brought, outcome)
    for gate in plan.gates:
        for name in busy:
            own = [r for r in (*earlier, *records) if r.gate == gate and r.node == name]
            if own:
                rundir.write_json(f"gates/{gate}/{name}.json", rawfile.gate_document(gate, name, own))
    return records


def accounted(plan: GatePlan, brought: Mapping[str, Sequence[RawRecord]], outcome: PlaybookResult) -> tuple[RawRecord, ...]:
    """One record per planned step, in the order of the plan; what a node brought that is not of its plan is left out. Pure."""
    records: list[RawRecord] = []
    for name, steps in plan.steps.items():
        own = {(r.gate, r.step): r for r in brought.get(name, ()) if r.node == name}
        for step in steps:
            found = own.get((step.gate, step.name))
            records.append(found if found and _is_of(found, step) else _missing(name, step, outcome))
    return tuple(records)


def _is_of(record: RawRecord, step: GateStep) -> bool:
    """A record is judged for all nodes that it names."""
    said = (record.tool, record.argv, record.device, record.peer, record.peer_device, record.peers)
    return said == (step.tool, step.argv, step.device, step.peer, step.peer_device, step.peers)


def _missing(node: str, step: GateStep, outcome: PlaybookResult) -> RawRecord:
    code, why = _why(node, outcome)
    return RawRecord(
        gate=step.gate,
        step=step.name,
        tool=step.tool,
        node=node,
        argv=step.argv,
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        duration_s=0.0,
        exit_status=None,
        stdout="",
        stderr="",
        device=step.device,
        peer=step.peer,
        peer_device=step.peer_device,
        peers=step.peers,
        error=f"no record came back: {why}",
        attempts=0,
        error_code=code,
    )


def _why(node: str, outcome: PlaybookResult) -> tuple[GateReason, str]:
    if outcome.status is not PlaybookStatus.COMPLETED:
        code = GateReason.TIMED_OUT if outcome.status is PlaybookStatus.TIMED_OUT else GateReason.NO_RECORD
        return code, f"the measuring play {outcome.status.replace('_', ' ')}: {outcome.detail}"
    host = outcome.hosts.get(node)
    if host is None or host.status is HostStatus.NOT_PROCESSED:
        return GateReason.NO_RECORD, "the measuring play never reached the node"
    if host.status is HostStatus.UNREACHABLE:
        return GateReason.NODE_UNREACHABLE, "node unreachable" + "".join(f": {read_ssh_failure(f.message)[1]}" for f in host.failures)
    return GateReason.NO_RECORD, "; ".join(f.message for f in host.failures) or "its agent left the step out"
