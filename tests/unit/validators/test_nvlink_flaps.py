"""NVLinks that were lost since the driver was loaded, on outputs of `nvidia-smi nvlink -e` of both forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators import test_hardware as module
from clusterctl_validators.finding import Finding, Outcome, Severity
from clusterctl_validators.probe import CommandResult, Probe
from clusterctl_validators.record import Record
from clusterctl_validators.spec_view import SpecView
from support.checks import InventedNode
from support.gpu_node import declared, nvlinks
from support.nvlink_output import nvlink_counters
from support.plain_yaml import load_yaml
from support.recorded import recorded
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CASES = load_yaml((ROOT / "tests" / "cases" / "nvlink_flaps" / "cases.yml").read_text())
STATUS, COUNTERS = "nvidia-smi nvlink -s", "nvidia-smi nvlink -e"
MIG = "GPU {}: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\nNvlink queries are not supported for Devices in MIG mode\n"
AT = "hardware.gpu[{}].nvlink_flaps"
ALL = "hardware.gpus.nvlink_flaps"


class CountingNode(InventedNode):
    """Keeps the commands that it was asked for."""

    def __init__(self, root: Path, commands: dict[str, CommandResult | str]) -> None:
        super().__init__(root, commands)
        self.asked: list[str] = []

    def run(self, argv: Any, timeout_s: float) -> CommandResult:
        self.asked.append(" ".join(argv))
        return super().run(argv, timeout_s)


def check(
    root: Path, counters: CommandResult | str, status: CommandResult | str | None = None, **variables: Any
) -> tuple[dict[str, Finding], list[str]]:
    """The findings about flaps, and the commands that ran; the links' state and rate are judged before, as on a node."""
    node = CountingNode(root, {STATUS: nvlinks() if status is None else status, COUNTERS: counters})
    record, probe, spec = Record("hardware"), Probe(node), SpecView("hardware", declared("hardware", **variables))
    module.test_nvlinks(spec=spec, record=record, probe=probe)
    module.test_nvlink_flaps(spec=spec, record=record, probe=probe)
    return {f.check: f for f in record.findings if f.check.endswith("nvlink_flaps")}, node.asked


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["name"])
def test_losses_of_each_link(case: dict[str, Any], tmp_path: Path) -> None:
    output = nvlink_counters(case["generation"], case.get("links"), case.get("without"))
    limit = {"hardware_nvlink_flaps_max": case["max"]} if "max" in case else {}
    found, asked = check(tmp_path, output, **limit)
    expect = case.get("expect", {})
    passes = {gpu: ["pass", "none"] for gpu in range(8)}
    assert {c: [f.outcome.value, f.found or f.reason] for c, f in found.items()} == {
        AT.format(g): w for g, w in {**passes, **expect}.items()
    }
    assert {f.severity for f in found.values()} == {Severity.CRITICAL}
    assert {f.expected for f in found.values() if f.outcome is not Outcome.COULD_NOT_RUN} == {f"at most {case.get('max', 2)} of each link"}
    # One more command, and the one for the state of links serves both.
    assert asked == [STATUS, COUNTERS]


def test_the_hint_names_the_gpu_and_what_to_do(tmp_path: Path) -> None:
    found, _ = check(tmp_path, nvlink_counters(5, {"6.2": {"Total link recovery events": 9}}))
    assert found[AT.format(6)].hint.startswith("GPU 6: a link that is lost again and again fails for good")
    assert "reset all GPUs" in found[AT.format(6)].hint


@pytest.mark.parametrize(
    ("counters", "reason"),
    [
        (CommandResult(None, error="nvidia-smi: No such file or directory"), "No such file"),
        (CommandResult(None, error="timed out after 60 s"), "timed out"),
        (CommandResult(18, stdout="Failed to initialize NVML: Driver/library version mismatch\n"), "version mismatch"),
        ("", "no error counter of any NVLink"),
        ("".join(MIG.format(gpu) for gpu in range(8)), "no error counter of any NVLink"),
        (nvlink_counters()[:40], "no error counter of any NVLink"),
    ],
)
def test_counters_that_cannot_be_read_are_neither_pass_nor_failure(counters: CommandResult | str, reason: str, tmp_path: Path) -> None:
    found, _ = check(tmp_path, counters)
    assert {(c, f.outcome, f.severity) for c, f in found.items()} == {(ALL, Outcome.COULD_NOT_RUN, Severity.CRITICAL)}
    assert reason in found[ALL].reason


def test_an_output_that_was_cut_proves_nothing_about_the_gpus_after_it(tmp_path: Path) -> None:
    text = nvlink_counters()
    found, _ = check(tmp_path, text[: text.index("GPU 5")])
    assert {g for g in range(8) if found[AT.format(g)].outcome is Outcome.COULD_NOT_RUN} == {5, 6, 7}
    alone, _ = check(tmp_path, recorded("nvidia-smi/stas00-nvlink-e-h100.txt").read_text(), hardware_gpus=1)
    assert alone[AT.format(0)].reason.startswith("no losses are counted of link 2, 3")  # its author cut it


@pytest.mark.parametrize("variables", [{"hardware_gpu_nvlinks": 0}, {"hardware_gpus": 0}], ids=["PCIe cards", "no GPUs"])
def test_gpus_without_nvlink_are_not_asked(variables: dict[str, Any], tmp_path: Path) -> None:
    found, asked = check(tmp_path, "", **variables)
    assert {c: f.outcome for c, f in found.items()} == {ALL: Outcome.NOT_APPLICABLE}
    assert asked == []


@pytest.mark.parametrize(
    ("status", "inactive"),
    [
        ("".join(MIG.format(gpu) for gpu in range(8)), set(range(8))),
        (recorded("nvidia-smi/nvlink-s-b200-gpu2-all-inactive.txt").read_text(), set(range(8))),
        (nvlinks(7), {7}),
    ],
    ids=["MIG", "all inactive", "a GPU is missing"],
)
def test_where_no_link_is_active_that_is_the_finding(status: str, inactive: set[int], tmp_path: Path) -> None:
    found, asked = check(tmp_path, nvlink_counters(), status)
    assert {g for g in range(8) if found[AT.format(g)].outcome is Outcome.NOT_APPLICABLE} == inactive
    assert (COUNTERS in asked) is (len(inactive) < 8)


def test_a_tool_that_fails_for_both_questions_is_asked_once(tmp_path: Path) -> None:
    found, asked = check(tmp_path, "", CommandResult(9, stdout="NVIDIA-SMI has failed\n"))
    assert found[ALL].outcome is Outcome.COULD_NOT_RUN
    assert asked == [STATUS]
