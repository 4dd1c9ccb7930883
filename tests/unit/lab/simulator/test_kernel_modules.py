from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import kernel_modules, module_tools, state
from support.lab_machine import LabMachine, lab_machine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    made = lab_machine(tmp_path, monkeypatch)
    made.provide(nvidia="580.126.20", nvidia_uvm="580.126.20", nvidia_peermem="580.126.20")
    conf = tmp_path / "modprobe.d"
    conf.mkdir()
    monkeypatch.setattr(kernel_modules, "_CONF", (f"{conf}/*.conf",))
    return made


def configure(node: LabMachine, text: str) -> None:
    (node.root / "modprobe.d" / "test.conf").write_text(text)


def test_loading_a_module_loads_its_dependency(node: LabMachine) -> None:
    kernel_modules.load_module("nvidia-uvm")
    assert state.is_module_loaded("nvidia_uvm")
    assert state.driver_version() == "580.126.20"


def test_modprobe_refuses_a_missing_module(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert module_tools.main(["modprobe", "mlx9_core"]) == 1
    assert "FATAL: Module mlx9_core not found" in capsys.readouterr().err
    assert module_tools.main(["modprobe", "-q", "mlx9_core"]) == 1
    assert capsys.readouterr().err == ""


def test_modprobe_options_set_driver_parameters(node: LabMachine) -> None:
    configure(node, "options nvidia NVreg_RestrictProfilingToAdminUsers=0 NVreg_NvLinkDisable=0\n")
    kernel_modules.load_module("nvidia")
    params = (node.root / "run/proc/driver/nvidia/params").read_text().splitlines()
    assert "RestrictProfilingToAdminUsers: 0" in params
    assert "580.126.20" in (node.root / "run/proc/driver/nvidia/version").read_text()
    assert len(list((node.root / "run/proc/driver/nvidia/gpus").iterdir())) == 8


def test_proc_does_not_list_a_missing_gpu(node: LabMachine) -> None:
    node.inject_fault("gpu_missing", "5")
    kernel_modules.load_module("nvidia")
    assert len(list((node.root / "run/proc/driver/nvidia/gpus").iterdir())) == 7


def test_modprobe_files_of_ubuntu_are_parsed(node: LabMachine) -> None:
    lines = ["# it's here", "install usb_drm /bin/sh -c 'a' \\", "  && b", "blacklist nouveau", "options snd_x comment=it's"]
    configure(node, "\n".join(lines) + "\n")
    assert kernel_modules._blacklisted("") == {"nouveau"}


def test_install_bin_false_prevents_loading(node: LabMachine) -> None:
    configure(node, "install nouveau /bin/false\n")
    with pytest.raises(kernel_modules.ModuleError, match="install command"):
        kernel_modules.load_module("nouveau")


@pytest.mark.parametrize("conf", ["blacklist nvidia\n", ""])
def test_boot_loads_modules_that_are_not_blacklisted(node: LabMachine, conf: str) -> None:
    configure(node, conf)
    kernel_modules.on_boot("ro")
    assert bool(state.driver_version()) == (not conf)
    assert state.is_module_loaded("mlx5_core")


def test_boot_respects_a_blacklist_on_the_command_line(node: LabMachine) -> None:
    kernel_modules.on_boot("ro module_blacklist=mlx5_ib,nvidia modprobe.blacklist=nouveau")
    assert not state.is_module_loaded("mlx5_ib")
    assert not state.is_module_loaded("nvidia")


def test_lsmod_and_modinfo_show_a_module(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    kernel_modules.load_module("nvidia")
    module_tools.main(["lsmod"])
    assert capsys.readouterr().out.splitlines()[1].split()[0] == "nvidia"
    assert module_tools.main(["modinfo", "-F", "version", "nvidia"]) == 0
    assert capsys.readouterr().out == "580.126.20\n"
    assert module_tools.main(["modinfo", "nonsense"]) == 1
    assert "not found" in capsys.readouterr().err


def test_modprobe_r_unloads_a_module(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert module_tools.main(["modprobe", "-a", "nvidia", "msr"]) == 0
    assert module_tools.main(["modprobe", "-r", "msr"]) == 0
    assert not state.is_module_loaded("msr")
    assert module_tools.main(["modprobe", "-r", "msr"]) == 1
    assert "not loaded" in capsys.readouterr().err


def test_a_dry_run_loads_nothing(node: LabMachine) -> None:
    assert module_tools.main(["modprobe", "--dry-run", "nvidia"]) == 0
    assert not state.is_module_loaded("nvidia")
