from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators import test_storage_client as module
from clusterctl_validators.finding import GOOD, Finding, Severity
from clusterctl_validators.mount_touch import argv, touch
from clusterctl_validators.plugin import CHECK_TIMEOUT_S
from clusterctl_validators.probe import CommandResult, Probe
from clusterctl_validators.sources import LocalSource
from support.checks import run_checks, write_files
from support.filters import filter_plugin
from support.gpu_node import DPKG, dpkg
from support.os_node import Commands
from support.roles import ROOT, load_role

if TYPE_CHECKING:
    from pathlib import Path

units = filter_plugin("storage_client_units")
NFS: dict[str, Any] = {
    "name": "scratch",
    "kind": "nfs",
    "source": "nas:/scratch/",
    "path": "/mnt/scratch-1",
    "fstype": None,
    "options": ["vers=4.2", "hard", "noatime", "rsize=1048576"],
    "nconnect": 8,
    "timeout_s": 20,
    "after": ["openibd.service"],
}
FUSE = {
    "name": "data",
    "kind": "generic",
    "source": "/srv/data",
    "path": "/data",
    "fstype": "fuse.bindfs",
    "options": ["ro"],
    "required": False,
}
PACKAGES = [{"kind": "nfs", "name": "nfs-common", "version": "1:2.6.2-4"}]
SPEC = load_role(ROOT / "roles" / "storage_client").defaults | {
    "storage_client_mounts": [NFS, FUSE],
    "storage_client_packages": PACKAGES,
    "storage_client_module_parameters": {"lnet": {"networks": "o2ib0(ib0) tcp", "check": True}, "not-loaded": {"x": 1}},
    "storage_client_tunables": [
        {"kind": "sysctl", "name": "sunrpc.tcp_max_slot_table_entries", "value": "128"},
        {"kind": "lctl", "name": "osc.*.checksums", "value": "0"},
        {"kind": "read_ahead_kib", "name": "/mnt/scratch-1", "value": "15380"},
    ],
    "storage_client_hugepages": [{"size": "2M", "node": 0, "count": 8}],
}
NFS_UNIT, FUSE_UNIT = r"/etc/systemd/system/mnt-scratch\x2d1.mount", "/etc/systemd/system/data.mount"
SERVICE_FILE = f"{module.UNITS}/{module.SERVICE}"
HEADER = "# Written by clusterctl, role storage_client; changes are overwritten.\n"
NFS_TEXT = (
    HEADER + "[Unit]\nDescription=scratch, by nfs\nWants=network-online.target openibd.service clusterctl-storage-client.service\n"
    "After=network-online.target openibd.service\n\n[Mount]\nWhat=nas:/scratch/\nWhere=/mnt/scratch-1\nType=nfs\n"
    "Options=vers=4.2,hard,noatime,rsize=1048576,_netdev,nconnect=8\nTimeoutSec=20\n\n[Install]\nWantedBy=remote-fs.target\n"
)
FUSE_TEXT = HEADER + (
    "[Unit]\nWants=clusterctl-storage-client.service\n[Mount]\nWhat=/srv/data\nWhere=/data\nType=fuse.bindfs\nOptions=ro\nTimeoutSec=30\n"
    "[Install]\nWantedBy=remote-fs.target\n"
)
NFS_LINE = "nas:/scratch /mnt/scratch-1 nfs4 rw,noatime,vers=4.2,rsize=1048576,hard,proto=tcp,nconnect=8,sec=sys 0 0\n"
FUSE_LINE = "/srv/data /data fuse.bindfs ro,relatime,user_id=0 0 0\n"
MODPROBE = HEADER + 'options lnet check=Y networks="o2ib0(ib0) tcp"\noptions not-loaded x=1\n'
FILES = {
    NFS_UNIT: NFS_TEXT,
    FUSE_UNIT: FUSE_TEXT,
    SERVICE_FILE: "",
    module.SCRIPT: "",
    module.SETTINGS: json.dumps(units.settings(SPEC)),
    module.MODPROBE_FILE: MODPROBE,
    "/etc/systemd/system/by-hand.mount": "[Mount]\n",
    "/proc/self/mounts": "tmpfs / tmpfs rw 0 0\n" + NFS_LINE + FUSE_LINE,
    "/proc/self/mountinfo": "30 1 0:44 / /mnt/scratch-1 rw - nfs4 nas:/scratch rw\n",
    "/sys/class/bdi/0:44/read_ahead_kb": "15380\n",
    "/sys/module/lnet/parameters/networks": "o2ib0(ib0) tcp\n",
    "/sys/module/lnet/parameters/check": "Y\n",
    "/proc/sys/sunrpc/tcp_max_slot_table_entries": "128\n",
    "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages": "1024\n",
}
COMMANDS = {
    DPKG: dpkg(PACKAGES),
    " ".join(argv("/mnt/scratch-1")): "answers\n",
    " ".join(argv("/data")): "answers\n",
    "lctl get_param -n osc.*.checksums": "0\n0\n",
    f"sha256sum --check {module.SUMS}": f"{module.SCRIPT}: OK\n{SERVICE_FILE}: OK\n",
    f"stat -c %U %a %n {module.SCRIPT} {SERVICE_FILE}": f"root 755 {module.SCRIPT}\nroot 644 {SERVICE_FILE}\n",
    **{f"stat -c %U %a {path}": "root 644\n" for path in (NFS_UNIT, FUSE_UNIT, module.SETTINGS, module.MODPROBE_FILE)},
}
STATES = {
    r"mnt-scratch\x2d1.mount": ["loaded", "active", "enabled"],
    "data.mount": ["loaded", "active", "enabled"],
    module.SERVICE: ["loaded", "inactive", "enabled"],
}


