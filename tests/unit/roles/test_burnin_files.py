"""The files of a burn-in come to the node in one task: as they are, for root alone, without a name that leads elsewhere."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any

import pytest

from support.filters import module_plugin
from support.local_play import run_play
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

module = module_plugin("burnin_files")
TASKS: list[dict[str, Any]] = load_yaml((ROOT / "roles/burnin/tasks/measure.yml").read_text())
PLAN = json.dumps({"node": "n1", "token": "5f" * 32, "words": ["{{ 1 + 1 }}", "ü"]}) + "\n\n"


def copied(tmp_path: Path, *words: str) -> Path:
    """The folder on the node after the role's own task ran, and its one change."""
    (tmp_path / "plans").mkdir(exist_ok=True)
    (tmp_path / "plans" / "localhost.json").write_text(PLAN)
    (task,) = (t for t in TASKS if "clusterctl.gpu.burnin_files" in t)
    variables = {
        "role_path": str(ROOT / "roles" / "burnin"),
        "burnin_agent_dir": str(tmp_path / "node" / "burnin"),
        "burnin_run": "r1",
        "burnin_plan_dir": str(tmp_path / "plans"),
    }
    done = run_play(tmp_path, [task], *words, variables=variables)
    assert done.code == 0, done.output
    assert "5f5f" not in done.output
    return tmp_path / "node" / "burnin" / "r1"


def test_the_node_gets_every_program_and_its_plan_for_root_alone(tmp_path: Path) -> None:
    folder = copied(tmp_path, "-vvv")
    sources = {p.name: p.read_bytes() for p in (ROOT / "roles" / "burnin" / "files").glob("*.py")}
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == {**sources, "plan.json": PLAN.encode()}
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_what_is_there_is_written_only_where_it_differs(tmp_path: Path) -> None:
    module.write(tmp_path / "run", {"a": "1", "b": "2"})
    (tmp_path / "run" / "records.jsonl").write_text("kept")
    assert module.different(tmp_path / "run", {"a": "1", "b": "3", "c": ""}) == ["b", "c"]
    module.write(tmp_path / "run", {"b": "3", "c": ""})
    assert {p.name: p.read_text() for p in (tmp_path / "run").iterdir()} == {"a": "1", "b": "3", "c": "", "records.jsonl": "kept"}


@pytest.mark.parametrize("name", ["../a", "a/b", "/etc/passwd", "a/", "", ".", ".."])
def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a file"):
        module.different(tmp_path, {"ok": "", name: ""})


def test_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("x")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "plan.json").symlink_to(target)
    assert module.different(tmp_path / "run", {"plan.json": "x"}) == ["plan.json"]
    module.write(tmp_path / "run", {"plan.json": "new"})
    assert (target.read_text(), (tmp_path / "run" / "plan.json").is_symlink()) == ("x", False)
