from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import modtools, modules, state
from support.lab_machine import LabMachine, lab_machine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    made = lab_machine(tmp_path, monkeypatch)
    made.provide(nvidia="580.126.20", nvidia_uvm="580.126.20", nvidia_peermem="580.126.20")
    conf = tmp_path / "modprobe.d"
    conf.mkdir()
    monkeypatch.setattr(modules, "_CONF", (f"{conf}/*.conf",))
    return made


def configure(node: LabMachine, text: str) -> None:
    (node.root / "modprobe.d" / "test.conf").write_text(text)


def test_a_loaded_module_shows_its_version_and_what_it_needs(node: LabMachine) -> None:
    modules.load("nvidia-uvm")
    assert state.loaded("nvidia_uvm")
    assert state.driver_version() == "580.126.20"


def test_a_module_that_is_not_installed_is_refused_in_modprobes_words(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert modtools.main(["modprobe", "mlx9_core"]) == 1
    assert "FATAL: Module mlx9_core not found" in capsys.readouterr().err
    assert modtools.main(["modprobe", "-q", "mlx9_core"]) == 1
    assert capsys.readouterr().err == ""


def test_options_reach_the_driver(node: LabMachine) -> None:
    configure(node, "options nvidia NVreg_RestrictProfilingToAdminUsers=0 NVreg_NvLinkDisable=0\n")
    modules.load("nvidia")
    params = (node.root / "run/proc/driver/nvidia/params").read_text().splitlines()
    assert "RestrictProfilingToAdminUsers: 0" in params
    assert "580.126.20" in (node.root / "run/proc/driver/nvidia/version").read_text()
    assert len(list((node.root / "run/proc/driver/nvidia/gpus").iterdir())) == 8


def test_a_missing_gpu_is_not_in_proc(node: LabMachine) -> None:
    node.break_("gpu_missing", "5")
    modules.load("nvidia")
    assert len(list((node.root / "run/proc/driver/nvidia/gpus").iterdir())) == 7


def test_files_as_ubuntu_has_them_are_read(node: LabMachine) -> None:
    lines = ["# it's here", "install usb_drm /bin/sh -c 'a' \\", "  && b", "blacklist nouveau", "options snd_x comment=it's"]
    configure(node, "\n".join(lines) + "\n")
    assert modules._blacklisted("") == {"nouveau"}


def test_install_false_keeps_a_module_out(node: LabMachine) -> None:
    configure(node, "install nouveau /bin/false\n")
    with pytest.raises(modules.ModuleError, match="install command"):
        modules.load("nouveau")


@pytest.mark.parametrize("conf", ["blacklist nvidia\n", ""])
def test_boot_loads_what_is_not_blacklisted(node: LabMachine, conf: str) -> None:
    configure(node, conf)
    modules.boot("ro")
    assert bool(state.driver_version()) == (not conf)
    assert state.loaded("mlx5_core")


def test_boot_obeys_the_command_line(node: LabMachine) -> None:
    modules.boot("ro module_blacklist=mlx5_ib,nvidia modprobe.blacklist=nouveau")
    assert not state.loaded("mlx5_ib")
    assert not state.loaded("nvidia")


def test_lsmod_and_modinfo(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    modules.load("nvidia")
    modtools.main(["lsmod"])
    assert capsys.readouterr().out.splitlines()[1].split()[0] == "nvidia"
    assert modtools.main(["modinfo", "-F", "version", "nvidia"]) == 0
    assert capsys.readouterr().out == "580.126.20\n"
    assert modtools.main(["modinfo", "nonsense"]) == 1
    assert "not found" in capsys.readouterr().err


def test_modprobe_removes(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert modtools.main(["modprobe", "-a", "nvidia", "msr"]) == 0
    assert modtools.main(["modprobe", "-r", "msr"]) == 0
    assert not state.loaded("msr")
    assert modtools.main(["modprobe", "-r", "msr"]) == 1
    assert "not loaded" in capsys.readouterr().err


def test_a_dry_run_loads_nothing(node: LabMachine) -> None:
    assert modtools.main(["modprobe", "--dry-run", "nvidia"]) == 0
    assert not state.loaded("nvidia")
