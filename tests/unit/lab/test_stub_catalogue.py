from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
import yaml

from clusterctl.model.errors import ConfigError
from clusterctl_lab.stub_catalogue import CATALOGUE, PINS, pinned_versions, stub_packages
from clusterctl_lab.stub_repository import UNITS
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def test_the_repository_has_every_pinned_version() -> None:
    available = {(p.name, p.version) for p in stub_packages()}
    assert set(pinned_versions(*(ROOT / folder for folder in PINS)).items()) <= available


def test_a_new_node_has_other_versions_than_the_profile_pins() -> None:
    pinned = pinned_versions(*(ROOT / folder for folder in PINS))
    installed = {p.name: p.version for p in stub_packages() if p.installed}
    skewed = {name for name, version in installed.items() if name in pinned and pinned[name] != version}
    assert {"nvidia-utils-580", "nvidia-fabricmanager", "libnccl2", "datacenter-gpu-manager-4-core"} <= skewed
    assert installed["nvidia-fabricmanager"].split("-")[0] != installed["nvidia-utils-580"].split("-")[0]


def test_a_new_node_has_no_package_in_its_pinned_version() -> None:
    pinned = pinned_versions(*(ROOT / folder for folder in PINS))
    assert [p.name for p in stub_packages() if p.installed and pinned.get(p.name) == p.version] == []


def test_commands_and_units_of_packages_exist() -> None:
    for package in stub_packages():
        for module in package.commands.values():
            assert find_spec(f"clusterctl_lab.simulator.{module}"), f"{package.name}: {module}"
        for unit in package.units:
            assert (UNITS / unit).is_file(), f"{package.name}: {unit}"


def test_installed_dependencies_are_installed_in_the_same_version() -> None:
    installed = {p.name: p.version for p in stub_packages() if p.installed}
    for package in (p for p in stub_packages() if p.installed):
        assert {installed.get(name) for name in package.same_version} <= {package.version}, package.name


def test_a_pinned_package_without_a_stub_is_refused(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.mkdir()
    (profile / "nccl.yml").write_text(yaml.safe_dump({"nccl_packages": [{"name": "libnccl3", "version": "3.0-1"}]}))
    with pytest.raises(ConfigError, match="libnccl3"):
        stub_packages(CATALOGUE, profile)
