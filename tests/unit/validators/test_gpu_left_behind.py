"""Modes of GPUs and parameters that a former user left and no role sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators import test_nvidia_driver as module
from clusterctl_validators.finding import QUIET, Finding
from clusterctl_validators.probe import CommandResult
from support.checks import run_checks, write_files
from support.gpu_node import BOOTED, JOURNAL, QUERY, declared, edit_gpu, smi_xml, systemctl, unit, without_gpus
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CASES: list[dict[str, Any]] = load_yaml((ROOT / "tests" / "cases" / "left_behind" / "gpus.yml").read_text())
OURS = (
    "compute_mode",
    "power_profiles",
    "conf_compute",
    "memory_zone",
    "mps",
    "parameters.undeclared",
    "peermem.persisted",
    "peermem.blacklisted",
)
OFF = {"CC State": "OFF", "CC GPUs Ready State": "Ready"}


def node_of(case: dict[str, Any], root: Path) -> dict[str, Finding]:
    xml = smi_xml()
    for index, mode in case.get("modes", {}).items():
        xml = edit_gpu(xml, index, {"<compute_mode>Default<": f"<compute_mode>{mode}<"})
    for index, profile in case.get("profiles", {}).items():
        xml = edit_gpu(xml, index, {"requested_profiles>N/A<": f"requested_profiles>{profile}<"})
    conf, mps = case.get("conf", OFF), case.get("mps", "")
    text = conf if isinstance(conf, str) else "".join(f"    {name:<27}: {value}\n" for name, value in conf.items())
    commands: dict[str, CommandResult | str] = {
        QUERY: without_gpus(xml, *case.get("lost", [])),
        "nvidia-smi conf-compute -q": text,
        "pgrep -x nvidia-cuda-mps": CommandResult(None, error="not found") if mps is None else CommandResult(0 if mps else 1, stdout=mps),
        **({} if case.get("no_log") else {JOURNAL: BOOTED + f"2026-11-20T08:00:20+00:00 kernel: {case.get('log', 'NVRM: loading')}\n"}),
        **{systemctl(f"nvidia-{name}.service"): unit() for name in ("imex", "fabricmanager", "persistenced", "dcgm")},
        systemctl("clusterctl-gpu-settings.service"): unit(),
    }
    functions = {
        f"/sys/bus/pci/devices/0000:{8 * i:02x}:00.0/{name}": text
        for i in range(8)
        for name, text in (("vendor", "0x10de\n"), ("class", "0x030200\n"))
    }
    files = {module.PEERMEM_FILE: "nvidia-peermem\n", "/sys/module/nvidia_peermem/refcnt": "0", **functions, **case.get("files", {})}
    return run_checks(module, declared("nvidia_driver", nvidia_driver_packages=[]), write_files(root, files), commands)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["name"])
def test_what_is_found(case: dict[str, Any], tmp_path: Path) -> None:
    findings = node_of(case, tmp_path)
    found = {name: f for name in OURS if (f := findings.get(f"nvidia_driver.{name}")) and f.outcome not in QUIET}
    assert {name: f.outcome.value for name, f in found.items()} == {name: outcome for name, (outcome, _) in case["found"].items()}
    for name, (_, words) in case["found"].items():
        assert words in found[name].found
        assert found[name].hint


def test_the_role_changes_none_of_them() -> None:
    assert set(module.BEYOND_ROLE) == {f"nvidia_driver.{name}" for name in ("compute_mode", "conf_compute", "memory_zone", "*.blacklisted")}


@pytest.mark.parametrize(
    ("name", "log"),
    [
        ("conf_compute", "NVRM: GPU0 confComputeConstructEngine_IMPL: CPU does not support confidential compute."),
        ("memory_zone", "NVRM: GPU memory zone movable auto onlining failed!"),
    ],
)
def test_without_an_answer_of_nvidia_smi(name: str, log: str, tmp_path: Path) -> None:
    """All GPUs refused: `No devices were found`, and the next action is not to replace them."""
    finding = node_of({"lost": range(8), "log": log}, tmp_path)[f"nvidia_driver.{name}"]
    assert (finding.outcome.value, "not defective" in finding.hint) == ("fail", True)


@pytest.mark.parametrize("name", ["conf_compute", "memory_zone"])
@pytest.mark.parametrize(("lost", "outcome"), [([7], "could_not_run"), ([], "pass")])
def test_a_log_that_cannot_be_read_refuses_and_clears_nothing(name: str, lost: list[int], outcome: str, tmp_path: Path) -> None:
    """Where all GPUs are there, the log does not matter."""
    assert node_of({"lost": lost, "no_log": True}, tmp_path)[f"nvidia_driver.{name}"].outcome.value == outcome
