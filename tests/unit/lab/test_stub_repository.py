from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.package_facts import PackageFact, upstream_version
from clusterctl_lab.stub_catalogue import StubPackage
from clusterctl_lab.stub_repository import build_repositories, command_text, unit_file

if TYPE_CHECKING:
    from pathlib import Path


def fact(name: str, version: str, repository: str = "cuda", origin: str = "", **relations: tuple[str, ...]) -> PackageFact:
    return PackageFact(
        name, version, repository, origin, ("24.04",), relations, lab=True, base=False, source=("x",), assumed="", version_assumed=""
    )


PACKAGE = StubPackage(
    fact("tool", "1:2.5.0-1ubuntu1", depends=("tool-data (= 1:2.5.0-1ubuntu1)", "lshw"), conflicts=("other",)),
    installed=True,
    commands={"/usr/bin/tool": "ibstat"},
    units={"nvidia-dcgm.service": False, "prometheus-node-exporter.service": True},
    modules=("nvidia",),
)
OTHER = StubPackage(fact("other", "1.0-1", "ubuntu", "Ubuntu"))


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
    names = build_repositories([PACKAGE, OTHER], folder)
    assert names == ["cuda/tool_2.5.0-1ubuntu1_all.deb"]
    return folder / names[0]


def dpkg_deb(*words: str) -> str:
    return subprocess.run(["dpkg-deb", *words], check=True, capture_output=True, text=True).stdout


def test_a_package_has_its_real_name_and_version(deb: Path) -> None:
    assert dpkg_deb("--field", str(deb), "Package", "Version", "Depends", "Conflicts").splitlines() == [
        "Package: tool",
        "Version: 1:2.5.0-1ubuntu1",
        "Depends: tool-data (= 1:2.5.0-1ubuntu1), lshw",
        "Conflicts: other",
    ]
    assert "simulated" in dpkg_deb("--field", str(deb), "Description")


def test_a_package_passes_its_version_to_the_simulator(deb: Path, tmp_path: Path) -> None:
    dpkg_deb("--extract", str(deb), str(tmp_path))
    assert (tmp_path / "usr/lib/clusterctl-lab/packages/tool").read_text() == "2.5.0\n"
    assert (tmp_path / "usr/lib/clusterctl-lab/modules/nvidia").read_text() == "2.5.0\n"
    command = tmp_path / "usr/bin/tool"
    assert command.stat().st_mode & 0o111
    assert 'main(sys.argv, "2.5.0")' in command.read_text()


def test_a_package_enables_only_the_units_that_the_real_one_enables(deb: Path, tmp_path: Path) -> None:
    dpkg_deb("--control", str(deb), str(tmp_path))
    enabled, disabled = (tmp_path / "postinst").read_text().split("done", 1)
    assert "for unit in prometheus-node-exporter.service; do" in enabled
    assert "enable" in enabled
    assert "for unit in nvidia-dcgm.service; do" in disabled
    assert "enable" not in disabled
    for script in ("postinst", "prerm"):
        assert subprocess.run(["sh", "-n", str(tmp_path / script)], check=False).returncode == 0


def test_each_repository_has_an_index_and_its_origin(deb: Path) -> None:
    cuda, ubuntu = deb.parent, deb.parent.parent / "ubuntu"
    assert "Origin" not in (cuda / "Release").read_text()
    assert (ubuntu / "Release").read_text().startswith("Origin: Debian\nDate: ")
    assert "Package: tool\n" in (cuda / "Packages").read_text()
    assert f"Filename: ./{deb.name}\nSize: {deb.stat().st_size}\n" in (cuda / "Packages").read_text()
    assert [f.name for f in cuda.iterdir() if f.is_dir()] == []


def test_a_repository_may_have_its_own_text_of_a_unit() -> None:
    own = unit_file("ubuntu", "nvidia-persistenced.service").read_text()
    assert "--no-persistence-mode" in own
    assert "[Install]" not in own, "static: udev starts it"
    assert "[Install]" in unit_file("cuda", "nvidia-persistenced.service").read_text()
    assert unit_file("ubuntu", "nvidia-imex.service") == unit_file("cuda", "nvidia-imex.service")


def test_modules_may_have_another_version_than_their_package(tmp_path: Path) -> None:
    built = StubPackage(fact("linux-modules-x", "6.8.0-1046.49", "ubuntu", "Ubuntu"), modules=("nvidia",), driver="580.126.20")
    build_repositories([built], tmp_path)
    (deb,) = tmp_path.rglob("*.deb")
    subprocess.run(["dpkg-deb", "--extract", str(deb), str(tmp_path / "tree")], check=True)
    assert (tmp_path / "tree/usr/lib/clusterctl-lab/modules/nvidia").read_text() == "580.126.20\n"


def test_a_static_unit_is_wanted_at_boot_as_by_udev(tmp_path: Path) -> None:
    units = {"nvidia-persistenced.service": False}
    built = [StubPackage(fact("archive", "1.0-1", "ubuntu", "Ubuntu"), units=units), StubPackage(fact("vendor", "1.0-1"), units=units)]
    build_repositories(built, tmp_path)
    for package in ("ubuntu/archive", "cuda/vendor"):
        dpkg_deb("--extract", str(tmp_path / f"{package}_1.0-1_all.deb"), str(tmp_path / package))
    link = "lib/systemd/system/multi-user.target.wants/nvidia-persistenced.service"
    assert (tmp_path / "ubuntu/archive" / link).is_symlink()
    assert not (tmp_path / "cuda/vendor" / link).is_symlink()


def test_an_init_script_says_in_which_runlevels_it_runs() -> None:
    script = command_text("/etc/init.d/kdump-tools", "kdump", "1.8.1")
    assert script.startswith("#!/usr/bin/python3")
    assert "\n# Provides:          kdump-tools\n" in script
    assert "\n# Default-Start:     2 3 4 5\n" in script
    assert "INIT INFO" not in command_text("/usr/sbin/kdump-config", "kdump", "1.8.1")
