from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
import yaml

from clusterctl.model.errors import ConfigError
from clusterctl_lab.stub_catalogue import UNIT_STATES, StubPackage, stub_packages
from clusterctl_lab.stub_repository import UNITS
from support.declared_profiles import declared_profile
from support.plain_yaml import load_yaml

if TYPE_CHECKING:
    from pathlib import Path

PACKAGES = stub_packages()


def versions(name: str, repository: str = "") -> list[StubPackage]:
    return [p for p in PACKAGES if p.fact.name == name and repository in ("", p.fact.repository)]


def pinned() -> dict[str, str]:
    spec = declared_profile("profile_hgx_b200_ib")
    return {p["name"]: p["version"] for role, v in spec.roles.items() for p in v.get(f"{role}_packages") or () if isinstance(p, dict)}


def test_versions_are_side_by_side_and_newer_than_pinned() -> None:
    assert [p.fact.version for p in versions("nvidia-driver-580-open", "cuda")][-1] == "580.178.04-1ubuntu1"
    assert {p.fact.repository for p in versions("libnvidia-compute-580")} == {"cuda", "ubuntu"}
    assert {p.fact.repository for p in versions("rdma-core")} == {"doca", "ubuntu"}


def test_a_new_node_has_other_versions_than_the_profile_pins() -> None:
    installed = {p.fact.name: p.fact.version for p in PACKAGES if p.installed}
    assert {name for name, version in pinned().items() if installed.get(name) == version} == set()
    assert {"nvidia-utils-580", "nvidia-fabricmanager", "libnccl2", "datacenter-gpu-manager-4-core"} <= set(installed)
    assert installed["nvidia-fabricmanager"].split("-")[0] != installed["nvidia-utils-580"].split("-")[0]


def test_what_checks_and_gates_need_is_not_on_a_new_node() -> None:
    commands = {path for p in PACKAGES if p.installed for path in p.commands}
    needed = {"/usr/bin/ibv_devinfo", "/usr/sbin/lldpctl", "/usr/bin/mlxconfig", "/usr/bin/ib_write_bw", "/usr/bin/all_reduce_perf"}
    assert needed & commands == set()
    assert needed <= {path for p in PACKAGES for path in p.commands}


def test_one_version_of_a_package_is_installed() -> None:
    names = [p.fact.name for p in PACKAGES if p.installed]
    assert len(names) == len(set(names))


def test_a_program_moves_to_another_package_with_a_version() -> None:
    smi = "/usr/bin/nvidia-smi"
    owners = {(p.fact.name, p.fact.version) for p in PACKAGES if smi in p.commands}
    assert ("nvidia-utils-580", "580.65.06-0ubuntu1") in owners
    assert ("nvidia-utils-580", "580.126.20-1ubuntu1") not in owners
    assert ("libnvidia-compute-580", "580.126.20-1ubuntu1") in owners
    assert not versions("datacenter-gpu-manager-4-core")[-1].commands, "from 4.7.0 on dcgmi is in a package of its own"


def test_commands_and_units_of_packages_exist() -> None:
    for package in PACKAGES:
        for module in package.commands.values():
            assert find_spec(f"clusterctl_lab.simulator.{module}"), f"{package.fact.name}: {module}"
        for unit in package.units:
            assert (UNITS / unit).is_file(), f"{package.fact.name}: {unit}"


def test_every_unit_has_a_state_with_a_source() -> None:
    states = load_yaml(UNIT_STATES.read_text())
    assert set(states) == {file.name for file in UNITS.glob("*.*")} == {unit for p in PACKAGES for unit in p.units}
    assert [name for name, unit in states.items() if not unit.get("source")] == []
    assert {name for name, unit in states.items() if unit["enabled"]} == {
        "prometheus-node-exporter.service",
        "nvidia-cdi-refresh.path",
        "nvidia-cdi-refresh.service",
        "kdump-tools.service",
        "rasdaemon.service",
    }


@pytest.mark.parametrize(
    "entries",
    [{"libnccl3": {}}, {"libnccl2": {"installed": "9.9-1"}}, {"libnccl2": {"from": "9.9-1"}}, {"libnccl2": {"until": "9.9-1"}}],
)
def test_a_name_or_a_version_without_a_fact_is_refused(entries: dict[str, dict[str, str]], tmp_path: Path) -> None:
    catalogue = tmp_path / "packages.yml"
    catalogue.write_text(yaml.safe_dump(entries))
    with pytest.raises(ConfigError, match=r"libnccl\d .*no fact"):
        stub_packages(catalogue)


def test_the_archive_has_a_driver_of_its_own() -> None:
    """What nvidia_driver_source: ubuntu installs has the programs, units and modules of the driver."""
    (modules,) = versions("linux-modules-nvidia-580-server-open-6.8.0-1046-nvidia")
    assert (modules.driver, "nvidia_peermem" in modules.modules, "nvidia" in modules.modules) == ("580.126.20", False, True)
    assert "/usr/bin/nvidia-smi" in versions("nvidia-utils-580-server")[0].commands
    for name in ("nvidia-compute-utils-580-server", "nvidia-fabricmanager-580", "nvidia-imex-580"):
        assert versions(name)[0].units, name
