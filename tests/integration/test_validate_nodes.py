"""`validate` and `plan` with a real sshd, a real Python and the validators of all roles on a node that was never provisioned."""

from __future__ import annotations

import json
import secrets
import shutil
import sqlite3
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl import main
from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.adapters.store import Store
from clusterctl.adapters.validators import ValidationSettings, bundle, validate
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.findings import NodeFindings, NodeStatus
from support.container_node import ContainerNode
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed")]

COMMON = ROOT / "inventory" / "common"
KEPT = "/var/lib/clusterctl"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ContainerNode]:
    with ContainerNode(tmp_path_factory.mktemp("node")) as running:
        yield running


@dataclass
class Site:
    """A site with one node."""

    node: ContainerNode
    folder: Path
    state_dir: Path
    settings: ValidationSettings | None = None

    def clusterctl(self, verb: str, *words: str, **variables: str) -> int:
        inventories = ["-i", str(COMMON), "-i", str(self.node.write_site(self.folder, **variables))]
        return main.call(["--state-dir", str(self.state_dir), verb, "rack-v1", *inventories, *words])

    def validate_node(self, **variables: str) -> NodeFindings:
        layers = [COMMON, self.node.write_site(self.folder, **variables)]
        (found,) = validate(load_nodes(layers, "rack-v1"), self.state_dir, inventory=layers, settings=self.settings)
        return found


@pytest.fixture
def site(node: ContainerNode, tmp_path: Path) -> Site:
    return Site(node, tmp_path / "site", tmp_path / "state")


