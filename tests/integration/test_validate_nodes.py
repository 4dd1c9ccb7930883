"""`validate` and `plan` against a real sshd, a real Python and the real roles' validators, on a node that was never provisioned."""

from __future__ import annotations

import json
import secrets
import shutil
import sqlite3
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl import main
from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.adapters.store import Store
from clusterctl.adapters.validators import ValidationSettings, bundle, validate
from clusterctl.adapters.validators import validate as validation_run
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.findings import NodeFindings, NodeStatus
from support.container_node import ContainerNode
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="no podman here")]

COMMON = ROOT / "inventory" / "common"
KEPT = "/var/lib/clusterctl"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ContainerNode]:
    with ContainerNode(tmp_path_factory.mktemp("node")) as running:
        yield running


@dataclass
class Site:
    """A site of one node."""

    node: ContainerNode
    folder: Path
    state_dir: Path
    settings: ValidationSettings | None = None

    def clusterctl(self, verb: str, *words: str, **variables: str) -> int:
        inventories = ["-i", str(COMMON), "-i", str(self.node.write_site(self.folder, **variables))]
        return main.call(["--state-dir", str(self.state_dir), verb, "rack-v1", *inventories, *words])

    def ask(self, **variables: str) -> NodeFindings:
        layers = [COMMON, self.node.write_site(self.folder, **variables)]
        (found,) = validate(load_nodes(layers, "rack-v1"), self.state_dir, inventory=layers, settings=self.settings)
        return found


@pytest.fixture
def site(node: ContainerNode, tmp_path: Path) -> Site:
    return Site(node, tmp_path / "site", tmp_path / "state")


