"""What a former user left in the operating system, and what a healthy node has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators import os_left_behind
from clusterctl_validators import test_os_tuning as module
from clusterctl_validators.finding import Outcome
from clusterctl_validators.probe import CommandResult, ProbeError
from support.checks import InventedNode, run_some_checks, write_files
from support.plain_yaml import load_yaml
from support.roles import ROOT, load_role

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl_validators.finding import Finding

CASES: list[dict[str, Any]] = load_yaml((ROOT / "tests" / "cases" / "left_behind" / "system.yml").read_text())
DEFAULTS = load_role(ROOT / "roles" / "os_tuning").defaults
CPU = "/sys/devices/system/cpu"
FILES = {
    f"{CPU}/present": "0-1\n",
    f"{CPU}/online": "0-1\n",
    f"{CPU}/smt/control": "on\n",
    **{f"{CPU}/cpufreq/policy{n}/{kind}_max_freq": "3800000\n" for n in (0, 1) for kind in ("scaling", "cpuinfo")},
    "/sys/fs/cgroup/system.slice/cpu.max": "max 100000\n",
    "/sys/fs/cgroup/system.slice/memory.max": "max\n",
    "/sys/class/net/eth0/device/vendor": "0x15b3\n",
    "/sys/class/net/cali1234/ifindex": "9\n",
}
NAMES = {one.name for one in (*os_left_behind.LEFTOVERS, os_left_behind.FULL_SPEED)}


def node_of(case: dict[str, Any], root: Path) -> dict[str, Finding]:
    files = {path: text for path, text in {**FILES, **case.get("files", {})}.items() if text is not None}
    shown = case.get("qdiscs", [])
    result = (
        CommandResult(None, error="not found")
        if shown is None
        else CommandResult(0, stdout=shown if isinstance(shown, str) else json.dumps(shown))
    )
    variables = {**DEFAULTS, "os_tuning_governor": "powersave" if case.get("saves_power") else "performance"}
    source = InventedNode(write_files(root, files), {"tc -j qdisc show": result})
    return run_some_checks(module, variables, source, ["test_left_behind"])


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["name"])
def test_what_is_found(case: dict[str, Any], tmp_path: Path) -> None:
    warned = {check.rpartition(".")[2]: f for check, f in node_of(case, tmp_path).items() if f.outcome is Outcome.WARN}
    assert set(warned) == set(case["found"])
    for name, words in case["found"].items():
        assert words in warned[name].found
        assert warned[name].hint


def test_none_of_them_holds_a_node_back(tmp_path: Path) -> None:
    """A site may have set each on purpose."""
    for place, case in enumerate(CASES):
        outcomes = {f.outcome for f in node_of(case, tmp_path / str(place)).values()}
        assert outcomes <= {Outcome.PASS, Outcome.WARN, Outcome.NOT_APPLICABLE}


def test_every_reading_has_a_case() -> None:
    assert {name for case in CASES for name in case["found"]} == NAMES


def test_an_output_of_tc_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="tc qdisc show"):
        node_of({"qdiscs": "[{"}, tmp_path)


@pytest.mark.parametrize(("text", "found"), [("", set()), ("0", {0}), ("0-2,5\n", {0, 1, 2, 5}), ("1,3-3", {1, 3})])
def test_a_list_of_cpus(text: str, found: set[int]) -> None:
    assert os_left_behind.cpu_numbers(text) == found
