from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.filters import filter_plugin
from support.gpu_node import GROUP_VARS, declared
from support.plain_yaml import load_yaml
from support.roles import ROOT

plugin = filter_plugin("cuda_toolkits")
CATALOGUE = load_yaml((GROUP_VARS / "all" / "nvidia_versions.yml").read_text())["nvidia_versions"]
CASES = load_yaml((ROOT / "tests/cases/cuda_toolkits/refused.yml").read_text())
DRIVER = "580.126.20"


def profile(**changes: Any) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Request and packages of the H100 profile, as `changes` (keys of a case) have them."""
    variables = declared("cuda")
    request = {
        "versions": variables["cuda_versions"],
        "default": variables["cuda_default"],
        "driver": DRIVER,
        "minor_compatibility": variables["cuda_minor_compatibility"],
        "forward_compatibility": variables["cuda_forward_compatibility"],
    }
    packages = [*changes.get("packages", variables["cuda_packages"]), *changes.get("packages_add", [])]
    return {**request, **changes.get("request", {})}, packages


def test_the_profile_is_accepted() -> None:
    assert plugin.errors(*profile(), CATALOGUE) == []


@pytest.mark.parametrize("name", CASES)
def test_invalid_input_is_refused_with_a_reason(name: str) -> None:
    errors = plugin.errors(*profile(**CASES[name]), CATALOGUE)
    assert any(CASES[name]["reason"] in e for e in errors), errors


def test_an_older_driver_is_enough_with_the_compatibility_package() -> None:
    package = {"toolkit": "13.0", "name": "cuda-compat-13-0", "version": "580.95.05-0ubuntu1"}
    request, packages = profile(request={"driver": "535.104.05", "forward_compatibility": ["13.0"]}, packages_add=[package])
    assert plugin.errors(request, packages, CATALOGUE) == []


def test_without_a_catalogue_the_driver_is_not_checked() -> None:
    request, packages = profile(request={"driver": "450.80.02"})
    assert plugin.errors(request, packages, {}) == []


def test_no_toolkits_are_no_error() -> None:
    nothing = {"versions": [], "default": "", "driver": "", "minor_compatibility": True, "forward_compatibility": []}
    assert plugin.errors(nothing, [], CATALOGUE) == []


@settings(deadline=None)
@given(st.tuples(st.integers(520, 620), st.integers(10, 200), st.integers(0, 99)))
def test_a_newer_driver_is_never_worse(driver: tuple[int, int, int]) -> None:
    def refused(numbers: tuple[int, int, int]) -> bool:
        return bool(plugin.errors(*profile(request={"driver": f"{numbers[0]}.{numbers[1]}.{numbers[2]:02d}"}), CATALOGUE))

    assert refused(driver) or not refused((driver[0] + 1, driver[1], driver[2]))