def test_validate(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert site.clusterctl("validate", "-o", "json") == ExitCode.VALIDATOR_FAILED
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    (told,) = data["nodes"]
    assert told["status"] == "ok"
    assert told["view"].startswith("read-only"), told["view"]
    (declared,) = load_nodes([COMMON, site.node.write_site(site.folder)], "rack-v1")
    assert {"hardware", "bios", "kernel", "nvidia_driver"} < set(declared.spec.roles)
    assert {f["role"] for f in told["findings"]} == set(declared.spec.roles)
    assert data["summary"]["checks"]["fail"] > 50
    with sqlite3.connect(site.state_dir / "clusterctl.db") as database:
        assert database.execute("select id, verb, status, exit_code from runs").fetchall() == [(data["run_id"], "validate", "done", 6)]
    with Store.open(f"sqlite:///{site.state_dir / 'clusterctl.db'}") as store:
        stored = store.findings("v1-n01")
    assert stored is not None
    assert len(stored.findings) == len(told["findings"])
    recorded = json.loads((site.state_dir / "runs" / data["run_id"] / "findings.json").read_text())
    assert recorded["nodes"] == data["nodes"]


def test_the_bundle_is_kept_for_root_only_and_nothing_else_is_written(site: Site) -> None:
    site.ask()
    kept = f"ls -l --time-style=full-iso {KEPT}; stat -c '%a %U' {KEPT} {KEPT}/*"
    snapshot = f"find / -xdev -not -path '/proc/*' -newer {KEPT} -type f | sort"
    before, files = site.node.shell(kept), site.node.shell(snapshot)
    assert before.splitlines()[-2:] == ["700 root", "600 root"]
    site.ask()
    assert site.node.shell(kept) == before
    assert site.node.shell(snapshot) == files


def test_drift_remembers_what_it_saw_and_leaves_the_node_as_it_was(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.ask()
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
    assert {f["kind"] for f in first.values()} == {"pending", "unknown"}, "it was never provisioned"
    assert all(second[c]["first_seen"] == f["first_seen"] < second[c]["last_seen"] for c, f in first.items())
    run = site.state_dir / "runs" / nights[1]["run_id"]
    assert {p.name for p in run.iterdir()} >= {"drift.json", "drift.xml", "drift.html", "drift.prom"}
    assert metrics.read_text() == (run / "drift.prom").read_text()
    assert site.clusterctl("drift", "--since", "1m", "-o", "json") == ExitCode.VALIDATOR_FAILED


def test_a_check_that_writes_changes_no_node(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a mistake in a validator does to a node that is asked over SSH: nothing, and it is told."""
    text = (
        "import pathlib\nROLE = 'hugepages'\n"
        "def test_file(record):\n    pathlib.Path('/etc/written-by-a-check').write_text('x')\n"
        "def test_sysctl(record):\n    path = pathlib.Path('/proc/sys/kernel/hostname')\n    path.write_text(path.read_text())\n"
        "def test_command(record, probe):\n    said = probe.run(['touch', '/usr/local/by-a-command'])\n"
        "    record.ok('hugepages.touched', said.rc == 0, found=said.stderr)\n"
    )
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "test_hugepages.py").write_text(text)
    monkeypatch.setattr(bundle, "build_bundle", partial(bundle.build_bundle, extra_modules=[tmp_path / "more"]))
    found = {f.check: f for f in site.ask(node_roles="[hugepages]").findings}
    assert {c: f.outcome.value for c, f in found.items()} == {
        "hugepages.test_file": "could_not_run",
        "hugepages.test_sysctl": "could_not_run",
        "hugepages.touched": "fail",
    }
    assert all("Read-only file system" in f.reason + f.found for f in found.values())
    assert site.node.shell("ls /etc/written-by-a-check /usr/local/by-a-command 2>/dev/null || true") == ""
    site.node.shell(f"rm -f {KEPT}/*.pyz")


def test_a_bundle_that_was_tampered_with_is_replaced(site: Site) -> None:
    first = site.ask()
    site.node.shell(f"f=$(ls {KEPT}/*.pyz); cp $f /tmp/x; printf X | dd of=$f bs=1 seek=1000 conv=notrunc 2>/dev/null")
    again = site.ask()
    assert [f.check for f in again.findings] == [f.check for f in first.findings]
    assert site.node.shell(f"cmp /tmp/x {KEPT}/*.pyz && echo same; rm /tmp/x").strip() == "same"


def test_become(site: Site) -> None:
    site.node.shell("useradd -m ops 2>/dev/null || true; echo 'ops ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/ops")
    site.node.authorize_key("ops", "/home/ops")
    as_ops = {"ansible_user": "ops", "ansible_become": "true"}
    assert site.ask(**as_ops).status is NodeStatus.OK
    site.node.shell("echo 'ops ALL=(ALL) ALL' > /etc/sudoers.d/ops")
    found = site.ask(**as_ops)
    assert found.status is NodeStatus.AUTH_FAILED
    assert "sudo: a password is required" in found.detail


@pytest.fixture
def ops(site: Site) -> Iterator[dict[str, str]]:
    """The user ops, who becomes root with a password of this test; its last line in sudoers is taken away."""
    password = secrets.token_hex(8)
    site.node.shell("id ops >/dev/null 2>&1 || useradd -m ops; echo 'ops ALL=(ALL) ALL' > /etc/sudoers.d/ops")
    site.node.authorize_key("ops", "/home/ops")
    site.node.shell(f"echo 'ops:{password}' | chpasswd")
    yield {"ansible_user": "ops", "ansible_become": "true", "ansible_become_password": password}
    site.node.shell("rm -f /etc/sudoers.d/ops")


def test_become_with_a_password(site: Site, ops: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert site.clusterctl("validate", "-o", "json", **ops) == ExitCode.VALIDATOR_FAILED
    data = json.loads(capsys.readouterr().out)
    as_root = site.ask()
    (told,) = data["nodes"]
    assert {f["check"]: f["outcome"] for f in told["findings"]} == {f.check: f.outcome for f in as_root.findings}
    kept = [p.read_bytes() for p in site.state_dir.rglob("*") if p.is_file()]
    assert kept
    assert not any(ops["ansible_become_password"].encode() in content for content in kept)
    assert site.clusterctl("drift", "-o", "json", **ops) == ExitCode.VALIDATOR_FAILED
    assert all(n["kind"] == "pending" or n["kind"] == "unknown" for n in json.loads(capsys.readouterr().out)["findings"])


def test_a_wrong_password_is_one_failed_attempt(site: Site, ops: dict[str, str]) -> None:
    site.node.shell("echo 'Defaults:ops logfile=/tmp/sudo.log' >> /etc/sudoers.d/ops")
    found = site.ask(**{**ops, "ansible_become_password": "not-this-one"})
    assert (found.status, found.findings) == (NodeStatus.AUTH_FAILED, ())
    assert found.detail == "become: sudo does not accept ansible_become_password; it was tried once"
    assert "3 incorrect" not in site.node.shell("cat /tmp/sudo.log; rm -f /tmp/sudo.log")


@pytest.mark.parametrize(
    ("sudoers", "status", "said"),
    [
        ("ops ALL=(ALL) NOPASSWD: ALL", NodeStatus.OK, ""),
        ("Defaults:ops !use_pty, passwd_tries=1\nops ALL=(ALL) ALL", NodeStatus.OK, ""),
        ("Defaults:ops requiretty\nops ALL=(ALL) ALL", NodeStatus.AUTH_FAILED, "become: sudo wants a terminal, and has none here"),
        ("# nobody", NodeStatus.AUTH_FAILED, "become: sudo refuses: "),
        ("ops ALL=(ALL) /usr/bin/id", NodeStatus.AUTH_FAILED, "become: sudo refuses: "),
    ],
)
def test_what_sudoers_says(site: Site, ops: dict[str, str], sudoers: str, status: NodeStatus, said: str) -> None:
    site.node.shell(f"printf '{sudoers}\\n' > /etc/sudoers.d/ops")
    found = site.ask(**ops)
    assert (found.status, found.detail.startswith(said)) == (status, True), found.detail
    assert ops["ansible_become_password"] not in found.detail


def test_another_become_method_goes_through_ansible(site: Site) -> None:
    site.node.shell("id plain >/dev/null 2>&1 || useradd -m plain; echo 'root:of-this-test' | chpasswd")
    site.node.authorize_key("plain", "/home/plain")
    by_su = {"ansible_user": "plain", "ansible_become": "true", "ansible_become_method": "su", "ansible_become_password": "of-this-test"}
    found = site.ask(**by_su)
    assert found.status is NodeStatus.OK, found.detail
    assert {f.check for f in found.findings} == {f.check for f in site.ask().findings}


def test_without_root_the_bundle_is_kept_elsewhere(site: Site) -> None:
    site.node.shell("useradd -m plain 2>/dev/null || true")
    site.node.authorize_key("plain", "/home/plain")
    assert site.ask(ansible_user="plain", ansible_become="false").status is NodeStatus.OK
    assert site.node.shell("stat -c '%a %U' /tmp/clusterctl-$(id -u plain)").strip() == "700 plain"


def test_a_login_shell_that_hangs(site: Site) -> None:
    """sshd accepts the command, and nothing is ever said."""
    site.node.shell("printf '#!/bin/sh\\nexec sleep 600\\n' > /usr/local/sbin/hangs; chmod 755 /usr/local/sbin/hangs")
    site.node.shell("id mute >/dev/null 2>&1 || useradd -m -s /usr/local/sbin/hangs mute")
    site.node.authorize_key("mute", "/home/mute")
    began = time.monotonic()
    found = replace(site, settings=ValidationSettings(node_timeout_s=3)).ask(ansible_user="mute", ansible_become="false")
    assert (found.status, found.detail, found.findings) == (NodeStatus.TIMED_OUT, "no answer within 3 s", ())
    assert time.monotonic() - began < 30
    assert site.ask().status is NodeStatus.OK


def test_python_missing(site: Site) -> None:
    found = site.ask(ansible_python_interpreter="/usr/bin/python9")
    assert (found.status, "python9" in found.detail) == (NodeStatus.PYTHON_MISSING, True)


def test_host_key_changed(site: Site) -> None:
    known_hosts = site.node.folder / "known_hosts"
    right = known_hosts.read_text()
    other = (site.node.folder / "key.pub").read_text().rsplit(" ", 1)[0]
    try:
        known_hosts.write_text(f"{site.node.address} {other}\n")
        assert site.ask().status is NodeStatus.HOST_KEY_CHANGED
    finally:
        known_hosts.write_text(right)


def test_through_ansibles_own_connection(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    direct = site.ask()
    monkeypatch.setattr(validation_run, "SSH_KINDS", frozenset())
    through = site.ask()
    assert through.status is NodeStatus.OK, through.detail
    assert [f.check for f in through.findings] == [f.check for f in direct.findings]


def test_plan(site: Site, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert site.clusterctl("plan", "--out", str(tmp_path / "plan.json")) == ExitCode.CHANGES_PENDING
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "v1-n01"
    assert any(line.startswith("  ~ hugepages.") for line in lines)
    assert lines[-1].startswith("Plan: 1 node, ")
    data = json.loads((tmp_path / "plan.json").read_text())
    assert data["nodes"][0]["spec_digest"]


def test_plan_by_check_mode(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    before = site.node.shell("find /etc -type f | sort | xargs sha256sum")
    code = site.clusterctl("plan", "--ansible", "-o", "json", node_roles="[os_tuning]")
    data = json.loads(capsys.readouterr().out)
    (told,) = data["nodes"]
    assert {c["role"] for c in told["changes"]} == {"os_tuning"}
    assert any("vm.swappiness = 10" in c["diff"] for c in told["changes"])
    assert code == (ExitCode.ROLE_FAILED if told["failures"] else ExitCode.CHANGES_PENDING)
    assert site.node.shell("find /etc -type f | sort | xargs sha256sum") == before


def test_part_of_the_checks_is_no_evidence(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert site.clusterctl("validate", "-k", "hugepages.*", "-o", "json") == ExitCode.VALIDATOR_FAILED
    data = json.loads(capsys.readouterr().out)
    assert {f["role"] for f in data["nodes"][0]["findings"]} == {"hugepages"}
    with sqlite3.connect(site.state_dir / "clusterctl.db") as database:
        assert database.execute("select count(*) from validations").fetchone() == (0,)
