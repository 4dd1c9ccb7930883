"""The index of a flat apt repository, as apt itself reads it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

INDEXER = ROOT / "lab" / "clusterctl_lab" / "image_files" / "index_repository.py"
# apt writes the colon of an epoch as %3a when it downloads a package.
DEB = "tool_1%3a2.5.0-1_all.deb"
CONTROL = "Package: tool\nVersion: 1:2.5.0-1\nArchitecture: all\nMaintainer: lab <lab@localhost>\nDescription: for a test\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    if not shutil.which("dpkg-deb"):
        pytest.skip("dpkg-deb is not installed")
    tree, folder = tmp_path / "tree", tmp_path / "repository"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN" / "control").write_text(CONTROL)
    folder.mkdir()
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", str(tree), str(folder / DEB)], check=True, capture_output=True)
    subprocess.run([sys.executable, str(INDEXER), str(folder)], check=True)
    return folder


def test_filename_is_the_name_of_the_file(repository: Path) -> None:
    assert f"Filename: ./{DEB}\n" in (repository / "Packages").read_text()


def test_apt_finds_a_package_with_an_epoch(repository: Path, tmp_path: Path) -> None:
    if not shutil.which("apt-get"):
        pytest.skip("apt-get is not installed")
    for folder in ("etc/preferences.d", "state/lists/partial", "cache/archives/partial"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "status").touch()
    (tmp_path / "etc" / "sources.list").write_text(f"deb [trusted=yes] file://{repository} ./\n")
    places: dict[str, Path | str] = {
        "": tmp_path,
        "::Etc": tmp_path / "etc",
        "::State": tmp_path / "state",
        "::State::status": tmp_path / "status",
    }
    places |= {"::Cache": tmp_path / "cache", "::Bin::methods": "/usr/lib/apt/methods"}
    options = [f"-oDir{name}={path}" for name, path in places.items()]
    for words in (["update"], ["install", "--yes", "--download-only", "tool"]):
        done = subprocess.run(["apt-get", *options, *words], capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
