from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import dkms, kernel_modules, module_tools
from support.lab_machine import LabMachine, lab_machine

if TYPE_CHECKING:
    from pathlib import Path

VERSION = "25.10.OFED.25.10.1.7.1.1"
MODULE = f"mlnx-ofed-kernel/{VERSION}"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    made = lab_machine(tmp_path, monkeypatch)
    made.install(mlnx_ofed_kernel_dkms=VERSION)
    made.provide(mlx5_core="25.10-1.7.1", ib_core="25.10-1.7.1")
    info = tmp_path / "info"
    info.mkdir()
    (info / "mlnx-ofed-kernel-dkms.list").write_text("/.\n" + "".join(f"{tmp_path}/modules/{name}\n" for name in ("mlx5_core", "ib_core")))
    monkeypatch.setattr(dkms, "_DPKG_INFO", str(info))
    return made


def run_dkms(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert dkms.main(["dkms", *words]) == 0
    return capsys.readouterr().out


def test_uninstall_leaves_the_kernels_own_modules_and_install_restores_the_packaged_ones(
    node: LabMachine, capsys: pytest.CaptureFixture[str]
) -> None:
    row = f"{MODULE}, {os.uname().release}, x86_64: installed\n"
    assert run_dkms(capsys, "status") == row
    run_dkms(capsys, "uninstall", MODULE)
    assert run_dkms(capsys, "status") == f"{MODULE}: added\n"
    assert kernel_modules.available_version("mlx5_core") == ""
    run_dkms(capsys, "build", "--force", MODULE)
    assert run_dkms(capsys, "status") == f"{MODULE}: added\n"
    run_dkms(capsys, "install", "--force", MODULE)
    assert run_dkms(capsys, "status") == row
    assert kernel_modules.available_version("mlx5_core") == "25.10-1.7.1"


def test_a_module_without_a_package_is_refused(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert dkms.main(["dkms", "install", "nvidia/580.126.20"]) == 3
    assert "no such module" in capsys.readouterr().err


def test_modinfo_shows_a_module_of_another_kernel_until_it_is_rebuilt(node: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    with (node.root / "modules" / "mlx5_core").open("a") as file:
        file.write("vermagic 6.8.0-1-other SMP\n")
    module_tools.main(["modinfo", "-F", "vermagic", "mlx5_core"])
    module_tools.main(["modinfo", "-F", "version", "mlx5_core"])
    assert capsys.readouterr().out == "6.8.0-1-other SMP\n25.10-1.7.1\n"
    dkms.main(["dkms", "install", "--force", MODULE])
    capsys.readouterr()
    module_tools.main(["modinfo", "-F", "vermagic", "mlx5_core"])
    assert capsys.readouterr().out.split()[0] == os.uname().release