def test_validate_reports_and_stores_findings_of_all_roles(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert site.clusterctl("validate", "-o", "json") == ExitCode.VALIDATOR_FAILED
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    (node,) = data["nodes"]
    assert node["status"] == "ok"
    assert node["view"].startswith("read-only"), node["view"]
    (declared,) = load_nodes([COMMON, site.node.write_site(site.folder)], "rack-v1")
    assert {"hardware", "bios", "kernel", "nvidia_driver"} < set(declared.spec.roles)
    assert {f["role"] for f in node["findings"]} == set(declared.spec.roles)
    assert data["summary"]["checks"]["fail"] > 50
    with sqlite3.connect(site.state_dir / "clusterctl.db") as database:
        assert database.execute("select id, verb, status, exit_code from runs").fetchall() == [(data["run_id"], "validate", "done", 6)]
    with Store.open(f"sqlite:///{site.state_dir / 'clusterctl.db'}") as store:
        stored = store.findings("v1-n01")
    assert stored is not None
    assert len(stored.findings) == len(node["findings"])
    recorded = json.loads((site.state_dir / "runs" / data["run_id"] / "findings.json").read_text())
    assert recorded["nodes"] == data["nodes"]


def test_only_the_bundle_is_stored_on_the_node_readable_by_root_only(site: Site) -> None:
    site.validate_node()
    kept = f"ls -l --time-style=full-iso {KEPT}; stat -c '%a %U' {KEPT} {KEPT}/*"
    snapshot = f"find / -xdev -not -path '/proc/*' -newer {KEPT} -type f | sort"
    before, files = site.node.shell(kept), site.node.shell(snapshot)
    assert before.splitlines()[-2:] == ["700 root", "600 root"]
    site.validate_node()
    assert site.node.shell(kept) == before
    assert site.node.shell(snapshot) == files


def test_drift_stores_findings_and_changes_no_file_on_the_node(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.validate_node()
    files = "find / -xdev -not -path '/var/log/*' -not -path '/run*' -printf '%p %y %m %U %G %s %T@ %l\\n'"
    before = set(site.node.shell(files).splitlines())
    metrics = site.state_dir / "clusterctl_drift.prom"
    nights = []
    for _ in range(2):
        assert site.clusterctl("drift", "-o", "json", "--textfile", str(metrics)) == ExitCode.VALIDATOR_FAILED, (
            "some checks cannot run here"
        )
        nights.append(json.loads(capsys.readouterr().out))
    assert set(site.node.shell(files).splitlines()) ^ before == set()
    assert all(view.startswith("read-only") for night in nights for view in night["views"]), nights[0]["views"]
    first, second = ({f["check"]: f for f in night["findings"]} for night in nights)
    assert first.keys() == second.keys()
    assert {f["kind"] for f in first.values()} == {"pending", "unknown"}, "the node was never provisioned"
    assert all(second[c]["first_seen"] == f["first_seen"] < second[c]["last_seen"] for c, f in first.items())
    run = site.state_dir / "runs" / nights[1]["run_id"]
    assert {p.name for p in run.iterdir()} >= {"drift.json", "drift.xml", "drift.html", "drift.prom"}
    assert metrics.read_text() == (run / "drift.prom").read_text()
    assert site.clusterctl("drift", "--since", "1m", "-o", "json") == ExitCode.VALIDATOR_FAILED


def test_a_check_cannot_write_to_the_node(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A faulty validator that writes gets an error, which is reported."""
    text = (
        "import pathlib\nROLE = 'hugepages'\n"
        "def test_file(record):\n    pathlib.Path('/etc/written-by-a-check').write_text('x')\n"
        "def test_sysctl(record):\n    path = pathlib.Path('/proc/sys/kernel/hostname')\n    path.write_text(path.read_text())\n"
        "def test_command(record, probe):\n    result = probe.run(['touch', '/usr/local/by-a-command'])\n"
        "    record.ok('hugepages.touched', result.rc == 0, found=result.stderr)\n"
    )
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "test_hugepages.py").write_text(text)
    build = bundle.build_bundle
    monkeypatch.setattr(bundle, "build_bundle", lambda state_dir, _modules: build(state_dir, [tmp_path / "more"]))
    found = {f.check: f for f in site.validate_node(node_roles="[hugepages]").findings}
    assert {c: f.outcome.value for c, f in found.items()} == {
        "hugepages.test_file": "could_not_run",
        "hugepages.test_sysctl": "could_not_run",
        "hugepages.touched": "fail",
    }
    assert all("Read-only file system" in f.reason + f.found for f in found.values())
    assert site.node.shell("ls /etc/written-by-a-check /usr/local/by-a-command 2>/dev/null || true") == ""
    site.node.shell(f"rm -f {KEPT}/*.pyz")


def test_a_modified_bundle_on_the_node_is_replaced(site: Site) -> None:
    first = site.validate_node()
    site.node.shell(f"f=$(ls {KEPT}/*.pyz); cp $f /tmp/x; printf X | dd of=$f bs=1 seek=1000 conv=notrunc 2>/dev/null")
    again = site.validate_node()
    assert [f.check for f in again.findings] == [f.check for f in first.findings]
    assert site.node.shell(f"cmp /tmp/x {KEPT}/*.pyz && echo same; rm /tmp/x").strip() == "same"


def test_become_with_sudo_without_password(site: Site) -> None:
    site.node.shell("useradd -m ops 2>/dev/null || true; echo 'ops ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/ops")
    site.node.authorize_key("ops", "/home/ops")
    as_ops = {"ansible_user": "ops", "ansible_become": "true"}
    assert site.validate_node(**as_ops).status is NodeStatus.OK
    site.node.shell("echo 'ops ALL=(ALL) ALL' > /etc/sudoers.d/ops")
    found = site.validate_node(**as_ops)
    assert found.status is NodeStatus.AUTH_FAILED
    assert "sudo: a password is required" in found.detail


@pytest.fixture
def ops(site: Site) -> Iterator[dict[str, str]]:
    """Variables of the user ops, who becomes root with a password. Its sudoers file is removed at the end."""
    password = secrets.token_hex(8)
    site.node.shell("id ops >/dev/null 2>&1 || useradd -m ops; echo 'ops ALL=(ALL) ALL' > /etc/sudoers.d/ops")
    site.node.authorize_key("ops", "/home/ops")
    site.node.shell(f"echo 'ops:{password}' | chpasswd")
    yield {"ansible_user": "ops", "ansible_become": "true", "ansible_become_password": password}
    site.node.shell("rm -f /etc/sudoers.d/ops")


def test_become_with_a_password_gives_the_findings_of_root(site: Site, ops: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert site.clusterctl("validate", "-o", "json", **ops) == ExitCode.VALIDATOR_FAILED
    data = json.loads(capsys.readouterr().out)
    as_root = site.validate_node()
    (node,) = data["nodes"]
    assert {f["check"]: f["outcome"] for f in node["findings"]} == {f.check: f.outcome for f in as_root.findings}
    kept = [p.read_bytes() for p in site.state_dir.rglob("*") if p.is_file()]
    assert kept
    assert not any(ops["ansible_become_password"].encode() in content for content in kept)
    assert site.clusterctl("drift", "-o", "json", **ops) == ExitCode.VALIDATOR_FAILED
    assert all(n["kind"] == "pending" or n["kind"] == "unknown" for n in json.loads(capsys.readouterr().out)["findings"])


def test_a_wrong_become_password_is_tried_once(site: Site, ops: dict[str, str]) -> None:
    site.node.shell("echo 'Defaults:ops logfile=/tmp/sudo.log' >> /etc/sudoers.d/ops")
    found = site.validate_node(**{**ops, "ansible_become_password": "not-this-one"})
    assert (found.status, found.findings) == (NodeStatus.AUTH_FAILED, ())
    assert found.detail == "become: sudo does not accept ansible_become_password; it was tried once"
    assert "3 incorrect" not in site.node.shell("cat /tmp/sudo.log; rm -f /tmp/sudo.log")


@pytest.mark.parametrize(
    ("sudoers", "status", "detail"),
    [
        ("ops ALL=(ALL) NOPASSWD: ALL", NodeStatus.OK, ""),
        ("Defaults:ops !use_pty, passwd_tries=1\nops ALL=(ALL) ALL", NodeStatus.OK, ""),
        ("Defaults:ops requiretty\nops ALL=(ALL) ALL", NodeStatus.AUTH_FAILED, "become: sudo requires a terminal"),
        ("# nobody", NodeStatus.AUTH_FAILED, "become: sudo refuses: "),
        ("ops ALL=(ALL) /usr/bin/id", NodeStatus.AUTH_FAILED, "become: sudo refuses: "),
    ],
)
def test_refusals_of_sudo_are_reported(site: Site, ops: dict[str, str], sudoers: str, status: NodeStatus, detail: str) -> None:
    site.node.shell(f"printf '{sudoers}\\n' > /etc/sudoers.d/ops")
    found = site.validate_node(**ops)
    assert (found.status, found.detail.startswith(detail)) == (status, True), found.detail
    assert ops["ansible_become_password"] not in found.detail


def test_another_become_method_is_run_through_ansible(site: Site) -> None:
    site.node.shell("id plain >/dev/null 2>&1 || useradd -m plain; echo 'root:of-this-test' | chpasswd")
    site.node.authorize_key("plain", "/home/plain")
    by_su = {"ansible_user": "plain", "ansible_become": "true", "ansible_become_method": "su", "ansible_become_password": "of-this-test"}
    found = site.validate_node(**by_su)
    assert found.status is NodeStatus.OK, found.detail
    assert {f.check for f in found.findings} == {f.check for f in site.validate_node().findings}


def test_without_root_the_bundle_is_stored_in_a_private_folder(site: Site) -> None:
    site.node.shell("useradd -m plain 2>/dev/null || true")
    site.node.authorize_key("plain", "/home/plain")
    assert site.validate_node(ansible_user="plain", ansible_become="false").status is NodeStatus.OK
    assert site.node.shell("stat -c '%a %U' /tmp/clusterctl-$(id -u plain)").strip() == "700 plain"


def test_a_login_shell_that_hangs_times_out(site: Site) -> None:
    """sshd accepts the command, but no output follows."""
    site.node.shell("printf '#!/bin/sh\\nexec sleep 600\\n' > /usr/local/sbin/hangs; chmod 755 /usr/local/sbin/hangs")
    site.node.shell("id mute >/dev/null 2>&1 || useradd -m -s /usr/local/sbin/hangs mute")
    site.node.authorize_key("mute", "/home/mute")
    began = time.monotonic()
    found = replace(site, settings=ValidationSettings(node_timeout_s=3)).validate_node(ansible_user="mute", ansible_become="false")
    assert (found.status, found.detail, found.findings) == (NodeStatus.TIMED_OUT, "no answer within 3 s", ())
    assert time.monotonic() - began < 30
    assert site.validate_node().status is NodeStatus.OK


def test_a_missing_python_is_reported(site: Site) -> None:
    found = site.validate_node(ansible_python_interpreter="/usr/bin/python9")
    assert (found.status, "python9" in found.detail) == (NodeStatus.PYTHON_MISSING, True)


def test_a_changed_host_key_is_reported(site: Site) -> None:
    known_hosts = site.node.folder / "known_hosts"
    right = known_hosts.read_text()
    other = (site.node.folder / "key.pub").read_text().rsplit(" ", 1)[0]
    try:
        known_hosts.write_text(f"{site.node.address} {other}\n")
        assert site.validate_node().status is NodeStatus.HOST_KEY_CHANGED
    finally:
        known_hosts.write_text(right)


def test_validation_through_ansible_gives_the_same_checks(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    direct = site.validate_node()
    monkeypatch.setattr(sys.modules["clusterctl.adapters.validators.validate"], "SSH_KINDS", frozenset())
    through = site.validate_node()
    assert through.status is NodeStatus.OK, through.detail
    assert [f.check for f in through.findings] == [f.check for f in direct.findings]


def test_plan_lists_pending_changes(site: Site, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert site.clusterctl("plan", "--out", str(tmp_path / "plan.json")) == ExitCode.CHANGES_PENDING
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "v1-n01"
    assert any(line.startswith("  ~ hugepages.") for line in lines)
    assert lines[-1].startswith("Plan: 1 node, ")
    data = json.loads((tmp_path / "plan.json").read_text())
    assert data["nodes"][0]["spec_digest"]


def test_plan_with_ansible_uses_check_mode(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    before = site.node.shell("find /etc -type f | sort | xargs sha256sum")
    code = site.clusterctl(
        "plan", "--ansible", "-o", "json", node_roles="[os_tuning]", os_tuning_time_sources="[{address: ntp.example.org}]"
    )
    data = json.loads(capsys.readouterr().out)
    (node,) = data["nodes"]
    assert {c["role"] for c in node["changes"]} == {"os_tuning"}
    assert any("vm.swappiness = 10" in c["diff"] for c in node["changes"])
    assert code == (ExitCode.ROLE_FAILED if node["failures"] else ExitCode.CHANGES_PENDING)
    assert site.node.shell("find /etc -type f | sort | xargs sha256sum") == before


def test_a_selection_of_checks_is_not_stored_as_evidence(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert site.clusterctl("validate", "-k", "hugepages.*", "-o", "json") == ExitCode.VALIDATOR_FAILED
    data = json.loads(capsys.readouterr().out)
    assert {f["role"] for f in data["nodes"][0]["findings"]} == {"hugepages"}
    with sqlite3.connect(site.state_dir / "clusterctl.db") as database:
        assert database.execute("select count(*) from validations").fetchone() == (0,)
