from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import update_grub
from clusterctl_lab.simulator.grub_env import entries, take_entry

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def etc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "grub.d").mkdir()
    (tmp_path / "grub").write_text('GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT="quiet"\nGRUB_CMDLINE_LINUX=""\n')
    monkeypatch.setattr(update_grub, "_READ", update_grub._READ.replace("/etc/default", str(tmp_path)))
    monkeypatch.setattr("glob.glob", lambda _pattern: ["/boot/vmlinuz-6.1.0-9"])
    return tmp_path


def test_parameters_of_all_files_reach_the_next_boot(etc: Path) -> None:
    (etc / "grub.d" / "90.cfg").write_text('GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX iommu=pt"\n')
    (etc / "grub.d" / "91.cfg").write_text('GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT hugepagesz=1G hugepages=4"\n')
    cmdline = entries(update_grub.grub_cfg_text())[0].cmdline
    assert cmdline.startswith("BOOT_IMAGE=/boot/vmlinuz-6.1.0-9 root=UUID=")
    assert cmdline.endswith("ro iommu=pt quiet hugepagesz=1G hugepages=4")


def test_the_recovery_entry_has_no_default_parameters(etc: Path) -> None:
    rescue = update_grub.grub_cfg_text().partition("(recovery mode)")[2]
    assert " single" in rescue
    assert "quiet" not in rescue


def test_an_invalid_file_is_an_error_and_keeps_the_old_configuration(etc: Path, tmp_path: Path) -> None:
    target = tmp_path / "grub.cfg"
    target.write_text("old")
    (etc / "grub.d" / "90.cfg").write_text('GRUB_CMDLINE_LINUX="unfinished\n')
    with pytest.raises(subprocess.CalledProcessError):
        update_grub.grub_cfg_text()
    assert update_grub.main(["grub-mkconfig", "-o", str(target)]) != 0
    assert target.read_text() == "old"


def test_the_configuration_is_replaced_atomically(etc: Path, tmp_path: Path) -> None:
    target = tmp_path / "boot" / "grub" / "grub.cfg"
    assert update_grub.main(["grub-mkconfig", "-o", str(target)]) == 0
    assert entries(target.read_text())
    assert [p.name for p in target.parent.iterdir()] == ["grub.cfg"]


def test_the_newest_kernel_is_first(etc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glob.glob", lambda _pattern: [f"/boot/vmlinuz-{r}" for r in ("6.8.0-60-generic", "6.18.4-x", "6.8.0-1046-nvidia")])
    releases = [e.release for e in entries(update_grub.grub_cfg_text())]
    assert releases[:4] == ["6.18.4-x", "6.18.4-x", "6.8.0-1046-nvidia", "6.8.0-60-generic"]


def test_the_saved_entry_is_the_default_where_it_is_declared(etc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glob.glob", lambda _pattern: ["/boot/vmlinuz-6.1.0-9", "/boot/vmlinuz-6.1.0-8"])
    environment = tmp_path / "grubenv"
    environment.write_text("saved_entry=gnulinux-advanced>gnulinux-6.1.0-8-advanced\n")
    started = []
    for default in ("0", "saved"):
        (etc / "grub.d" / "92.cfg").write_text(f"GRUB_DEFAULT={default}\n")
        entry = take_entry(update_grub.grub_cfg_text(), str(environment))
        assert entry is not None
        started.append(entry.release)
    assert started == ["6.1.0-9", "6.1.0-8"]
