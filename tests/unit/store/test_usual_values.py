"""What devices usually read, from the database: five burn-ins, and a replaced adapter after them."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.store import Store
from clusterctl.model.gate_result import Figure, GateResult, Outcome
from clusterctl.model.own_history import HistoryKey
from clusterctl.model.part import Part
from clusterctl.workflows.own_history import usual_of
from support.stores import a_node, a_run, fresh

if TYPE_CHECKING:
    from pathlib import Path

NODE, DEVICES = "r12-n01", ("mlx5_0", "mlx5_1")
SYSTEM = Part("system", "", "system", "XE9680", "S1")
HCAS = tuple(Part("nic", f"0000:{18 + i}:00.0", name, "CX7", f"MT{i}") for i, name in enumerate(DEVICES))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    fresh(tmp_path).close()
    ticks = count(1)
    return Store.open(f"sqlite:///{tmp_path / 'clusterctl.db'}", clock=lambda: f"2026-03-14T09:00:{next(ticks):02}+00:00")


def burn_in(store: Store, number: int, gbps: float) -> None:
    run = replace(a_run(f"run-{number}", verb="burnin"), started_at=f"2026-03-14T08:00:{number:02}+00:00")
    store.start_run(run)
    blank = GateResult("rdma_pair", NODE, Outcome.PASS, "floor", "bandwidth_average", unit="Gb/s", op="ib_write_bw", peers=("x",))
    store.save_gate_results(run.id, [replace(blank, device=name, value=370.0, best=gbps) for name in DEVICES])


def test_a_replaced_adapter_has_no_history_and_its_neighbour_keeps_its_own(store: Store) -> None:
    store.register([a_node(NODE)])
    burn_in(store, 0, 391.0)
    store.save_parts("run-0", NODE, [SYSTEM, *HCAS])
    for number in range(1, 5):
        assert usual_of(store, [NODE]) == {}
        burn_in(store, number, 391.0)
    figure = Figure("rdma_pair", "bandwidth_average", "Gb/s", "ib_write_bw")
    keys = [HistoryKey(NODE, name, figure, "") for name in DEVICES]
    assert usual_of(store, [NODE]) == dict.fromkeys(keys, pytest.approx(391.0)), "the best meeting counts"
    assert usual_of(store, ["r12-n02"]) == {}
    store.save_parts("run-4", NODE, [SYSTEM, replace(HCAS[0], serial="NEW"), HCAS[1]])
    assert usual_of(store, [NODE]) == {keys[1]: pytest.approx(391.0)}