def check(
    root: Path,
    *,
    files: dict[str, str | None] | None = None,
    outputs: dict[str, Any] | None = None,
    states: dict[str, list[str]] | None = None,
    spec: dict[str, Any] | None = None,
) -> dict[str, Finding]:
    """Findings of a node as declared except for these; None removes a file."""
    present = {path: text for path, text in {**FILES, **(files or {})}.items() if text is not None}
    commands = Commands({**COMMANDS, **(outputs or {})}, STATES | (states or {}))
    return run_checks(module, SPEC if spec is None else spec, write_files(root, present), commands)


def bad(findings: dict[str, Finding]) -> dict[str, str]:
    return {k.removeprefix("storage_client."): f.found or f.reason for k, f in findings.items() if f.outcome not in GOOD}


def test_a_node_as_declared_passes(tmp_path: Path) -> None:
    findings = check(tmp_path)
    assert bad(findings) == {}
    assert len(findings) > 25


MOUNTS = "/proc/self/mounts"
CASES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "not mounted, the folder answers": ({"files": {MOUNTS: FUSE_LINE}}, {"mount[scratch].running": "not mounted"}),
    "another export": (
        {"files": {MOUNTS: NFS_LINE.replace("nas:/scratch", "nas:/home") + FUSE_LINE}},
        {"mount[scratch].source": "nas:/home"},
    ),
    "mounted over": (
        {"files": {MOUNTS: NFS_LINE + "tmpfs /mnt/scratch-1 tmpfs rw,noatime,hard,vers=4.2,nconnect=8,rsize=1048576 0 0\n" + FUSE_LINE}},
        {"mount[scratch].source": "tmpfs", "mount[scratch].fstype": "tmpfs"},
    ),
    "one connection": ({"files": {MOUNTS: NFS_LINE.replace(",nconnect=8", "") + FUSE_LINE}}, {"mount[scratch].options": "nconnect=1"}),
    "other version, soft": (
        {"files": {MOUNTS: NFS_LINE.replace("4.2", "3").replace("hard", "soft") + FUSE_LINE}},
        {"mount[scratch].options": "vers=3, no hard"},
    ),
    "smaller reads": ({"files": {MOUNTS: NFS_LINE.replace("1048576", "131072") + FUSE_LINE}}, {"mount[scratch].sizes": "rsize=131072"}),
    "writable": ({"files": {MOUNTS: NFS_LINE + FUSE_LINE.replace(" ro,", " rw,")}}, {"mount[data].options": "no ro"}),
    "hangs": (
        {"outputs": {" ".join(argv("/mnt/scratch-1")): CommandResult(None, error="timed out after 20 s")}},
        {"mount[scratch].touch": "timed out"},
    ),
    "daemon dead": (
        {"outputs": {" ".join(argv("/data")): CommandResult(1, stderr="Transport endpoint is not connected\n")}},
        {"mount[data].touch": "Transport endpoint"},
    ),
    "silent": ({"outputs": {" ".join(argv("/data")): ""}}, {"mount[data].touch": "no answer"}),
    "unit gone": ({"files": {NFS_UNIT: None}}, {"mount[scratch].present": "absent"}),
    "unit changed": (
        {"files": {NFS_UNIT: NFS_TEXT.replace("TimeoutSec=20", "TimeoutSec=0") + "LazyUnmount=yes\n"}},
        {"mount[scratch].persisted": "LazyUnmount=yes, TimeoutSec=0"},
    ),
    "unit has a line twice": ({"files": {FUSE_UNIT: FUSE_TEXT + "What=/x\n"}}, {"mount[data].persisted": "What=/srv/data + /x"}),
    "drop-in": ({"files": {FUSE_UNIT + ".d/x.conf": "[Mount]\n"}}, {"mount[data].overridden": "x.conf"}),
    "disabled": ({"states": {"data.mount": ["loaded", "active", "disabled"]}}, {"mount[data].enabled": "disabled"}),
    "unit's mode": ({"outputs": {f"stat -c %U %a {FUSE_UNIT}": "root 666\n"}}, {"mount[data].mode": "root 666"}),
    "stale unit": ({"files": {"/etc/systemd/system/mnt-old.mount": HEADER}}, {"stale_units": "mnt-old.mount"}),
    "settings gone": ({"files": {module.SETTINGS: None}}, {"settings.persisted": "absent"}),
    "settings garbage": ({"files": {module.SETTINGS: "[]"}}, {"settings.persisted": "mounts, module_parameters, tunables"}),
    "settings older": (
        {"files": {module.SETTINGS: json.dumps(units.settings(SPEC) | {"tunables": []})}},
        {"settings.persisted": "tunables"},
    ),
    "script changed": (
        {"outputs": {f"sha256sum --check {module.SUMS}": f"{module.SCRIPT}: FAILED\n{SERVICE_FILE}: OK\n"}},
        {f"files[{module.SCRIPT}].persisted": "changed"},
    ),
    "service": (
        {"states": {module.SERVICE: ["loaded", "failed", "disabled"]}},
        {"service.enabled": "disabled", "service.running": "failed"},
    ),
    "modprobe.d": ({"files": {module.MODPROBE_FILE: MODPROBE.replace("check=Y ", "")}}, {"modprobe.persisted": "networks"}),
    "modprobe.d gone": ({"files": {module.MODPROBE_FILE: None}}, {"modprobe.persisted": "absent"}),
    "module loaded before": ({"files": {"/sys/module/lnet/parameters/networks": "tcp"}}, {"module[lnet].networks.running": "tcp"}),
    "parameter unknown": ({"files": {"/sys/module/lnet/parameters/check": None}}, {"module[lnet].check.running": ""}),
    "sysctl": (
        {"files": {"/proc/sys/sunrpc/tcp_max_slot_table_entries": "2"}},
        {"tunable[sysctl:sunrpc.tcp_max_slot_table_entries].running": "2"},
    ),
    "sysctl of no module": (
        {"files": {"/proc/sys/sunrpc/tcp_max_slot_table_entries": None}},
        {"tunable[sysctl:sunrpc.tcp_max_slot_table_entries].running": "absent"},
    ),
    "one of two targets": ({"outputs": {"lctl get_param -n osc.*.checksums": "0\n1\n"}}, {"tunable[lctl:osc.*.checksums].running": "0, 1"}),
    "no target": ({"outputs": {"lctl get_param -n osc.*.checksums": ""}}, {"tunable[lctl:osc.*.checksums].running": "nothing"}),
    "lctl fails": (
        {"outputs": {"lctl get_param -n osc.*.checksums": CommandResult(2, stderr="no")}},
        {"tunable[lctl:osc.*.checksums].running": "no"},
    ),
    "read-ahead": ({"files": {"/sys/class/bdi/0:44/read_ahead_kb": "128"}}, {"tunable[read_ahead_kib:/mnt/scratch-1].running": "128"}),
    "read-ahead of no mount": ({"files": {"/proc/self/mountinfo": None}}, {"tunable[read_ahead_kib:/mnt/scratch-1].running": "absent"}),
    "pages": (
        {"files": {"/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages": "7"}},
        {"hugepages[2M].node0.running": "7"},
    ),
    "package moved": ({"outputs": {DPKG: dpkg(PACKAGES, nfs_common=("1:2.7", "hold"))}}, {"package[nfs-common].version": "1:2.7"}),
    "hold gone": ({"outputs": {DPKG: dpkg(PACKAGES, nfs_common=("1:2.6.2-4", "install"))}}, {"package[nfs-common].held": "not held"}),
}


