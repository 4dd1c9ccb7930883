from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from clusterctl_validators import cpu_quota
from clusterctl_validators.cpu_quota import NoQuotaError, in_force
from support.checks import write_files

if TYPE_CHECKING:
    from pathlib import Path

V2 = "0::/system.slice/clusterctl-checks-7.scope\n"
V1 = "4:cpu,cpuacct:/system.slice/clusterctl-checks-7.scope\n2:cpuset:/\n0::/system.slice/clusterctl-checks-7.scope\n"
FOLDER = "system.slice/clusterctl-checks-7.scope"


@pytest.mark.parametrize(
    ("membership", "files", "percent"),
    [
        (V2, {f"/{FOLDER}/cpu.max": "50000 100000\n"}, 50),
        (V2, {f"/{FOLDER}/cpu.max": "400000 200000\n"}, 200),
        (V1, {f"/cpu,cpuacct/{FOLDER}/cpu.cfs_quota_us": "25000\n", f"/cpu,cpuacct/{FOLDER}/cpu.cfs_period_us": "100000\n"}, 25),
    ],
)
def test_quota_in_force(tmp_path: Path, membership: str, files: dict[str, str], percent: int) -> None:
    assert in_force(membership, str(write_files(tmp_path, files))) == percent


@pytest.mark.parametrize(
    ("membership", "files"),
    [
        (V2, {f"/{FOLDER}/cpu.max": "max 100000\n"}),
        (V2, {"/cpu.max": "50000 100000\n"}),
        (V1, {f"/cpu,cpuacct/{FOLDER}/cpu.cfs_quota_us": "-1\n", f"/cpu,cpuacct/{FOLDER}/cpu.cfs_period_us": "100000\n"}),
        (V1, {f"/cpuset/{FOLDER}/cpu.cfs_quota_us": "25000\n"}),
        ("", {}),
    ],
)
def test_no_limit_means_no_quota(tmp_path: Path, membership: str, files: dict[str, str]) -> None:
    with pytest.raises(NoQuotaError, match="enforces no quota"):
        in_force(membership, str(write_files(tmp_path, files)))


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with systemd, whose busctl does as `busctl` is written: it gets a file `request`."""
    busctl = tmp_path / "bin" / "busctl"
    busctl.parent.mkdir()
    monkeypatch.setenv("PATH", f"{busctl.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(cpu_quota, "_SYSTEMD", str(tmp_path))
    monkeypatch.setattr(cpu_quota, "_MEMBERSHIP", str(tmp_path / "membership"))
    monkeypatch.setattr(cpu_quota, "_WAIT_S", 0.05)
    (tmp_path / "membership").write_text("0::/user.slice/session-1.scope\n")
    return busctl


def script(file: Path, body: str) -> None:
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


def test_the_scope_is_requested_with_its_quota(systemd: Path, tmp_path: Path) -> None:
    script(systemd, f'echo "$@" > {tmp_path}/request')
    assert cpu_quota.enter(30) == f"not enforced (systemd did not move this process into clusterctl-checks-{os.getpid()}.scope within 0 s)"
    request = (tmp_path / "request").read_text()
    assert f"clusterctl-checks-{os.getpid()}.scope fail 2 PIDs au 1 {os.getpid()} CPUQuotaPerSecUSec t 300000 0" in request


def test_a_scope_without_the_cpu_controller_is_no_quota(systemd: Path, tmp_path: Path) -> None:
    script(systemd, f'echo "0::/nowhere/clusterctl-checks-{os.getpid()}.scope" > {tmp_path}/membership')
    assert cpu_quota.enter(30) == "not enforced (the kernel enforces no quota on this control group)"


@pytest.mark.parametrize(
    ("behaviour", "percent", "reason"),
    [
        ("printf 'Call failed:\\nAccess denied\\n' >&2; exit 1", 50, "systemd: Call failed: Access denied"),
        ("exit 0", 0, "not requested"),
    ],
)
def test_a_refusal_is_reported(systemd: Path, behaviour: str, percent: int, reason: str) -> None:
    script(systemd, behaviour)
    assert cpu_quota.enter(percent) == f"not enforced ({reason})"


def test_no_busctl(systemd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(systemd.parent))
    assert cpu_quota.enter(50).startswith("not enforced (busctl: ")


def test_a_kernel_without_control_groups(systemd: Path, tmp_path: Path) -> None:
    script(systemd, f"rm {tmp_path}/membership")
    assert cpu_quota.enter(50).startswith("not enforced ([Errno 2] No such file")


def test_no_systemd(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(cpu_quota, "_SYSTEMD", str(tmp_path / "absent"))
    assert cpu_quota.enter(50) == "not enforced (systemd is not running)"


def test_not_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert cpu_quota.enter(50) == "not enforced (not root)"
