"""scripts/role_table.py: the page matches the tree, and an empty cell without a reason is an error."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from support.roles import ROOT

if TYPE_CHECKING:
    from types import ModuleType


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("role_table", ROOT / "scripts" / "role_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


TABLE = script()


def test_every_role_of_this_tree_has_evidence_or_reasons() -> None:
    assert TABLE.build(ROOT).missing == []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the tree with the roles kernel and nccl only."""
    for name in ("kernel", "nccl"):
        (tmp_path / "roles" / name / "meta").mkdir(parents=True)
        (tmp_path / "roles" / name / "meta" / "argument_specs.yml").write_text("---\n")
        module = Path("validators/clusterctl_validators") / f"test_{name}.py"
        (tmp_path / module.parent).mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / module, tmp_path / module)
    for folder in ("molecule/os", "molecule/gpu"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "playbooks").mkdir()
    shutil.copy(ROOT / "playbooks" / "provision.yml", tmp_path / "playbooks")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "docs" / "reference").mkdir(parents=True)
    write(tree=tmp_path, kernel={"tested_with": "apt"}, nccl={"tested_with": "apt", "reasons": REASONS})
    return tmp_path


REASONS = {"validated running": "a file", "validated persisted": "a file"}


def write(tree: Path, **evidence: object) -> None:
    (tree / "scripts" / "role_evidence.yml").write_text(yaml.safe_dump(evidence))


def test_the_page_shows_evidence_from_the_tree(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert TABLE.main(["--check"], tree) == 1, "the page does not exist yet"
    assert TABLE.main([], tree) == 0
    assert TABLE.main(["--check"], tree) == 0
    text = (tree / "docs/reference/roles.md").read_text()
    assert "| `kernel` | yes | yes | yes | yes | yes | yes | `os` | apt |" in text
    assert "| `nccl` | yes | yes | yes | yes | no | no | `gpu` | apt |" in text
    assert "| `nccl` | validated running | a file |" in text
    capsys.readouterr()


def test_without_its_scenario_a_role_lacks_evidence(tree: Path) -> None:
    shutil.rmtree(tree / "molecule" / "os")
    missing = TABLE.build(tree).missing
    assert {m.split("`")[1] for m in missing} == {"check mode", "idempotent", "persists", "molecule"}
    assert TABLE.main([], tree) == 1


@pytest.mark.parametrize(("step", "column"), [("check", "check mode"), ("side_effect", "persists")], ids=["no check mode", "no reboot"])
def test_a_scenario_without_a_step_lacks_evidence_for_its_column(tree: Path, step: str, column: str) -> None:
    file = tree / "molecule" / "os" / "molecule.yml"
    file.write_text(file.read_text().replace(f" {step},", ""))
    assert TABLE.build(tree).missing == [f"kernel: `{column}` has neither evidence in the tree nor a reason"]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ({}, "tested_with: list the real components"),
        ({"tested_with": "apt", "reasons": {"persists": "x"}}, "remove the reason"),
        ({"tested_with": "apt", "reasons": {"colour": "x"}}, "`colour` is not a column"),
        ({"tested_with": "apt", "see": ["tests/nosuch.py"]}, "tests/nosuch.py does not exist"),
        ({"tested_with": "apt", "shown": {"persists": "scripts"}}, "a scenario already proves it"),
    ],
)
def test_invalid_evidence_is_reported(tree: Path, kernel: object, message: str) -> None:
    write(tree, kernel=kernel, nccl={"tested_with": "apt", "reasons": REASONS})
    missing = TABLE.build(tree).missing
    assert len(missing) == 1
    assert message in missing[0]


def test_evidence_for_an_unknown_role_is_reported(tree: Path) -> None:
    write(tree, kernel={"tested_with": "apt"}, nccl={"tested_with": "apt", "reasons": REASONS}, kernle={"tested_with": "x"})
    assert TABLE.build(tree).missing == ["kernle: unknown role"]
