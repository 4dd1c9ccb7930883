"""`clusterctl baseline`: what a rack of H100 nodes measured, beside the floors of its profile, from the inventory and the database."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.adapters.store import Store
from clusterctl.main import call
from clusterctl.model.gate_result import GateResult, Outcome
from support.plain_yaml import load_yaml
from support.roles import ROOT
from support.stores import a_run

if TYPE_CHECKING:
    from pathlib import Path

PROFILE = "profile_dgx_h100_ib"
HOSTS = {f"r1-n{i:02}": {"ansible_host": f"192.0.2.{i}", "slot": i} for i in range(1, 25)}


@pytest.fixture
def inventory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """24 nodes at 391 to 393 Gb/s."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLUSTERCTL_STATE_DIR", str(tmp_path / "state"))
    site = tmp_path / "site"
    site.mkdir()
    group = {"hosts": HOSTS, "vars": {"rack": "rack_1"}}
    (site / "hosts.yml").write_text(yaml.safe_dump({"all": {"children": {PROFILE: {"children": {"rack_1": group}}}}}))
    layers = [ROOT / "inventory" / "common", site]
    nodes = load_nodes(layers, "all")
    with Store.open(f"sqlite:///{tmp_path / 'state' / 'clusterctl.db'}") as store:
        store.register(nodes)
        run = a_run(verb="burnin")
        store.start_run(run)
        of_pair: dict[str, Any] = {
            "metric": "bandwidth_average",
            "unit": "Gb/s",
            "op": "ib_write_bw",
            "device": "mlx5_0",
            "tool_version": "6.0",
        }
        store.save_gate_results(
            run.id,
            [
                GateResult("rdma_pair", n.name, Outcome.PASS, "floor", value=391.0 + i % 3, limit=380.0, peers=("x",), **of_pair)
                for i, n in enumerate(nodes)
            ],
        )
    return [word for layer in layers for word in ("-i", str(layer))]


def test_show_lists_every_baseline_with_its_provenance(inventory: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["baseline", "show", "all", *inventory, "-o", "json"]) == 0
    entries = json.loads(capsys.readouterr().out)["baselines"]
    assert {e["kind"] for e in entries} == {"floor", "upper_limit", "ceiling", "expected"}
    assert all(e["source"] and e["date"] for e in entries)
    assert call(["baseline", "show", "all", *inventory]) == 0
    assert "Azure" in capsys.readouterr().out


def test_diff_and_learn_state_what_the_class_reads(inventory: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["baseline", "diff", "all", *inventory, "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["baselines"]
    (pair,) = [one for one in found if one["floor"]["gate"] == "rdma_pair"]
    assert (len(pair["nodes"]), pair["median"], pair["refusal"]) == (24, 392.0, "floor_as_high")
    assert pair["class"] == {"gpu_model": "NVIDIA H100 80GB HBM3", "rates_gbps": [400.0], "tool_version": "6.0"}
    assert {one["refusal"] for one in found if one is not pair} == {"no_values"}
    assert call(["baseline", "learn", "all", *inventory]) == 0
    printed = capsys.readouterr()
    (entry,) = load_yaml(printed.out)["gates_baselines_site"]
    assert (entry["kind"], entry["value"], entry["n"], entry["versions"]) == ("expected", 392.0, 24, {"perftest": "6.0"})
    assert "the one in force is as strict: 380 Gb/s" in " ".join(printed.err.split())
