from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.filters import filter_plugin
from support.gpu_node import GROUP_VARS, declared
from support.plain_yaml import load_yaml
from support.roles import ROOT

plugin = filter_plugin("nvidia_tuple")
CATALOGUE = load_yaml((GROUP_VARS / "all" / "nvidia_versions.yml").read_text())["nvidia_versions"]
CASES = sorted((ROOT / "tests" / "cases" / "nvidia_tuple").iterdir())
COMPONENTS = ("driver", "fabric_manager", "imex", "nvlsm", "persistenced", "dcgm", "container_toolkit")


def profile() -> tuple[dict[str, str], dict[str, str], list[dict[str, str]]]:
    """Versions, request and packages of the H100 profile."""
    said = declared("nvidia_driver")
    versions = {c: said["nvidia_driver_version" if c == "driver" else f"nvidia_driver_{c}_version"] for c in COMPONENTS}
    request = {
        "kernel_module": said["nvidia_driver_kernel_module"],
        "architecture": said["nvidia_driver_gpu_architecture"],
        "cuda": said["nvidia_driver_cuda_version"],
        "source": said["nvidia_driver_source"],
    }
    return versions, request, said["nvidia_driver_packages"]


def changed(case: dict[str, Any]) -> tuple[dict[str, str], dict[str, str], list[dict[str, str]]]:
    """The profile's versions with the changes of a case."""
    versions, request, packages = profile()
    packages = [dict(p) for p in case.get("packages", packages) if p["name"] not in case.get("packages_drop", [])]
    if "packages" in case:
        versions = {**dict.fromkeys(COMPONENTS, ""), **case["versions"]}
    for package in packages:
        package["version"] = case.get("packages_edit", {}).get(package["name"], package["version"])
        package["name"] = case.get("packages_rename", {}).get(package["name"], package["name"])
    return {**versions, **case.get("versions", {})}, {**request, **case.get("request", {})}, packages + case.get("packages_add", [])


def test_the_profile_is_accepted() -> None:
    assert plugin.tuple_errors(*profile(), CATALOGUE) == []


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_an_impossible_tuple_is_refused_with_its_reasons(case: Any) -> None:
    said = load_yaml((case / "case.yml").read_text())
    errors = plugin.tuple_errors(*changed(said), CATALOGUE)
    assert len(errors) >= len(said["reasons"])
    for reason in said["reasons"]:
        assert any(reason in e for e in errors), errors


def test_without_a_catalogue_versions_are_still_compared() -> None:
    versions, request, packages = profile()
    assert plugin.tuple_errors(versions, {**request, "cuda": "99.9"}, packages, {}) == []
    assert plugin.tuple_errors({**versions, "fabric_manager": "580.65.06"}, request, packages, {})


@given(
    st.from_regex(r"5[0-9]{2}\.[0-9]{2,3}(\.[0-9]{2})?", fullmatch=True),
    st.from_regex(r"5[0-9]{2}\.[0-9]{2,3}(\.[0-9]{2})?", fullmatch=True),
)
def test_only_equal_versions_are_compatible(driver: str, fabric_manager: str) -> None:
    versions = {**dict.fromkeys(COMPONENTS, ""), "driver": driver, "fabric_manager": fabric_manager}
    packages = [
        {"component": "driver", "name": "d-open", "version": driver},
        {"component": "fabric_manager", "name": "f", "version": fabric_manager},
    ]
    errors = plugin.tuple_errors(versions, {"kernel_module": "open", "architecture": "", "cuda": ""}, packages, {})
    assert bool(errors) == (driver != fabric_manager)


@pytest.mark.parametrize(
    ("version", "upstream"),
    [
        ("580.126.20-1ubuntu1", "580.126.20"),
        ("1:4.5.2-1", "4.5.2"),
        ("2.28.9-1+cuda13.0", "2.28.9"),
        ("3:580.126.20-1.el9", "580.126.20"),
        ("1.18.2", "1.18.2"),
    ],
)
def test_the_upstream_part_of_a_package_version(version: str, upstream: str) -> None:
    assert plugin.upstream(version) == upstream


@pytest.mark.parametrize(
    ("text", "version", "flavour"),
    [
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.20  Release Build  (dvs-builder@U22)", "580.126.20", "open"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.120  Fri Sep 13 10:10:01 UTC 2024\nGCC version:", "550.120", "proprietary"),
        ("", "", ""),
        ("NVRM version: something else", "", ""),
    ],
)
def test_the_loaded_module(text: str, version: str, flavour: str) -> None:
    assert plugin.loaded_module(text) == {"version": version, "flavour": flavour}


def test_parameters_of_the_loaded_module() -> None:
    text = 'RmProfilingAdminOnly: 1\nNvLinkDisable: 0\nRegistryDwords: ""\n'
    wanted = {"NVreg_RestrictProfilingToAdminUsers": 0, "NVreg_NvLinkDisable": False, "NVreg_RegistryDwords": "x=1"}
    assert plugin.parameter_differences(wanted, text) == [
        "NVreg_RestrictProfilingToAdminUsers=0, running 1",
        "NVreg_RegistryDwords=x=1, running ",
    ]
    assert plugin.parameter_differences({"NVreg_NvLinkDisable": 0}, "") == ["NVreg_NvLinkDisable=0, running None"]


def test_the_options_line() -> None:
    wanted = {"NVreg_NvLinkDisable": False, "NVreg_CoherentGPUMemoryMode": "driver", "NVreg_ImexChannelCount": 2048}
    assert (
        plugin.modprobe_options(wanted)
        == 'options nvidia NVreg_NvLinkDisable=0 NVreg_CoherentGPUMemoryMode="driver" NVreg_ImexChannelCount=2048'
    )