@pytest.mark.parametrize("name", CASES)
def test_differences_are_reported(name: str, tmp_path: Path) -> None:
    changes, found = CASES[name]
    faults = bad(check(tmp_path, **changes))
    assert set(faults) == set(found), faults
    for key, text in found.items():
        assert text in faults[key]


CEPH: dict[str, Any] = {"name": "data", "kind": "cephfs", "source": "none", "path": "/data", "fstype": "fuse.ceph", "options": []}


@pytest.mark.parametrize(
    ("changes", "line", "fstype", "source"),
    [
        ({}, "ceph-fuse /data fuse.ceph-fuse rw,allow_other 0 0\n", "PASS", "NOT_APPLICABLE"),
        ({"fstype": None, "source": "gpu@.fs=/"}, "gpu@b0c8c6be-8a07-11f0-8f49-7b896d8c3aba.fs=/ /data ceph rw 0 0\n", "PASS", "PASS"),
        ({"fstype": None, "source": "gpu@.fs=/"}, "ceph-fuse /data fuse.ceph-fuse rw 0 0\n", "FAIL", "FAIL"),
    ],
)
def test_a_source_as_a_mount_helper_writes_it(changes: dict[str, Any], line: str, fstype: str, source: str, tmp_path: Path) -> None:
    findings = check(tmp_path, files={MOUNTS: line}, spec=SPEC | {"storage_client_mounts": [CEPH | changes]})
    found = [findings[f"storage_client.mount[data].{what}"].outcome.name for what in ("fstype", "source")]
    assert found == [fstype, source]


