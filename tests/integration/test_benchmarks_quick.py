"""The benchmark suite reaches all nodes, stores all findings and reports parts that it cannot measure. No time is tested."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

BENCH = ROOT / "benchmarks"
KEYS = (
    "drift_controller_ms_per_node",
    "drift_node_cpu_s",
    "ratio_ansible_check",
    "ratio_testinfra_best",
    "ratio_pyinfra_dry",
    "drift_12500_cpu_s",
    "drift_12500_rss_mib",
    "spec_12500_s",
    "help_cpu_ms",
    "status_12500_cpu_ms",
    "runner_overhead_pct",
    "runner_files",
)


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


def module(name: str) -> Any:
    return import_module(name)


def test_a_quick_run_measures_and_writes_the_results(tmp_path: Path) -> None:
    argv = [sys.executable, str(BENCH / "bench.py"), "--quick", "--out", str(tmp_path / "bench.json")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "bench.json").read_text())
    assert set(KEYS) <= set(found)
    assert found["help_cpu_ms"] > 0
    assert isinstance(found["floor_exec_ms_per_node"], float)  # with four nodes, noise may make the slope negative
    assert found["ratio_ansible_check"] is None
    assert "no lab" in found["without_number"]["ratio_ansible_check"]
    assert [(f["nodes"], f["exit_code"], f["stored"]) for f in found["fleets"]] == [
        (n, 0, n * f["checks"]) for n, f in zip((2, 4), found["fleets"], strict=True)
    ]
    assert all(f["checks"] > 100 and f["servers_cpu_s"] > 0 for f in found["fleets"])
    assert "NO NUMBER" in done.stdout
    assert "its numbers are meaningless" in done.stdout


def test_a_part_that_cannot_run_has_a_reason_and_makes_the_suite_fail(tmp_path: Path) -> None:
    argv = [sys.executable, str(BENCH / "bench.py"), "--only", "lab.node", "--rack", "9999", "--folder", str(tmp_path / "bench")]
    argv += ["--out", str(tmp_path / "bench.json")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1, done.stderr
    found = json.loads((tmp_path / "bench.json").read_text())
    assert found["drift_node_cpu_s"] is None
    assert found["without_number"]["drift_node_cpu_s"].startswith("lab: ")
    assert "Traceback" not in done.stderr
    allowed = subprocess.run([*argv, "--allow-missing"], capture_output=True, text=True, check=False, timeout=120)
    assert allowed.returncode == 0, allowed.stderr


def test_the_cost_of_a_command_includes_its_detached_processes_which_are_terminated() -> None:
    cost = module("cpu_cost")
    busy = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"
    alone = cost.run_command(["sh", "-c", "exit 3"])
    began = time.monotonic()
    detached = cost.run_command(
        ["sh", "-c", f"setsid sh -c '{busy}; echo counted; sleep 60' & while read -r l; do :; done < /proc/uptime; sleep 1"]
    )
    assert (alone.code, detached.code) == (3, 0)
    assert detached.cpu_s > alone.cpu_s + 0.01
    assert time.monotonic() - began < 30
    assert cost.run_command(["sleep", "60"], limit_s=0.2).code == 124


def test_progress_on_stderr_is_no_part_of_a_document() -> None:
    """On a slow machine `drift` tells after 30 s how far it is: the document was lost, and with it the whole suite."""
    ran = module("cpu_cost").run_command(["sh", "-c", "echo '25 of 50 nodes' >&2; echo '{}'; echo '50 of 50 nodes' >&2"])
    assert (ran.out, ran.err) == ("{}\n", "25 of 50 nodes\n50 of 50 nodes\n")


def test_a_fleet_without_a_document_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet, cost = module("fleet"), module("cpu_cost")
    monkeypatch.setattr(fleet, "run_command", lambda *_, **__: cost.FinishedCommand(3, "", "no node answers", 0.1, 0.1, 1.0))
    (tmp_path / "answer").write_text("[]")
    with pytest.raises(cost.CannotMeasureError, match="ended with 3: no node answers"):
        fleet.measure_fleet(2, tmp_path / "answer", tmp_path / "fleet", 20)


def test_a_failed_command_is_not_a_measurement() -> None:
    cost = module("cpu_cost")
    with pytest.raises(cost.CannotMeasureError, match="ended with 3: why"):
        cost.median_cpu_s(["sh", "-c", "echo why; exit 3"], 1)
    with pytest.raises(cost.CannotMeasureError, match="no-such-command"):
        cost.run_command(["no-such-command"])


def test_a_ratio_needs_both_numbers_and_the_best_peer_needs_all_peers() -> None:
    ratios = module("targets").ratios
    known = {"drift_controller_ms_per_node": 10.0, "pyinfra_dry_controller_s_per_node": 0.5, "testinfra_ssh_controller_s_per_node": 1.0}
    assert ratios(known)["ratio_pyinfra_dry"] == 50
    assert ratios(known)["ratio_testinfra_best"] is None
    known |= {"testinfra_paramiko_controller_s_per_node": 0.7, "testinfra_ansible_controller_s_per_node": 2.0}
    assert ratios(known)["ratio_testinfra_best"] == 70
    assert ratios({k: v for k, v in known.items() if k != "drift_controller_ms_per_node"})["ratio_pyinfra_dry"] is None


@pytest.mark.parametrize(
    ("key", "value", "verdict"),
    [
        ("status_12500_cpu_ms", 300.0, "met"),
        ("status_12500_cpu_ms", 330.0, "MISSED by 10 %"),
        ("ratio_pyinfra_dry", 30.0, "met"),
        ("ratio_pyinfra_dry", 15.0, "MISSED by 50 %"),
        ("help_cpu_ms", None, "NO NUMBER"),
    ],
)
def test_a_target_is_met_or_missed_by_a_percentage(key: str, value: float | None, verdict: str) -> None:
    assert module("targets").verdict(key, value) == verdict


RECAP = "PLAY RECAP *****\nn1   : ok=20   changed={}    unreachable=0    failed=0    skipped=5    rescued=0    ignored=0\n"


def test_tasks_are_counted_and_a_node_that_would_change_cannot_be_compared() -> None:
    peer, cost = module("peer_ansible"), module("cpu_cost")
    assert peer.tasks_per_node(cost.FinishedCommand(0, RECAP.format(0), "", 1, 1, 1), ("n1",)) == 25
    for text, names in ((RECAP.format(1), ("n1",)), (RECAP.format(0), ("n1", "n2")), ("", ("n1",))):
        with pytest.raises(cost.CannotMeasureError):
            peer.tasks_per_node(cost.FinishedCommand(0, text, "", 1, 1, 1), names)


def test_nearly_every_setting_of_the_recorded_node_has_a_pyinfra_operation() -> None:
    findings = json.loads((BENCH / "recorded" / "lab_node_findings.json").read_text())
    operations, settings = module("pyinfra_operations").operations_from_findings(findings)
    assert 0.9 * settings < len(operations) <= settings
    assert {"do": "sysctl", "key": "vm.swappiness", "value": "10"} in operations
    assert {"do": "service", "service": "nvidia-dcgm.service", "running": True, "enabled": True} in operations
    assert {"do": "file", "path": "/etc/profile.d/90-clusterctl-cuda.sh", "user": "root", "mode": "644"} in operations


def test_every_set_of_roles_has_at_least_a_hundred_checks() -> None:
    findings = json.loads((BENCH / "recorded" / "lab_node_findings.json").read_text())
    sets = module("node_cost").role_sets(findings)
    assert all(sum(f["role"] in roles for f in findings) >= 100 for roles in sets)
    assert {role for roles in sets for role in roles} == {f["role"] for f in findings}


def test_the_peers_are_locked_by_hash_without_an_index() -> None:
    locked = (ROOT / "requirements" / "bench.txt").read_text()
    requirements = [line for line in (BENCH / "requirements.in").read_text().splitlines() if line and not line.startswith("#")]
    assert all(f"{one} \\\n    --hash=sha256:" in locked for one in requirements)
    assert "://" not in locked
