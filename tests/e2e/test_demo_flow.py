"""The demo flow on four lab nodes instead of six, one of them with a degraded HCA, from new to admitted."""

from __future__ import annotations

import json
import shutil
import sqlite3
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from clusterctl.adapters.raw_records import read_header
from clusterctl.model.exit_codes import ExitCode
from mutation.mutation_rounds import run_round
from mutation.node_under_test import NodeUnderTest
from mutation.rules import mutation_catalogue, split_into_rounds
from support.demo_rack import DemoRack, FinishedCommand, host_kernel_settings
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed")]

SECRET = "planted-bmc-s3cr3t-4711"
BAD_SLOT = 4
NODES = 4


@dataclass
class Demo:
    """The rack after the first run, with the results of plan and run and the host's kernel settings before and after."""

    rack: DemoRack
    bad: str
    before: dict[str, str]
    plan: FinishedCommand
    first: FinishedCommand
    after: dict[str, str]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    site = tmp_path_factory.mktemp("site")
    rack = DemoRack(site, 94, {"BMC_PASSWORD": SECRET})
    secrets = site / "secrets"
    secrets.mkdir()
    (secrets / "vault-password").write_text("correct horse battery staple")
    (secrets / "hosts.yml").write_text("all:\n  vars:\n    bmc_user: admin\n" + vaulted(rack, str(secrets / "vault-password")))
    rack.write_site(str(secrets / "hosts.yml"))
    rack.extra["ANSIBLE_VAULT_PASSWORD_FILE"] = str(secrets / "vault-password")
    before = host_kernel_settings()
    try:
        rack.lab_up("--nodes", str(NODES))
        bad = rack.node(BAD_SLOT)
        rack.ok("lab", "fault", bad, "hca_degraded")
        plan = rack.clusterctl("plan", rack.target, "-o", "json")
        first = rack.clusterctl("provision", rack.target, "--yes", "-o", "json")
        yield Demo(rack, bad, before, plan, first, host_kernel_settings())
    finally:
        rack.clusterctl("lab", "down", rack.target)


def vaulted(rack: DemoRack, password_file: str) -> str:
    done = rack.run("ansible-vault", "encrypt_string", "--vault-password-file", password_file, SECRET, "--name", "bmc_password")
    assert done.code == 0, done.err
    return "".join(f"    {line}\n" for line in done.out.splitlines())


def test_the_plan_reports_pending_changes(demo: Demo) -> None:
    assert demo.plan.code == ExitCode.CHANGES_PENDING


def test_all_nodes_are_admitted_but_one_that_is_quarantined(demo: Demo) -> None:
    assert demo.first.code == ExitCode.GATE_FAILED, demo.first.err
    states = demo.rack.states()
    assert states.pop(demo.bad) == "quarantined"
    assert set(states.values()) == {"admitted"}
    assert len(states) == NODES - 1


def test_the_result_conforms_to_its_schema(demo: Demo) -> None:
    schema = json.loads((ROOT / "docs/reference/schemas/provision.schema.json").read_text())
    Draft202012Validator(schema).validate(demo.first.json)
    assert demo.first.json["counts"] == {"admitted": NODES - 1, "quarantined": 1}
    assert demo.first.json["simulated"]
    assert all(n["changed"] > 10 for n in demo.first.json["nodes"])


def test_the_reason_of_the_quarantine_has_device_values_source_and_next_action(demo: Demo) -> None:
    node = next(n for n in demo.first.json["nodes"] if n["name"] == demo.bad)
    first = node["reasons"][0]
    assert (first["kind"], first["device"]) == ("gate_failed", "mlx5_3")
    assert "mlx5_3" in first["text"]
    assert "Gb/s" in first["text"]
    assert "expected" in first["text"]
    assert "[" in first["text"], "the source of the floor is missing"
    assert first["hint"]
    status = demo.rack.ok("status", demo.rack.target, "-o", "json").json
    shown = next(n for n in status["nodes"] if n["name"] == demo.bad)
    assert "mlx5_3" in shown["reason"]
    assert {"name", "state", "reason", "spec_digest", "last_run"} <= set(shown)


def test_no_other_node_is_marked_faulty(demo: Demo) -> None:
    assert [n["name"] for n in demo.first.json["nodes"] if n["reasons"]] == [demo.bad]


