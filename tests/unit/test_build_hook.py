"""hatch_build.py without a package index: pip finds the wheels in build/node_packages of the checkout."""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.node_packages import NodePackages, node_packages
from support.offline_index import offline
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in offline(node_packages().folder).items():
        monkeypatch.setenv(name, value)
    (tmp_path / "requirements").mkdir()
    shutil.copy(ROOT / "requirements" / "node.txt", tmp_path / "requirements")
    return tmp_path


def run_hook(checkout: Path, version: str = "standard") -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    hook = module.NodePackagesHook(str(checkout), {}, None, None, str(checkout), "wheel")
    data: dict[str, Any] = {"force_include": {}}
    hook.initialize(version, data)
    return data


def packed(checkout: Path) -> NodePackages:
    return NodePackages(checkout / "requirements" / "node.txt", checkout / "build" / "node_packages", "")


def test_locked_packages_go_into_the_wheel(checkout: Path) -> None:
    data = run_hook(checkout)
    assert data["force_include"] == {str(checkout / "build" / "node_packages"): "clusterctl/_node_packages"}
    assert packed(checkout).read_sources() == node_packages().read_sources()


def test_packed_packages_are_not_downloaded_again(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(node_packages().folder, checkout / "build" / "node_packages")
    monkeypatch.setattr(subprocess, "run", None)
    assert run_hook(checkout, "editable")["force_include"] == {}, "an editable install reads the checkout"


def test_a_new_lock_file_replaces_packed_packages(checkout: Path) -> None:
    folder = checkout / "build" / "node_packages"
    folder.mkdir(parents=True)
    (folder / "node.txt").write_text("an older lock")
    (folder / "older-1.0-py3-none-any.whl").write_bytes(b"")
    run_hook(checkout, "editable")
    assert not (folder / "older-1.0-py3-none-any.whl").exists()
    assert packed(checkout).read_sources()


def test_a_file_that_differs_from_the_locked_one_is_refused(checkout: Path) -> None:
    lock = checkout / "requirements" / "node.txt"
    (wheel,) = node_packages().folder.glob("iniconfig-*.whl")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    lock.write_text(lock.read_text().replace(digest, "0" * 64))
    with pytest.raises(subprocess.CalledProcessError):
        run_hook(checkout)
    assert list((checkout / "build").iterdir()) == [], "no incomplete directory may be left"
