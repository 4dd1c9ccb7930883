"""A rack of six nodes after a run, with its run directory: five nodes are admitted, one is quarantined because of a slow HCA."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.adapters import raw_records as rawfile
from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.run_directory import RunDir
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord
from clusterctl.model.records import RunStatus
from clusterctl.model.state import State
from clusterctl_validators.finding import Finding, Severity
from support.stores import DIGEST, a_node, a_record, a_result, a_run, fresh

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.store import Store
    from clusterctl.model.records import RunRow

NAMES = tuple(f"r12-n0{i}" for i in range(1, 7))
RAILS = 4
SLOW = ("r12-n04", 3)
GOOD = tuple(n for n in NAMES if n != SLOW[0])
_OUTPUT = """\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : {device}
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 8388608    5000             {value:.2f}             {value:.2f}             0.002931
---------------------------------------------------------------------------------------
"""


def provisioned_rack(state_dir: Path, *, hostile: str = "") -> tuple[Store, RunRow]:
    """The store and the run. `hostile` is added to all texts that come from a node."""
    store = fresh(state_dir)
    rundir = RunDir.create(state_dir, "provision")
    run = a_run(rundir.id, str(rundir.path))
    store.register([a_node(name, slot=i) for i, name in enumerate(NAMES, 1)])
    store.start_run(run, NAMES)
    _write_records(rundir)
    for name in NAMES:
        store.transition(name, State.PROVISIONING, run_id=run.id, operator="alice")
        store.transition(name, State.PROVISIONED, run_id=run.id, operator="alice", spec_digest=DIGEST)
        store.save_findings(run.id, _findings(name, hostile))
        store.transition(name, State.VALIDATED, run_id=run.id, operator="alice")
    results = [_result(name, rail, hostile) for name in NAMES for rail in range(RAILS)]
    store.save_gate_results(run.id, results)
    for name in NAMES:
        _finish(store, run, name, hostile)
    store.finish_run(run.id, RunStatus.DONE, 7, {})
    return store, store.run(run.id)


def pooled_rack(state_dir: Path) -> Store:
    """The store, with the admitted nodes in the local pool."""
    store, run = provisioned_rack(state_dir)
    for name in GOOD:
        LocalPool(store).admit(name, run.id)
    return store


def _finish(store: Store, run: RunRow, name: str, hostile: str) -> None:
    if name == SLOW[0]:
        reason = f"rdma_pair mlx5_3: bandwidth_average 98.1 of 200 Gb/s, expected >= 180 Gb/s [vendor data sheet]{hostile}"
        store.transition(name, State.QUARANTINED, run_id=run.id, operator="alice", reason=reason)
        return
    store.transition(name, State.BURNED_IN, run_id=run.id, operator="alice")
    store.save_admission(a_record(name, run.id))
    store.transition(name, State.ADMITTED, run_id=run.id, operator="alice")


def _findings(name: str, hostile: str) -> NodeFindings:
    rows = [
        Finding(f"hugepages.pages[1G].node{n}.{a}", "hugepages", Outcome.PASS, Severity.MAJOR, "16", "16")
        for n in (0, 1)
        for a in ("running", "persisted")
    ]
    rows += [Finding(f"os_tuning.sysctl[net.core.{k}].running", "os_tuning", Outcome.PASS, Severity.MAJOR, "1", "1") for k in "abcdef"]
    if name == NAMES[1]:
        rows.append(Finding("kernel.motd.text", "kernel", Outcome.FAIL, Severity.MINOR, "none", f"Welcome{hostile}", f"remove it{hostile}"))
    return NodeFindings(name, NodeStatus.OK, "", tuple(rows), 1.2)


def _result(name: str, rail: int, hostile: str) -> GateResult:
    device = f"mlx5_{rail}"
    if (name, rail) == SLOW:
        bad = a_result(Outcome.FAIL, node=name, device=device)
        return replace(bad, found=f"98.1 of 200 Gb/s{hostile}", detail="all 5 partners were fine with others")
    return replace(a_result(node=name, device=device), hint="")


def _write_records(rundir: RunDir) -> None:
    records = [r for rail in range(RAILS) for one, other in itertools.combinations(NAMES, 2) for r in _pair(one, other, rail)]
    for name in NAMES:
        own = [r for r in records if r.node == name]
        rundir.write_json(f"gates/rdma_pair/{name}.json", rawfile.gate_document("rdma_pair", name, own))
    rundir.write_text("provision.log", "done\n")


def _pair(one: str, other: str, rail: int) -> tuple[RawRecord, RawRecord]:
    slow = rail == SLOW[1] and SLOW[0] in (one, other)
    value = (98.1 if slow else 196.4) + (hash_of(one, other, rail) % 10) / 10
    return a_pair_record(one, other, rail, "client", value), a_pair_record(other, one, rail, "server", value)


def hash_of(*words: object) -> int:
    """A small number that is the same in all processes."""
    return sum(ord(c) for w in words for c in str(w))


def pair_output(device: str, value_gbps: float) -> str:
    """What perftest prints."""
    return _OUTPUT.format(device=device, value=value_gbps)


def a_pair_record(node: str, peer: str, rail: int, side: str, value: float) -> RawRecord:
    """One end of a measured pair."""
    device = f"mlx5_{rail}"
    return RawRecord(
        gate="rdma_pair",
        step=f"round{hash_of(*sorted((node, peer)))}-{min(node, peer)}-{max(node, peer)}.rail{rail}.{side}",
        tool="perftest",
        node=node,
        argv=("ib_write_bw", "-d", device),
        started_at="2026-03-14T09:00:00.000000Z",
        duration_s=10.0,
        exit_status=0,
        stdout=pair_output(device, value),
        stderr="",
        device=device,
        peer=peer,
        peer_device=device,
        simulated=True,
    )