def test_an_optional_mount_is_less_severe(tmp_path: Path) -> None:
    findings = check(tmp_path, files={MOUNTS: ""})
    assert findings["storage_client.mount[scratch].running"].severity is Severity.CRITICAL
    assert findings["storage_client.mount[data].running"].severity is Severity.MINOR


def test_nothing_declared_and_no_leftovers(tmp_path: Path) -> None:
    bare = load_role(ROOT / "roles" / "storage_client").defaults
    assert bad(check(tmp_path, files={**dict.fromkeys(FILES), MOUNTS: ""}, spec=bare)) == {}
    assert set(bad(check(tmp_path / "left", spec=bare))) == {"stale_units", "settings.persisted", "modprobe.persisted"}


def test_a_folder_without_a_mount_does_not_answer(tmp_path: Path) -> None:
    probe = Probe(LocalSource())
    answers = touch(probe, {"/proc": 10, str(tmp_path): 10, "/nonexistent": 10})
    assert answers == {"/proc": "answers", str(tmp_path): "not a mount", "/nonexistent": "No such file or directory"}


def test_hanging_mounts_wait_in_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterctl_validators.mount_touch.PROGRAM", "import time; time.sleep(60)")
    start = time.monotonic()
    answers = touch(Probe(LocalSource()), {f"/mnt/{n}": 1 for n in range(4)})
    assert set(answers.values()) == {"timed out after 1 s"}
    assert time.monotonic() - start < 3


def test_a_hanging_mount_is_reported_within_the_limit_of_the_check() -> None:
    assert module.TOUCH_LIMIT_S + 3 < CHECK_TIMEOUT_S


def test_the_mount_test_imports_no_own_module() -> None:
    ran = subprocess.run([sys.executable, *argv("/proc")[1:]], capture_output=True, text=True, check=True)
    assert ran.stdout == "answers\n"
