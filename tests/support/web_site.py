"""A record with a bit of everything for the web view: two racks, a node with parts, findings, measurements and admissions, hostile text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import insert

from clusterctl.adapters.store import Store, tables
from clusterctl.model.findings import NodeStatus
from clusterctl.model.gate_result import Outcome
from clusterctl.model.notice import Period
from clusterctl.model.part import Part
from clusterctl.model.records import RunStatus
from clusterctl.model.state import State
from clusterctl.serve.access import Access, access_of
from clusterctl.serve.app import web_app
from clusterctl.workflows.browse import Browser
from support.nights import night_run
from support.stores import a_finding, a_node, a_result, a_run, bring, burn_in, findings, fresh

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clusterctl.model.gate_result import GateResult
    from clusterctl.serve.guard import Guard

FIRST, SECOND = "20260314-090000-provision-aaaa", "20260315-090000-burnin-bbbb"
NODE, BAD, SILENT, LONELY = "r12-n01", "r12-n02", "r13-n01", "spare"
PLANNED = Period("2999-01-01T09:00:00.000000Z", "2999-01-01T17:00:00.000000Z")
LOOPBACK = access_of(address="127.0.0.1", token=None, header="", proxies=())


def store_url(folder: Path) -> str:
    """The URL of the store that `fresh` makes."""
    return f"sqlite:///{folder / 'clusterctl.db'}"


def app_of(folder: Path, access: Access = LOOPBACK) -> Guard:
    """The application over the store in a folder."""
    return web_app(Browser(store_url(folder)), access)


def write_site(folder: Path, hostile: str = "") -> None:
    """Write the record; `hostile` is what nodes, people and inventories say wherever they may say something."""
    with fresh(folder) as store:
        nodes = [a_node(NODE), a_node(BAD, slot=2), a_node(SILENT, rack="rack_13"), a_node(LONELY, rack="", slot=0)]
        store.register(nodes)
        store.start_run(replace(a_run(FIRST), target=f"all{hostile}"), [n.name for n in nodes])
        _good(store, hostile)
        _bad(store, hostile)
        store.save_run_node(FIRST, BAD, phase="burnin", outcome="failed", detail=f"rdma_pair {hostile}")
        store.finish_run(FIRST, RunStatus.FAILED, 7, {})
        store.start_run(a_run(SECOND, verb="burnin"), [NODE])
        store.save_gate_results(SECOND, [replace(a_result(), value=201.5, found="201.5 Gb/s"), a_result(gate="nccl_node", device="")])
        store.acquire([NODE], run_id=SECOND, holder=f"bob{hostile}")


def _good(store: Store, hostile: str) -> None:
    burn_in(store, a_run(FIRST), NODE)
    bring(store, NODE, State.ADMITTED, run_id=FIRST)
    gpus = [Part("gpu", f"0000:0{i}:00.0", f"GPU {i}", f"H100{hostile}", f"GPU-{i}") for i in range(2)]
    store.announce(NODE, [NODE], PLANNED, operator=f"eve{hostile}", reason=f"new switch {hostile}")
    store.save_parts(FIRST, NODE, [*gpus, Part("system", "", "system", "DGX", f"SYS-1{hostile}")])
    store.save_parts(SECOND, NODE, [*gpus[:1], replace(gpus[1], serial="GPU-9"), Part("system", "", "system", "DGX", f"SYS-1{hostile}")])


def _bad(store: Store, hostile: str) -> None:
    bring(store, BAD, State.PROVISIONING, State.PROVISIONED, run_id=FIRST)
    bad = replace(a_finding(Outcome.FAIL), found=f"8{hostile}", hint=f"reboot {hostile}")
    store.save_findings(FIRST, findings(bad, a_finding(), node=BAD))
    store.save_gate_results(FIRST, [replace(a_result(Outcome.FAIL, node=BAD), detail=f"slow {hostile}", device=f"mlx5_3{hostile}")])
    store.transition(BAD, State.QUARANTINED, run_id=FIRST, operator="alice", reason=f"rdma_pair failed {hostile}", owner=f"bob{hostile}")
    store.save_findings(FIRST, findings(node=SILENT, status=NodeStatus.UNREACHABLE, detail=f"no route to host {hostile}"))


def write_fleet(folder: Path, racks: int, per_rack: int) -> None:
    """Write the bare nodes of a large fleet, each rack with one node in quarantine: what the first page shows is as long as it gets."""
    with fresh(folder) as store:
        rows = [
            {
                "name": f"dc1-hall2-r{rack:04d}-n{slot:02d}",
                "rack": f"dc1-hall2-r{rack:04d}",
                "slot": slot,
                "groups": ["all", f"dc1_hall2_r{rack:04d}", "profile_hgx_h100"],
                "profile": "profile_hgx_h100",
                "state": State.QUARANTINED.value if slot == 1 else State.ADMITTED.value,
                "reason": "rdma_pair mlx5_3: 92 of 400 Gb/s" if slot == 1 else "",
                "spec_digest": "d" * 64,
                "declared_digest": "d" * 64,
                "last_run": "",
                "since": "2026-03-14T09:00:00.000000Z",
                "epoch": 0,
                "owner": "",
            }
            for rack in range(1, racks + 1)
            for slot in range(1, per_rack + 1)
        ]
        with store._engine.begin() as connection:
            connection.execute(insert(tables.nodes), rows)
            parts = [
                {
                    "node": row["name"],
                    "kind": "gpu",
                    "slot": f"0000:{gpu:02x}:00.0",
                    "name": f"GPU {gpu}",
                    "model": "NVIDIA H100 80GB HBM3",
                    "serial": f"{number:08d}-{gpu}",
                    "first_run": FIRST,
                    "first_seen": "2026-03-14T09:00:00.000000Z",
                    "last_seen": "2026-03-14T09:00:00.000000Z",
                    "ended_run": "",
                }
                for number, row in enumerate(rows[:1000])
                for gpu in range(8)
            ]
            connection.execute(insert(tables.parts), parts)


def measure_fleet(folder: Path, nights: int, figures: int, devices: int, measured: int) -> None:
    """Nightly runs of all its nodes, with results of some, evenly spread."""
    with Store.open(store_url(folder)) as store:
        names = sorted(n.name for n in store.nodes())
        places = [-(-i * len(names) // measured) for i in range(measured)]
        for night in range(1, nights + 1):
            run = night_run(night)
            store.start_run(run, names)
            store.save_gate_results(run.id, (r for i in places for r in _measured(names[i], figures, devices, i / 1e4)))


def _measured(name: str, figures: int, devices: int, more: float) -> Iterator[GateResult]:
    for place in range(figures * devices):
        figure, device = divmod(place, devices)
        yield replace(a_result(node=name, device=f"mlx5_{device}"), metric=f"bandwidth_{figure}", value=190.125 + device + more)
