from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import zipfile
from email import message_from_bytes
from typing import TYPE_CHECKING

import pytest
from packaging.specifiers import SpecifierSet

from clusterctl.adapters.node_packages import NodePackages, node_packages
from clusterctl.adapters.validators.bundle import MIN_PYTHON
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

NEEDS_A_NEWER_PYTHON = {"pytest-testinfra"}  # only the checks that use `host` import it


def wheel(**files: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/") + ".py", text)
        archive.writestr("one-1.0.dist-info/METADATA", "Name: one")
    return buffer.getvalue()


@pytest.fixture
def packages(tmp_path: Path) -> NodePackages:
    folder = tmp_path / "node_packages"
    folder.mkdir()
    lock = ""
    for name, content in {"one": wheel(one__first="a = 1", one__second="b = 2"), "two-b": wheel(two="c = 3")}.items():
        (folder / f"{name}-1.0-py3-none-any.whl").write_bytes(content)
        lock += f"{name}==1.0 \\\n    --hash=sha256:{'0' * 64} \\\n    --hash=sha256:{hashlib.sha256(content).hexdigest()}\n"
    (tmp_path / "node.txt").write_text(lock)
    return NodePackages(tmp_path / "node.txt", folder, "repair it")


def test_sources_of_all_locked_packages_are_read(packages: NodePackages) -> None:
    assert packages.read_sources() == {"one/first.py": b"a = 1", "one/second.py": b"b = 2", "two.py": b"c = 3"}
    assert [(p.name, p.version) for p in packages.locked()] == [("one", "1.0"), ("two-b", "1.0")]


def test_a_wheel_that_is_not_locked_is_ignored(packages: NodePackages) -> None:
    before = packages.read_sources()
    (packages.folder / "one-0.9-py3-none-any.whl").write_bytes(wheel(one__first="older"))
    assert packages.read_sources() == before


@pytest.mark.parametrize("content", [None, wheel(two="changed"), b""], ids=["missing", "other", "empty"])
def test_a_wheel_that_differs_from_the_locked_one_is_an_error(packages: NodePackages, content: bytes | None) -> None:
    path = packages.folder / "two-b-1.0-py3-none-any.whl"
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"packages for nodes are missing from .*/node_packages: two-b 1\.0$") as raised:
        packages.read_sources()
    assert raised.value.hint == "repair it"


def test_missing_wheels_or_locks_are_errors(tmp_path: Path, packages: NodePackages) -> None:
    with pytest.raises(ConfigError, match=r"one 1\.0, two-b 1\.0"):
        NodePackages(packages.lock, tmp_path / "nowhere", "").read_sources()
    with pytest.raises(ConfigError, match=r"nowhere: No such file"):
        NodePackages(tmp_path / "nowhere", packages.folder, "").read_sources()
    packages.lock.write_text("one==1.0\n")
    with pytest.raises(ConfigError, match=r"node\.txt lists no package with hashes"):
        packages.read_sources()


def test_locked_packages_support_the_oldest_python() -> None:
    packed = node_packages()
    oldest = ".".join(map(str, MIN_PYTHON))
    too_new: set[str] = set()
    for path in packed.folder.glob("*.whl"):
        with zipfile.ZipFile(path) as archive:
            (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
            metadata = message_from_bytes(archive.read(name))
        if not SpecifierSet(metadata["Requires-Python"]).contains(oldest):
            too_new.add(metadata["Name"])
    assert too_new == NEEDS_A_NEWER_PYTHON
    assert {p.name for p in packed.locked()} > NEEDS_A_NEWER_PYTHON | {"pytest"}


def test_the_controller_imports_no_node_packages() -> None:
    code = (
        "import importlib, pkgutil, sys\n"
        "for name in ('pytest', '_pytest', 'pluggy', 'iniconfig', 'testinfra', 'exceptiongroup'): sys.modules[name] = None\n"
        "import clusterctl, clusterctl_lab\n"
        "for package in (clusterctl, clusterctl_lab):\n"
        "    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        if not module.name.endswith('__main__') and '.migrations.' not in module.name: importlib.import_module(module.name)\n"
        "from clusterctl.adapters.validator_declarations import read_traits\n"
        "traits = read_traits(())\n"
        "roles = [role for role in traits.by_role if traits.by_bmc(role)]\n"
        "assert roles\n"
        "for role in roles: importlib.import_module(f'clusterctl_validators.test_{role}')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
