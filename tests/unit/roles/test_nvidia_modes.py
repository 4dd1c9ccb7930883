"""GPU modes: refused input, remaining changes, and the boot script."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import jinja2
import pytest

from support.filters import filter_plugin
from support.gpu_node import GROUP_VARS, declared
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

plugin = filter_plugin("nvidia_modes")
CATALOGUE = load_yaml((GROUP_VARS / "all" / "nvidia_versions.yml").read_text())["nvidia_versions"]
VERSIONS = {"driver": "580.126.20", "fabric_manager": "580.126.20", "imex": "", "nvlsm": "", "persistenced": "580.126.20"}
HGX = {
    "fabric": "fabricmanager",
    "kernel_module": "open",
    "architecture": "hopper",
    "gsp_firmware": "enabled",
    "mig": "disabled",
    "ecc": "enabled",
    "power_limit_w": 700,
    "parameters": {},
}
GPUS = "0, 700.00, 200.00, 700.00, Disabled, Enabled, Enabled\n1, 650.00, 200.00, 700.00, Enabled, Disabled, Disabled\n"
TEMPLATE = ROOT / "roles" / "nvidia_driver" / "templates" / "clusterctl-gpu-settings.j2"
SMI = """#!/bin/sh
echo "$*" >>"$LOG"
case "$*" in
  *query-gpu*) printf '0, Disabled\\n1, Enabled\\n2, [N/A]\\n' ;;
  *power-limit=9999*) exit 2 ;;
