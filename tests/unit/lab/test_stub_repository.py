from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.stub_catalogue import StubPackage
from clusterctl_lab.stub_repository import build_repository, upstream_version

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = StubPackage(
    "tool",
    "1:2.5.0-1ubuntu1",
    installed=True,
    same_version=("tool-data",),
    commands={"/usr/bin/tool": "ibstat"},
    units=("nvidia-dcgm.service",),
    modules=("nvidia",),
)


@pytest.mark.parametrize(
    ("version", "shown"),
    [
        ("1:4.5.2-1", "4.5.2"),
        ("580.126.20-1ubuntu1", "580.126.20"),
        ("2.28.9-1+cuda13.0", "2.28.9"),
        ("24.01.0+0.38-1build2", "24.01.0+0.38"),
    ],
)
def test_a_tool_shows_its_upstream_version(version: str, shown: str) -> None:
    assert upstream_version(version) == shown


@pytest.fixture(scope="module")
def deb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("dpkg-deb"):
        pytest.skip("dpkg-deb is not installed")
    folder = tmp_path_factory.mktemp("apt")
    names = build_repository([PACKAGE], folder)
    return folder / names[0]


def dpkg_deb(*words: str) -> str:
    return subprocess.run(["dpkg-deb", *words], check=True, capture_output=True, text=True).stdout


def test_a_package_has_its_real_name_and_version(deb: Path) -> None:
    assert dpkg_deb("--field", str(deb), "Package", "Version", "Depends").splitlines() == [
        "Package: tool",
        "Version: 1:2.5.0-1ubuntu1",
        "Depends: tool-data (= 1:2.5.0-1ubuntu1)",
    ]
    assert "simulated" in dpkg_deb("--field", str(deb), "Description")


def test_a_package_passes_its_version_to_the_simulator(deb: Path, tmp_path: Path) -> None:
    dpkg_deb("--extract", str(deb), str(tmp_path))
    assert (tmp_path / "usr/lib/clusterctl-lab/packages/tool").read_text() == "2.5.0\n"
    assert (tmp_path / "usr/lib/clusterctl-lab/modules/nvidia").read_text() == "2.5.0\n"
    command = tmp_path / "usr/bin/tool"
    assert command.stat().st_mode & 0o111
    assert 'main(sys.argv, "2.5.0")' in command.read_text()


def test_a_package_enables_its_unit(deb: Path, tmp_path: Path) -> None:
    dpkg_deb("--control", str(deb), str(tmp_path))
    assert "enable" in (tmp_path / "postinst").read_text()
    assert subprocess.run(["sh", "-n", str(tmp_path / "postinst")], check=False).returncode == 0
    assert subprocess.run(["sh", "-n", str(tmp_path / "prerm")], check=False).returncode == 0
