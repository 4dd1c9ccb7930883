"""A node as an installer leaves it, on a folder that stands for its disk."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab import fresh_installer as host
from clusterctl_lab.bmc.settings import load_settings
from clusterctl_lab.layout import LabPaths, lab_node
from clusterctl_lab.simulator import boot_source, fresh_installer
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

APT_CHECK = ROOT / "roles" / "shared" / "files" / "apt_check.py"


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    seed = tmp_path / fresh_installer.SEED.lstrip("/")
    seed.parent.mkdir(parents=True)
    seed.write_text(json.dumps(host.installer_state()))
    return tmp_path


def test_the_first_boot_leaves_what_an_installer_leaves(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh_installer, "interfaces", lambda: ["ens10np0", "ens11np0"])
    fresh_installer.on_boot(str(disk))
    netplan = load_yaml((disk / "etc/netplan/50-cloud-init.yaml").read_text())["network"]["ethernets"]
    assert netplan == {name: {"dhcp4": True} for name in ("eth0", "ens10np0", "ens11np0")}
    assert [p.name for p in (disk / "boot").glob("vmlinuz-*")] == [f"vmlinuz-{host.installer_state()['kernel']}"]
    for release in (host.installer_state()["kernel"], *host.installer_state()["kernels_with_modules"]):
        assert "/mlx5_core.ko" in (disk / "lib/modules" / release / "modules.dep").read_text()
    assert (disk / "usr/bin/firewall-cmd").stat().st_mode & 0o111
    wants = disk / "etc/systemd/system/multi-user.target.wants"
    assert sorted(p.name for p in wants.iterdir()) == ["apt-daily-upgrade.service", "firewalld.service"]
    assert all((disk / p.readlink().as_posix().lstrip("/")).is_file() for p in wants.iterdir())


def test_a_later_boot_installs_nothing_again_and_the_upgrade_is_over(disk: Path) -> None:
    fresh_installer.on_boot(str(disk))
    netplan = disk / "etc/netplan/50-cloud-init.yaml"
    netplan.unlink()
    fresh_installer.after_first_boot(str(disk))
    fresh_installer.on_boot(str(disk))
    assert not netplan.exists()
    assert sorted(p.name for p in (disk / "etc/systemd/system/multi-user.target.wants").iterdir()) == ["firewalld.service"]


def test_a_node_that_no_installer_made_has_none_of_it(tmp_path: Path) -> None:
    fresh_installer.after_first_boot(str(tmp_path))
    fresh_installer.on_boot(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_the_bmc_of_a_new_node_has_the_network_first(tmp_path: Path) -> None:
    paths, node = LabPaths(tmp_path), lab_node("r7-n01")
    paths.node_dir(node.name).mkdir(parents=True)
    host.set_fresh(paths, node)
    boot = load_settings(paths.node_dir(node.name) / host.BMC_FILE).boot
    assert boot.source(time.time()) == boot_source.NETWORK
    assert boot.override == ""


def test_the_upgrade_holds_the_lock_under_the_name_of_the_real_program(tmp_path: Path) -> None:
    lock = tmp_path / "lib/dpkg/lock-frontend"
    lock.parent.mkdir(parents=True)
    script = f"from clusterctl_lab.simulator.fresh_installer import hold_package_lock as h; h({str(lock)!r}, 60)"
    with subprocess.Popen([sys.executable, "-c", script]) as upgrade:
        try:
            until = time.monotonic() + 30
            while not lock.exists() and time.monotonic() < until:
                time.sleep(0.05)
            time.sleep(0.2)
            words = [sys.executable, str(APT_CHECK), "1", str(tmp_path)]
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        finally:
            upgrade.kill()
    assert done.returncode == 75
    assert f"unattended-upgr (pid {upgrade.pid}) holds {lock}" in done.stderr
