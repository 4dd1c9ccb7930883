"""A DCGM exporter works with the DCGM that it is built for: the pairs are data, the role refuses others, the profiles have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.declared_profiles import declared_profile
from support.local_play import role_tasks, run_play
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

COMMON = ROOT / "inventory" / "common"
CATALOGUE = load_yaml((COMMON / "group_vars" / "all" / "nvidia_versions.yml").read_text())["nvidia_versions"]
EXPORTER = "datacenter-gpu-manager-exporter"


def refusal(folder: Path, exporter: str, dcgm: str, **variables: Any) -> str:
    """What the role prints when it refuses; empty if it accepts."""
    given = {
        "monitoring_packages": [{"name": EXPORTER, "version": exporter}],
        "nvidia_driver_dcgm_version": dcgm,
        "nvidia_versions": CATALOGUE,
    }
    done = run_play(folder, role_tasks("monitoring", "assert.yml"), variables=given | variables)
    return done.output if done.code else ""


def test_the_exporter_of_another_dcgm_is_refused_with_both_versions(tmp_path: Path) -> None:
    printed = refusal(tmp_path, "4.8.2-1", "4.4.2")
    assert "DCGM exporter 4.8.2 is built for DCGM 4.5.3, but nvidia_driver_dcgm_version is 4.4.2" in " ".join(printed.split())


@pytest.mark.parametrize(
    ("exporter", "dcgm", "variables"),
    [
        ("4.7.0-1", "4.4.2", {}),
        ("4.9.0-1", "4.7.1", {}),
        ("9.9.9-1", "4.4.2", {}),
        ("4.8.2-1", "", {}),
        ("4.8.2-1", "4.4.2", {"nvidia_versions": {}}),
        ("4.8.2-1", "4.4.2", {"monitoring_packages": []}),
    ],
    ids=["pair", "one of two", "unknown release", "no DCGM declared", "no catalogue", "no exporter"],
)
def test_others_are_accepted(exporter: str, dcgm: str, variables: dict[str, Any], tmp_path: Path) -> None:
    assert refusal(tmp_path, exporter, dcgm, **variables) == ""


@pytest.mark.parametrize(
    "profile", ["profile_hgx_a100_ib", "profile_hgx_h100_ib", "profile_hgx_b200_roce", "profile_gb200_nvl72", "profile_gb300_nvl72"]
)
def test_the_profiles_declare_pairs(profile: str) -> None:
    roles = declared_profile(profile).roles
    (version,) = [p["version"] for p in roles["monitoring"]["monitoring_packages"] if p["name"] == EXPORTER]
    assert roles["nvidia_driver"]["nvidia_driver_dcgm_version"] in CATALOGUE["dcgm_exporters"][version.rpartition("-")[0]]