esac
exit ${FAIL:-0}
"""


@pytest.mark.parametrize(
    ("modes", "versions", "reason"),
    [
        ({"gsp_firmware": "disabled"}, {}, "the open kernel module requires GSP firmware"),
        ({"parameters": {"NVreg_EnableGpuFirmware": 1}}, {}, "use nvidia_driver_gsp_firmware instead"),
        ({"power_limit_w": -1}, {}, "is negative"),
        ({"power_limit_w": 701}, {}, "no board with hopper GPUs allows 701 W; the maximum is 700 W"),
        ({"fabric": "imex"}, {}, "no version of IMEX is declared"),
        ({"fabric": "none"}, {}, "the fabric manager 580.126.20 is declared, but nvidia_driver_fabric is none"),
        ({}, {"fabric_manager": ""}, "no version of the fabric manager is declared"),
        ({}, {"imex": "580.126.20"}, "IMEX 580.126.20 is declared, but nvidia_driver_fabric is fabricmanager"),
        ({"architecture": "grace_blackwell"}, {}, "grace_blackwell GPUs do not support fabric fabricmanager, only imex and none"),
        ({"architecture": "ada", "mig": "enabled"}, {}, "ada GPUs do not support MIG"),
        ({"architecture": "blackwell"}, {}, "blackwell boards need nvlsm"),
        ({}, {"nvlsm": "2025.10.12"}, "nvlsm 2025.10.12 is declared, but hopper boards have no NVSwitches that it supports"),
        (
            {"architecture": "grace_blackwell", "fabric": "imex"},
            {"fabric_manager": "", "imex": "580.126.20", "nvlsm": "2025.10.12"},
            "nvlsm 2025.10.12 is declared, but nvidia_driver_fabric is imex",
        ),
        (
            {"architecture": "", "fabric": "none"},
            {"fabric_manager": "", "nvlsm": "2025.10.12"},
            "nvlsm 2025.10.12 is declared, but nvidia_driver_fabric is none",
        ),
    ],
)
def test_impossible_input_is_refused(modes: dict[str, Any], versions: dict[str, str], reason: str) -> None:
    errors = plugin.mode_errors({**HGX, **modes}, {**VERSIONS, **versions}, CATALOGUE)
    assert any(reason in e for e in errors), errors


@pytest.mark.parametrize(
    ("modes", "versions"),
    [
        ({"architecture": "blackwell"}, {"nvlsm": "2025.10.12"}),
        ({"architecture": "blackwell", "fabric": "none"}, {"fabric_manager": ""}),
        ({"architecture": "grace_blackwell", "fabric": "imex"}, {"fabric_manager": "", "imex": "580.126.20"}),
        ({"architecture": ""}, {"nvlsm": "2025.10.12"}),
    ],
)
def test_the_subnet_manager_where_it_is_supported(modes: dict[str, Any], versions: dict[str, str]) -> None:
    assert plugin.mode_errors({**HGX, **modes}, {**VERSIONS, **versions}, CATALOGUE) == []


def test_the_profile_has_the_values_of_this_test() -> None:
    said = declared("nvidia_driver")
    assert {name: said[f"nvidia_driver_{name}"] for name in HGX if name not in ("architecture", "parameters")} == {
        name: value for name, value in HGX.items() if name not in ("architecture", "parameters")
    }
    assert plugin.mode_errors(HGX, VERSIONS, CATALOGUE) == []


def test_empty_and_zero_require_nothing() -> None:
    nothing = {"mig": "", "ecc": ""}
    gpus = plugin.gpu_modes(GPUS)
    assert plugin.mode_errors({**HGX, **nothing, "gsp_firmware": "", "power_limit_w": 0, "architecture": ""}, VERSIONS, {}) == []
    assert plugin.other_modes(gpus, nothing) == plugin.other_pending_ecc(gpus, "") == plugin.other_power(gpus, 0) == []
    assert plugin.power_errors(gpus, 0) == []
    assert plugin.gsp_parameter("") == {}


def test_remaining_changes() -> None:
    gpus = plugin.gpu_modes(GPUS)
    assert plugin.other_modes(gpus, HGX) == plugin.other_power(gpus, 700) == plugin.other_pending_ecc(gpus, "enabled") == ["1"]
    assert plugin.other_modes(gpus, {"mig": "enabled", "ecc": ""}) == ["0"]
    assert plugin.power_errors(gpus, 701) == [f"GPU {g} allows 200.00 to 700.00 W, not 701 W" for g in (0, 1)]
    assert [plugin.gsp_parameter(w) for w in ("enabled", "disabled")] == [{"NVreg_EnableGpuFirmware": n} for n in (1, 0)]


def test_a_gpu_that_has_no_such_mode() -> None:
    gpus = plugin.gpu_modes("0, [N/A], [N/A], [N/A], [N/A], Enabled, Enabled\n")
    assert plugin.other_modes(gpus, HGX) == []
    assert plugin.other_modes(gpus, {"mig": "enabled", "ecc": ""}) == ["0"]
    assert plugin.power_errors(gpus, 300) == ["GPU 0 allows ? to ? W, not 300 W"]


def test_an_unexpected_answer_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a row of a GPU"):
        plugin.gpu_modes("No devices were found\n")


def boot(folder: Path, mig: str, watts: int, **environment: str) -> tuple[int, list[str]]:
    """Run the rendered script with a recording nvidia-smi; exit code and arguments of the calls."""
    folder.mkdir(exist_ok=True)
    env = jinja2.Environment(trim_blocks=True, autoescape=False)  # noqa: S701 a shell script
    script = env.from_string(TEMPLATE.read_text()).render(nvidia_driver_mig=mig, nvidia_driver_power_limit_w=watts)
    (folder / "script").write_text(script)
    (folder / "nvidia-smi").write_text(SMI)
    (folder / "nvidia-smi").chmod(0o755)
    paths = {"PATH": f"{folder}:/usr/bin:/bin", "LOG": str(folder / "log")}
    done = subprocess.run(["sh", str(folder / "script")], env=paths | environment, check=False, capture_output=True)
    log = folder / "log"
    return done.returncode, [line for line in log.read_text().splitlines() if "query" not in line] if log.exists() else []


def test_the_boot_script_changes_only_gpus_that_differ(tmp_path: Path) -> None:
    assert boot(tmp_path / "a", "disabled", 650) == (0, ["--id=1 --multi-instance-gpu=0", "--power-limit=650"])
    assert boot(tmp_path / "b", "enabled", 0) == (0, ["--id=0 --multi-instance-gpu=1", "--id=2 --multi-instance-gpu=1"])
    assert boot(tmp_path / "c", "", 650) == (0, ["--power-limit=650"])


def test_the_boot_script_fails_where_nvidia_smi_does(tmp_path: Path) -> None:
    assert boot(tmp_path / "a", "disabled", 0, FAIL="9")[0] == 9
    assert boot(tmp_path / "b", "", 9999)[0] == 2
