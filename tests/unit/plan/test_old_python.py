"""The series of ansible-core that are supported, and nodes whose Python is too old for the one on the controller."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.store import Store
from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.core.ansible_series import NODE_PYTHON, REQUIREMENT, is_older, oldest_node_python
from clusterctl.core.plan import make_plan
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.plan import PlannedAction
from clusterctl.model.provision import ProvisionOptions
from clusterctl.workflows.provision import check
from clusterctl_validators.finding import Outcome
from support.roles import ROOT
from support.stores import a_finding, a_node, findings

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.model.plan import NodePlan

NODE = a_node("r12-n01")


def plan_on(controller: str, python: str, outcome: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NodePlan:
    monkeypatch.setattr(check, "version", lambda _: controller)
    said = replace(findings(a_finding(outcome), node=NODE.name), python=python)
    with Store.open(f"sqlite:///{tmp_path}/state.db") as store:
        store.register([NODE])
        (planned,) = make_plan(
            check.plan_inputs(store, [NODE], {NODE.name: said}, lambda _: (), {}), ProvisionOptions(), read_traits(())
        ).nodes
    return planned


@pytest.mark.parametrize(
    ("controller", "python", "refused"),
    [
        ("2.19.14", "3.8.18", False),
        ("2.21.5", "3.8.18", True),
        ("2.20.0", "3.8.10", True),
        ("2.21.5", "3.9.2", False),
        ("2.21.5", "", False),
    ],
)
def test_a_node_that_ansible_cannot_change_is_refused_before_it_leaves_the_pool(
    controller: str, python: str, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = plan_on(controller, python, Outcome.FAIL, tmp_path, monkeypatch)
    assert (planned.action is PlannedAction.REFUSE) is refused
    if refused:
        assert planned.exit_code is ExitCode.USAGE
        (reason,) = planned.reasons
        assert reason.text == f"its Python {python} is too old: this controller's ansible-core needs 3.9 or later on nodes"
        assert "ansible_python_interpreter" in reason.hint


@pytest.mark.parametrize(
    ("python", "oldest", "expected"),
    [("3.8.18", "3.9", True), ("3.10.12", "3.9", False), ("3.9.0rc1", "3.9", False), ("", "3.9", False), ("3.6", "", False)],
)
def test_versions_are_compared_as_numbers(python: str, oldest: str, expected: bool) -> None:
    assert is_older(python, oldest) is expected


def test_a_series_that_is_not_supported_is_unknown() -> None:
    assert [oldest_node_python(v) for v in ("2.18.6", "2.19.14", "2.21.5", "2.22.0")] == ["", "3.8", "3.9", ""]


def test_the_supported_series_are_those_of_the_package() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert REQUIREMENT in declared
    _, first, after = REQUIREMENT.replace(",", "").replace("<", ">=").split(">=")
    minors = range(int(first.split(".")[1]), int(after.split(".")[1]))
    assert list(NODE_PYTHON) == [f"2.{minor}" for minor in minors]


@pytest.mark.parametrize("name", ["runtime", "dev"])
def test_each_lock_has_the_newest_series_for_every_python(name: str) -> None:
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    found = {
        line.split("==")[1].split()[0].rpartition(".")[0]: line.partition(" ; ")[2].strip(" \\")
        for line in lines
        if line.startswith("ansible-core==")
    }
    assert found == {min(NODE_PYTHON): "python_full_version < '3.12'", max(NODE_PYTHON): "python_full_version >= '3.12'"}
