"""GSP firmware, MIG, ECC, power limit and fabric of the driver's role, against recordings of several boards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_tools import nvidia_smi
from clusterctl_validators import gpu_modes
from clusterctl_validators import test_nvidia_driver as module
from clusterctl_validators.finding import GOOD, Finding, Outcome
from clusterctl_validators.probe import CommandResult
from support.checks import run_checks, write_files
from support.gpu_node import QUERY, declared, edit_gpu, smi_xml, systemctl, unit
from support.recorded import recorded

if TYPE_CHECKING:
    from pathlib import Path

ONES = ("mig", "ecc", "gsp_firmware", "power_limit_w", "gpu_settings", "gpu_modes", "imex", "fabricmanager")
SCRIPT = '#!/bin/sh\n    *) nvidia-smi --id="$index" --multi-instance-gpu=0 ;;\nnvidia-smi --power-limit=700\n'
NO_UNIT = "LoadState=not-found\nActiveState=inactive\nUnitFileState=\n"
FILES = {gpu_modes.SCRIPT: SCRIPT, gpu_modes.UNIT_FILE: f"[Service]\nExecStart={gpu_modes.SCRIPT}\n"}


def check(
    root: Path, xml: str, files: dict[str, str] | None = None, outputs: dict[str, Any] | None = None, **variables: Any
) -> dict[str, str]:
    """Findings of modes and fabric that did not pass."""
    commands: dict[str, CommandResult | str] = {
        QUERY: xml,
        systemctl(gpu_modes.UNIT): unit(),
        systemctl("nvidia-imex.service"): NO_UNIT,
        systemctl("nvidia-fabricmanager.service"): unit(),
        f"stat -c %U %a {gpu_modes.SCRIPT}": "root 755\n",
        f"stat -c %U %a {gpu_modes.UNIT_FILE}": "root 644\n",
        **{systemctl(f"nvidia-{name}.service"): unit() for name in ("persistenced", "dcgm")},
        **(outputs or {}),
    }
    findings = run_checks(
        module,
        declared("nvidia_driver", **{"nvidia_driver_packages": [], **variables}),
        write_files(root, {**FILES, **(files or {})}),
        commands,
    )
    return {name.removeprefix("nvidia_driver."): text(f) for name, f in findings.items() if f.outcome not in GOOD and ours(name)}


def ours(name: str) -> bool:
    return any(part in name.replace("[", ".").split(".") for part in ONES)


def text(finding: Finding) -> str:
    return finding.found if finding.outcome is Outcome.FAIL else "could not run"


def test_a_recorded_node_has_the_modes_of_its_profile(tmp_path: Path) -> None:
    assert check(tmp_path, smi_xml()) == {}


@pytest.mark.parametrize(
    ("edits", "faults"),
    [
        ({"<current_mig>Disabled": "<current_mig>Enabled"}, {"gpu[3].mig.running": "enabled"}),
        ({"<pending_mig>Disabled": "<pending_mig>Enabled"}, {"gpu[3].mig.pending": "enabled"}),
        ({"<current_ecc>Enabled": "<current_ecc>Disabled"}, {"gpu[3].ecc.running": "disabled"}),
        ({"<pending_ecc>Enabled": "<pending_ecc>Disabled"}, {"gpu[3].ecc.pending": "disabled"}),
        ({"<pending_ecc>Enabled": "<pending_ecc>N/A"}, {"gpu[3].ecc.pending": "could not run"}),
        ({"<current_power_limit>700.00": "<current_power_limit>650.00"}, {"gpu[3].power_limit_w": "650"}),
        ({"<current_power_limit>700.00 W": "<current_power_limit>N/A"}, {"gpu[3].power_limit_w": "could not run"}),
        ({"<gsp_firmware_version>590.48.01": "<gsp_firmware_version>N/A"}, {"gpu[3].gsp_firmware": "disabled"}),
    ],
)
def test_one_gpu_differs(edits: dict[str, str], faults: dict[str, str], tmp_path: Path) -> None:
    assert check(tmp_path, edit_gpu(smi_xml(), 3, edits)) == faults


def test_a_declared_limit_outside_the_range_of_the_board_fails(tmp_path: Path) -> None:
    xml = recorded("nvidia-smi/qx-hardware/qx-l40s.xml").read_text()
    assert check(tmp_path, xml, nvidia_driver_power_limit_w=700)["gpu[0].power_limit_w"] == "350"


def test_a_board_without_mig_has_it_disabled(tmp_path: Path) -> None:
    xml = recorded("nvidia-smi/qx-hardware/qx-l40s.xml").read_text()
    assert "gpu[0].mig.running" not in check(tmp_path, xml)
    assert check(tmp_path / "on", xml, nvidia_driver_mig="enabled")["gpu[0].mig.running"] == "disabled"


def test_mig_enabled_as_recorded(tmp_path: Path) -> None:
    xml = recorded("nvidia-smi/telegraf-a100-sxm4-v12.xml").read_text()
    gpus = nvidia_smi.parse_query(xml).gpus
    assert {(g.mig_current, g.mig_pending, g.power_min_w, g.power_max_w) for g in gpus} == {("Enabled", "Enabled", 100.0, 500.0)}
    faults = check(tmp_path, xml, nvidia_driver_power_limit_w=0)
    assert {name for name in faults if ".mig." in name} == {"gpu[0].mig.running", "gpu[0].mig.pending"}


def test_nothing_declared_queries_no_gpu(tmp_path: Path) -> None:
    xml = edit_gpu(smi_xml(), 0, {"<current_ecc>Enabled": "<current_ecc>Disabled", "<current_mig>Disabled": "<current_mig>Enabled"})
    free: dict[str, Any] = {f"nvidia_driver_{name}": "" for name in ("gsp_firmware", "mig", "ecc")}
    assert check(tmp_path, xml, nvidia_driver_power_limit_w=0, **free) == {"gpu_settings.unit": "present"}


@pytest.mark.parametrize(
    ("files", "faults"),
    [
        ({gpu_modes.SCRIPT: SCRIPT.replace("700", "500")}, {"gpu_settings.power_limit_w.persisted": "500"}),
        ({gpu_modes.SCRIPT: SCRIPT.replace("gpu=0", "gpu=1")}, {"gpu_settings.mig.persisted": "enabled"}),
        ({gpu_modes.SCRIPT: "#!/bin/sh\n"}, {"gpu_settings.mig.persisted": "not set", "gpu_settings.power_limit_w.persisted": "0"}),
        ({gpu_modes.UNIT_FILE: "[Service]\nExecStart=/bin/true\n"}, {"gpu_settings.unit.starts": "/bin/true"}),
    ],
)
def test_settings_of_the_next_boot(files: dict[str, str], faults: dict[str, str], tmp_path: Path) -> None:
    assert check(tmp_path, smi_xml(), files) == faults


def test_states_of_units(tmp_path: Path) -> None:
    outputs = {
        systemctl(gpu_modes.UNIT): unit("failed", "disabled"),
        systemctl("nvidia-imex.service"): unit("inactive", "enabled"),
        f"stat -c %U %a {gpu_modes.SCRIPT}": "root 644\n",
    }
    assert check(tmp_path, smi_xml(), outputs=outputs) == {
        "gpu_settings.service.running": "failed",
        "gpu_settings.service.persisted": "disabled",
        "gpu_settings.script.mode": "root 644",
        "imex.off": "inactive enabled",
    }


def test_a_tray_of_a_rack_runs_imex_and_no_fabric_manager(tmp_path: Path) -> None:
    xml = recorded("nvidia-smi/qx-hardware/qx-gb300.xml").read_text()
    variables = {
        "nvidia_driver_fabric": "imex",
        "nvidia_driver_fabric_manager_version": "",
        "nvidia_driver_imex_version": "580.126.20",
        "nvidia_driver_power_limit_w": 0,
    }
    outputs: dict[str, Any] = {
        "nvidia-imex --version": "IMEX version is: 580.159.04\n",
        systemctl("nvidia-imex.service"): unit("active", "disabled"),
    }
    assert check(tmp_path, xml, {gpu_modes.SCRIPT: SCRIPT.replace("nvidia-smi --power-limit=700", "")}, outputs, **variables) == {
        "fabricmanager.off": "active enabled",
        "imex.version": "580.159.04",
    }


def test_no_answer_is_not_a_pass(tmp_path: Path) -> None:
    outputs = {QUERY: CommandResult(9, stdout="NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n")}
    assert check(tmp_path, "", outputs=outputs)["gpu_modes"] == "could not run"