def test_each_node_met_three_others_and_a_group_of_nodes_was_measured(demo: Demo) -> None:
    run_id = demo.first.json["run_id"]
    header = read_header(demo.rack.state_dir / "runs" / run_id)
    assert header.level == "standard"
    assert header.pair_coverage
    assert (header.pair_coverage["pairs"], header.pair_coverage["possible_pairs"]) == (6, 6)
    assert not header.pair_coverage["uncovered"]
    judged = demo.rack.clusterctl("judge", run_id, "--gate", "nccl_group", "-o", "json")
    assert judged.code == ExitCode.GATE_FAILED, "the node with the degraded HCA must not be in the group"
    assert {n["name"] for n in judged.json["nodes"] if n["passed"]} == set(demo.rack.states()) - {demo.bad}


def test_the_hosts_kernel_settings_are_unchanged(demo: Demo) -> None:
    changed = {k: (v, demo.after.get(k)) for k, v in demo.before.items() if demo.after.get(k) != v}
    assert changed == {}


def test_a_second_run_changes_nothing_and_takes_seconds(demo: Demo) -> None:
    for _ in range(3):  # on a busy machine one of them may wait
        again = demo.rack.clusterctl("provision", demo.rack.target, "--yes", "-o", "json")
        assert again.code == ExitCode.GATE_FAILED
        assert again.json["changed"] == 0
        assert not any(n["touched"] for n in again.json["nodes"])
        bad = next(n for n in again.json["nodes"] if n["name"] == demo.bad)
        assert "mlx5_3" in bad["reason"]
        if again.wall_s * 10 < demo.first.wall_s:
            return
    pytest.fail("a second run must be much faster than the first")


def test_report_and_history_show_the_quarantine(demo: Demo) -> None:
    page = demo.rack.site / "report.html"
    demo.rack.ok("report", demo.first.json["run_id"], "--out", str(page))
    text = page.read_text()
    assert demo.bad in text
    assert "mlx5_3" in text
    assert "simulated" in text
    history = demo.rack.ok("history", demo.bad).out
    assert "quarantined" in history


def test_the_planted_secret_is_in_no_file_and_no_output(demo: Demo) -> None:
    page = demo.rack.site / "secret-report.html"
    demo.rack.ok("report", "--out", str(page))
    skipped = demo.rack.state_dir / "lab"
    files = [p for p in demo.rack.state_dir.rglob("*") if p.is_file() and skipped not in p.parents]
    assert any(p.name == "ansible.log" for p in files)
    assert [p for p in (*files, page) if SECRET.encode() in p.read_bytes()] == []
    with sqlite3.connect(demo.rack.state_dir / "clusterctl.db") as database:
        assert SECRET not in "\n".join(database.iterdump())
    assert SECRET not in demo.first.err + demo.first.out


def test_the_equivalent_command_is_printed_and_works(demo: Demo) -> None:
    line = next(line for line in demo.first.err.splitlines() if "equivalent command: " in line)
    done = demo.rack.run("sh", "-c", f"{line.split('equivalent command: ')[1]} --limit {demo.rack.node(1)} --check")
    assert done.code == 0, done.out
    assert "changed=0" in done.out


def test_the_log_of_the_first_run_is_short(demo: Demo) -> None:
    lines = [line for line in demo.first.err.splitlines() if ", task: " not in line]  # a slow machine prints more progress lines
    assert len(lines) < 80, demo.first.err


def test_the_admit_playbook_readmits_a_drained_node_from_its_evidence(demo: Demo) -> None:
    node = demo.rack.node(1)
    demo.rack.ok("drain", node, "--reason", "inspection")
    layers = (ROOT / "inventory/common", ROOT / "inventory/lab", demo.rack.state_dir / "lab/hosts")
    words = [w for layer in layers for w in ("-i", str(layer))]
    playbook = str(ROOT / "playbooks/admit.yml")
    done = demo.rack.run(
        "ansible-playbook", *words, playbook, "-l", node, "-e", "admit_include_drained=true", CLUSTERCTL_STATE_DIR=str(demo.rack.state_dir)
    )
    assert done.code == 0, done.out
    assert demo.rack.states()[node] == "admitted"


def test_a_quarantined_node_is_refused_as_partner(demo: Demo) -> None:
    done = demo.rack.clusterctl("provision", demo.rack.node(1), "--all-roles", "--partners", demo.bad, "--yes")
    assert done.code == ExitCode.USAGE
    assert f"{demo.bad} cannot be a partner: it is quarantined" in done.err
    assert demo.rack.states()[demo.rack.node(1)] == "admitted"


def test_a_repaired_node_is_admitted_after_a_retest_with_partners(demo: Demo) -> None:
    demo.rack.ok("lab", "fault", demo.bad, "hca_degraded", "--clear")
    partners = f"{demo.rack.node(1)},{demo.rack.node(2)}"
    done = demo.rack.clusterctl("provision", demo.bad, "--retest", "--partners", partners, "--yes", "-o", "json")
    assert done.code == ExitCode.OK, done.err
    assert set(demo.rack.states().values()) == {"admitted"}


