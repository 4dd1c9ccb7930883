from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.node_packages import NodePackages, node_packages
from clusterctl.adapters.validators import bundle as bundle_module
from clusterctl.model.errors import ConfigError
from support.bundle_run import EXAMPLES
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.validators.bundle import Bundle


def test_named_after_its_content(bundle: Bundle) -> None:
    assert hashlib.sha256(bundle.read()).hexdigest() == bundle.sha256
    assert bundle.size == len(bundle.read())


def test_nodes_with_python_38_can_run_it(bundle: Bundle) -> None:
    assert bundle.min_python == (3, 8)


def test_same_inputs_same_bytes_in_any_process(bundle: Bundle, tmp_path: Path) -> None:
    code = (
        "import sys, asyncssh, rich.console; from pathlib import Path; from clusterctl.adapters.validators.bundle import build_bundle;"
        "print(build_bundle(Path(sys.argv[1]), [Path(sys.argv[2])]).sha256)"
    )
    env = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": f"{ROOT}/cli:{ROOT}/tools:{ROOT}/validators", "TZ": "Asia/Tokyo"}
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path), str(EXAMPLES)], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == bundle.sha256


def test_other_inputs_other_bytes(bundle: Bundle, tmp_path: Path) -> None:
    extra = tmp_path / "extra"
    extra.mkdir()
    (extra / "test_site.py").write_text('ROLE = "site"\n')
    assert bundle_module.build_bundle(tmp_path, [extra]).sha256 != bundle.sha256


def test_a_damaged_cache_is_rebuilt(tmp_path: Path) -> None:
    first = bundle_module.build_bundle(tmp_path)
    first.path.write_bytes(first.read()[:-1])
    assert bundle_module.build_bundle(tmp_path) == first
    assert hashlib.sha256(first.read()).hexdigest() == first.sha256


def test_pure_python_and_of_our_packages_only_validators_and_tools(bundle: Bundle) -> None:
    names = zipfile.ZipFile(bundle.path).namelist()
    assert {n.rpartition(".")[2] for n in names} == {"py", "pyc"}
    tops = {n.split("/")[0] for n in names}
    assert {
        "pytest",
        "_pytest",
        "pluggy",
        "iniconfig",
        "packaging",
        "testinfra",
        "clusterctl_tools",
        "clusterctl_validators",
        "__main__.py",
    } <= tops
    assert not {"clusterctl", "clusterctl_lab"} & tops
    assert not [n for n in names if "redfish" in n], "a node does not reach its BMC"


def test_the_cache_is_private(tmp_path: Path) -> None:
    path = bundle_module.build_bundle(tmp_path / "state").path
    assert path.parent.stat().st_mode & 0o077 == 0


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(ConfigError, match="cache: "):
        bundle_module.build_bundle(tmp_path)


def test_a_package_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = node_packages()
    monkeypatch.setattr(bundle_module, "node_packages", lambda: replace(packed, folder=tmp_path))
    with pytest.raises(ConfigError, match=f"packages for nodes are missing from {tmp_path}: .*pytest 8"):
        bundle_module.build_bundle(tmp_path)


def test_other_packages_other_bytes(bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = node_packages().read_sources() | {"iniconfig/__init__.py": b"changed = 1\n"}
    monkeypatch.setattr(NodePackages, "read_sources", lambda _self: dict(sources))
    assert bundle_module.build_bundle(tmp_path, [EXAMPLES]).sha256 != bundle.sha256
