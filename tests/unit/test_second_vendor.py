"""A second vendor of GPUs is a folder of a site: three commands, one role, one gate. Nothing of NVIDIA runs on its nodes."""

from __future__ import annotations

import json
import shutil
import sys
from datetime import date
from typing import TYPE_CHECKING

import pytest

import clusterctl_validators
from clusterctl.adapters.config import read_config
from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.adapters.site_content import site_content
from clusterctl.adapters.site_gates import load_site_gates
from clusterctl.adapters.ssh.read_parts import parse_answer, script
from clusterctl.adapters.validators.bundle import build_bundle
from clusterctl.core.gates import registry
from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.planning.gate_plan import plan_gates
from clusterctl.core.gates.subject import Subject, subject_of
from clusterctl.model.errors import ConfigError
from clusterctl.model.part import Part
from clusterctl.workflows.burnin.agent_plan import plan_for
from clusterctl_validators.finding import Outcome
from support.bundle_run import run_bundle
from support.gates import CASES, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clusterctl.model.gate_result import GateResult, RawRecord

TODAY = date(2026, 6, 1)
COUNTERS = "acme-smi counters --json"
GPUS = [{"id": i, "pci": f"0000:0{i + 1}:00.0", "serial": f"A{i}", "model": "ACME A1", "memory_mib": 65536} for i in range(2)]
LISTED = json.dumps({"driver": "1.2", "gpus": GPUS})


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "site"
    shutil.copytree(CASES / "second_vendor", folder)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("CLUSTERCTL_CONFIG", raising=False)
    monkeypatch.setattr(registry, "_gates", dict(registry._gates))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(clusterctl_validators, "__path__", list(clusterctl_validators.__path__))
    config = read_config()
    load_site_gates(config.gates, config.plugins)
    yield folder
    for name in ("acme_gates", "clusterctl_validators.vendor_acme"):
        sys.modules.pop(name, None)


def subject(site: Path) -> Subject:
    (node,) = load_nodes([site / "hosts.yml"], "n1")
    return subject_of(node, TODAY)


def snapshot(name: str, faults: int, log: tuple[str, ...] = ()) -> RawRecord:
    counters = {"acme0": {"ecc_dram_uncorrectable": faults}}
    text = {
        "schema_version": 1,
        "boot_id": "b",
        "uptime_s": 100.0 if name == "before" else 400.0,
        "log": {"error": "", "lines": log},
        "commands": {COUNTERS: {"error": "", "exit_status": 0, "stdout": json.dumps(counters), "stderr": ""}},
        "counters": {},
    }
    return record("load_errors", "n1", json.dumps(text), step=name, tool="error_snapshot")


def test_what_a_node_runs_is_of_its_vendor(site: Path) -> None:
    one = subject(site)
    plan = plan_gates([one], "quick", ["acme_stress", "load_errors"])
    steps = {s.name: s.argv for s in plan.steps["n1"]}
    script, log, counters = steps["before"][:3], steps["before"][3], steps["before"][4:]
    assert (script, counters) == (("python3", "error_snapshot.py", "--log"), (COUNTERS,))
    assert log.startswith("acme: fault|")
    assert any(argv[:2] == ("acme-stress", "--seconds") for argv in steps.values())
    agent = plan_for(plan, "n1", "run", "owner", "token")
    assert agent["exclusive_use"]["devices"] == ["/dev/acme0"]
    assert agent["exclusive_use"]["services"] == ["acme-fabricd"]
    assert "nvidia" not in json.dumps(agent).lower()


def results(one: Subject, *records: RawRecord) -> dict[str, GateResult]:
    found = judge([one], records, level="quick", gates=["load_errors"])
    return {f"{r.gate} {r.metric or r.rule}": r for r in found}


def test_counters_and_events_are_read_by_the_vendor(site: Path) -> None:
    one = subject(site)
    good = results(one, snapshot("before", 0), snapshot("after.nodes", 0))
    assert [r.outcome for r in good.values()] == [Outcome.PASS]
    bad = results(one, snapshot("before", 0), snapshot("after.nodes", 3, ("[  300.0] acme: fault 0000:01:00.0",)))
    assert bad["load_errors ecc_dram_uncorrectable"].device == "acme0"
    assert any("replace the board" in r.hint for r in bad.values())


def test_parts_are_read_by_the_vendor(site: Path) -> None:
    vendor = subject(site).gpu_vendor
    assert "acme-smi list --json" in script(vendor)
    text = "".join(f"\n=== clusterctl {k}\n{v}\n=== clusterctl end 0" for k, v in {"dmi": "", "gpu": LISTED, "nic": "", "nvme": ""}.items())
    found = parse_answer("n1", vendor, text + "\n")
    assert found.parts[0] == Part("gpu", "0000:01:00.0", "GPU 0", "ACME A1", "A0")


def test_validators_on_the_node_read_its_gpus(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "bin" / "acme-smi"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\necho '{LISTED}'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    (node,) = load_nodes([site / "hosts.yml"], "n1")
    bundle = build_bundle(tmp_path / "state", site_content().validator_dirs)
    found = run_bundle(bundle, {r: dict(v) for r, v in node.spec.roles.items()}).findings
    checks = ("hardware.gpus.on_pci", "hardware.gpus.count", "hardware.gpu[0].model", "hardware.gpu[1].memory_mib")
    assert {c: found[c].outcome for c in checks} == dict.fromkeys(checks, Outcome.PASS)
    assert found["acme_driver.version"].found == "absent"


def test_an_unknown_vendor_is_an_error_that_lists_the_known(site: Path) -> None:
    hosts = site / "hosts.yml"
    hosts.write_text(hosts.read_text().replace("hardware_gpu_vendor: acme", "hardware_gpu_vendor: amce"))
    with pytest.raises(ConfigError, match=r"n1: no validators/vendor_amce\.py") as caught:
        plan_gates([subject(site)], "quick", ["load_errors"])
    assert "acme, nvidia" in caught.value.hint