def test_an_error_that_only_load_raises_keeps_a_node_out_that_every_gate_passed(demo: Demo) -> None:
    rack, node = demo.rack, demo.rack.node(3)
    partners = ("--partners", f"{rack.node(1)},{rack.node(2)}")
    rack.ok("lab", "fault", node, "load_error", "--device", "gpu1", "--option", "row_remap")
    try:
        assert rack.clusterctl("validate", node).code == ExitCode.OK, "nothing shows before the load"
        done = rack.clusterctl("provision", node, "--roles", "nccl", "--all-roles", "--level", "quick", *partners, "--yes", "-o", "json")
    finally:
        rack.ok("lab", "fault", node, "load_error", "--clear")
    assert done.code in (ExitCode.GATE_FAILED, ExitCode.VALIDATOR_FAILED), done.err
    assert rack.states()[node] == "quarantined"
    said = " ".join(r["text"] for r in done.json["nodes"][0]["reasons"])
    assert "row_remap_pending" in said
    assert "load_errors GPU" in said
    assert "row_remap.pending" in said, "the node was validated again after the load"
    done = rack.clusterctl("provision", node, "--retest", *partners, "--yes")
    assert done.code == ExitCode.OK, done.err


def test_drift_is_reported_and_healed_with_a_canary(demo: Demo) -> None:
    rack = demo.rack
    assert rack.clusterctl("drift", rack.target).code == ExitCode.OK, "a rack that was just provisioned has no drift"
    drifted = [rack.node(2), rack.node(3)]
    for name in drifted:
        assert rack.run("podman", "exec", name, "sysctl", "-qw", "vm.swappiness=9").code == 0
    reported = rack.clusterctl("drift", rack.target, "-o", "json")
    assert reported.code == ExitCode.CHANGES_PENDING
    assert [(f["node"], f["check"], f["kind"], f["found"]) for f in reported.json["findings"]] == [
        (name, "os_tuning.sysctl[vm.swappiness].running", "drift", "9") for name in drifted
    ]
    assert rack.clusterctl("provision", rack.target, "--check").code == ExitCode.CHANGES_PENDING, "drift without --heal must change nothing"
    healed = rack.clusterctl("drift", rack.target, "--policy", "critical=heal,major=heal,minor=heal", "--heal", "-o", "json")
    assert healed.code == ExitCode.OK, healed.err
    assert [(a["node"], a["action"]) for a in healed.json["actions"]] == [(name, "healed") for name in drifted]
    assert all("repaired: os_tuning.sysctl[vm.swappiness].running" in a["detail"] for a in healed.json["actions"])
    assert (healed.json["findings"], healed.json["summary"]["drift"]) == ([], 0), "the document must describe the state after healing"
    assert rack.clusterctl("drift", rack.target).code == ExitCode.OK
    assert set(rack.states().values()) == {"admitted"}


def test_drift_drains_nodes_according_to_the_policy(demo: Demo) -> None:
    rack, name = demo.rack, demo.rack.node(3)
    assert rack.run("podman", "exec", name, "sysctl", "-qw", "vm.swappiness=9").code == 0
    reported = rack.clusterctl("drift", rack.target, "--policy", "critical=drain,major=drain,minor=drain", "-o", "json")
    assert reported.code == ExitCode.CHANGES_PENDING
    assert [(a["node"], a["action"]) for a in reported.json["actions"]] == [(name, "drained")]
    assert rack.states()[name] == "drained"


@pytest.mark.parametrize(
    ("role", "patterns"),
    [("nccl", ["nccl.*"]), ("os_tuning", ["os_tuning.sysctl[[]vm.*", "os_tuning.swap.*", "os_tuning.governor.*"])],
)
def test_out_of_band_changes_are_detected_and_repaired(demo: Demo, role: str, patterns: list[str]) -> None:
    """A few of the settings that `make mutation` tests completely."""
    layers = (ROOT / "inventory/common", ROOT / "inventory/lab", demo.rack.state_dir / "lab/hosts")
    bench = NodeUnderTest(layers, demo.rack.state_dir, demo.rack.node(2), demo.rack.site / f"mutation-{role}")
    chosen = [m for m in mutation_catalogue(bench.findings([role])).mutations if any(fnmatch(m.check, p) for p in patterns)]
    assert len(chosen) > 5
    false_findings: list[str] = []
    records = run_round(bench, split_into_rounds(chosen)[0], false_findings)
    assert {r.check: r.problem for r in records if r.problem} == {}
    assert false_findings == []
