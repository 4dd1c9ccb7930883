"""Stores for tests, copied from a migrated template; factories for nodes, findings and gate results."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from clusterctl.adapters import clock
from clusterctl.adapters.store import Store
from clusterctl.core.admission import record as admission_record
from clusterctl.core.admission.decide import decide_admission
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.node import Connection, Node, NodeSpec, Place
from clusterctl.model.playbook_result import HostOutcome, HostStatus
from clusterctl.model.records import AdmissionRecord, RunRow
from clusterctl.model.state import State
from clusterctl_validators.finding import Finding, Severity

ROLE = "hugepages"
GATE = "rdma_pair"
DIGEST = "d" * 64


@cache
def _template() -> bytes:
    """Kept in memory: no file would be removed where a process ends by a signal, as workers of pytest-xdist may."""
    with TemporaryDirectory(prefix="clusterctl-store-") as folder:
        path = Path(folder) / "template.db"
        Store.open(f"sqlite:///{path}").close()
        return path.read_bytes()


def fresh(folder: Path) -> Store:
    """An empty store in `folder`, at `clusterctl.db`."""
    place_empty(folder)
    return Store.open(f"sqlite:///{folder / 'clusterctl.db'}")


def place_empty(folder: Path) -> None:
    """An empty database in `folder`, at `clusterctl.db`: to migrate a new one takes longer than most tests."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "clusterctl.db").write_bytes(_template())


def a_node(name: str = "r12-n01", *, rack: str = "rack_12", slot: int = 1, digest: str = DIGEST) -> Node:
    """A node in a rack with one role and one gate."""
    gates = {"gates_levels": {"quick": [GATE]}}
    spec = NodeSpec({ROLE: {}}, gates, (), digest)
    return Node(name, ("all", rack, "profile_lab"), Connection("127.0.0.1"), Place(rack=rack, slot=slot), spec)


def a_run(run_id: str = "20260314-090000-provision-aaaa", directory: str = "", *, verb: str = "provision") -> RunRow:
    """A run of this process that starts now."""
    return RunRow(run_id, verb, "rack-12", "alice", clock.now(), ("clusterctl", verb, "rack-12"), {"clusterctl": "0.1.0"}, directory)


def a_finding(outcome: Outcome = Outcome.PASS, severity: Severity = Severity.MAJOR, check: str = "hugepages.pages[1G].running") -> Finding:
    """A finding of the role hugepages."""
    return Finding(check, ROLE, outcome, severity, expected="16", found="8" if outcome is Outcome.FAIL else "16", hint="reboot")


def findings(*items: Finding, node: str = "r12-n01", status: NodeStatus = NodeStatus.OK, detail: str = "") -> NodeFindings:
    """A validation; with one passing finding if none is given."""
    return NodeFindings(node, status, detail, items or (a_finding(),), 1.5)


def a_result(outcome: Outcome = Outcome.PASS, *, node: str = "r12-n01", gate: str = GATE, device: str = "mlx5_3") -> GateResult:
    """A gate result for one HCA."""
    return GateResult(
        gate,
        node,
        outcome,
        "floor",
        metric="bandwidth_average",
        expected=">= 180 Gb/s",
        found="98.1 Gb/s" if outcome is Outcome.FAIL else "196.4 Gb/s",
        device=device,
        peers=("r12-n02",),
        source="vendor data sheet",
        detail="partners were fine with others",
        hint="check the cable of mlx5_3",
        simulated=True,
        reason=GateReason.BELOW_FLOOR if outcome is Outcome.FAIL else None,
        value=98.1 if outcome is Outcome.FAIL else 196.4,
        limit=180.0,
        unit="Gb/s",
    )


def bring(store: Store, name: str, *states: State, run_id: str = "") -> None:
    """Move a node through states."""
    for state in states:
        store.transition(name, state, run_id=run_id, operator="alice")


def burn_in(store: Store, run: RunRow, name: str = "r12-n01", digest: str = DIGEST) -> None:
    """Move a registered node to `burned_in` through a successful run, with evidence and admission record."""
    bring(store, name, State.PROVISIONING, State.PROVISIONED, run_id=run.id)
    store.save_findings(run.id, findings(node=name))
    bring(store, name, State.VALIDATED, run_id=run.id)
    store.save_gate_results(run.id, [a_result(node=name)])
    bring(store, name, State.BURNED_IN, run_id=run.id)
    store.save_admission(a_record(name, run.id, digest))


def a_record(name: str, run_id: str, digest: str = DIGEST) -> AdmissionRecord:
    """A complete admission record."""
    own = findings(node=name)
    verdict = decide_admission(
        name,
        expected_roles=[ROLE],
        expected_gates=[GATE],
        findings=own,
        gate_results=[a_result(node=name)],
        outcome=HostOutcome(name, HostStatus.OK),
    )
    return admission_record.build_record(
        verdict,
        run_id=run_id,
        spec_digest=digest,
        operator="alice",
        at=clock.now(),
        expected_roles=[ROLE],
        expected_gates=[GATE],
        findings=own,
        gate_results=[a_result(node=name)],
        baselines=[],
        evidence={f"{run_id}/gates/rdma_pair/{name}.json": "0" * 64},
        versions={"clusterctl": "0.1.0"},
    )
