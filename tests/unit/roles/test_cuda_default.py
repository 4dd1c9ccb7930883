"""The default toolkit: the role's tasks with real `update-alternatives`, with separate folders for each case."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from support.local_play import run_play

if TYPE_CHECKING:
    from pathlib import Path

TOOL = shutil.which("update-alternatives", path=f"{os.environ.get('PATH', '')}:/usr/bin:/usr/sbin")
pytestmark = pytest.mark.skipif(TOOL is None, reason="no update-alternatives on this machine")
WRAPPER = f'#!/bin/sh\nexec {TOOL} --altdir "$ALT/alternatives" --admindir "$ALT/admin" --log "$ALT/log" "$@"\n'
REGISTER = "update-alternatives --install {0}/cuda cuda {0}/cuda-12.8 128; update-alternatives --install {0}/cuda cuda {0}/cuda-13.0 130"
# What somebody did before the role runs.
CASES = {
    "nothing": "true",
    "another one kept": f"{REGISTER}; update-alternatives --set cuda {{0}}/cuda-12.8",
    "right today": f"{REGISTER}; update-alternatives --auto cuda",
    "led past": f"{REGISTER}; update-alternatives --set cuda {{0}}/cuda-13.0; ln -sfn {{0}}/cuda-12.8 {{0}}/cuda",
    "right today and led past": f"{REGISTER}; update-alternatives --auto cuda; ln -sfn {{0}}/cuda-12.8 {{0}}/cuda",
}


@dataclass(frozen=True)
class State:
    """The target of the link, whether it goes through the alternative, and the state of the alternative."""

    link: str
    leads_to: str
    mode: str


def shell(folder: Path, text: str) -> str:
    path = f"{folder.parent}:{os.environ['PATH']}"
    done = subprocess.run(["sh", "-c", text], env={"PATH": path, "ALT": str(folder)}, capture_output=True, text=True, check=False)
    return done.stdout


def state(folder: Path) -> State:
    link = folder / "cuda"
    said = re.match(r"cuda - (\w+) mode", shell(folder, "LANG=C update-alternatives --display cuda"))
    where = str(link.readlink()) if link.is_symlink() else "none"
    return State(where.removeprefix(str(folder)), link.resolve().name, said.group(1) if said else "none")


def lay(root: Path, name: str, before: str) -> Path:
    folder = root / name.replace(" ", "-")
    for part in ("alternatives", "admin", "cuda-12.8", "cuda-13.0"):
        (folder / part).mkdir(parents=True)
    shell(folder, before.format(folder))
    return folder


def play(root: Path, folders: list[Path], *options: str) -> tuple[int, str]:
    """Run the role's tasks on every folder; the number of changed tasks, and the output."""
    tasks = [
        {
            "name": folder.name,
            "ansible.builtin.include_role": {
                "name": "cuda",
                "tasks_from": "default",
                "apply": {"environment": {"ALT": str(folder), "PATH": f"{root}:{os.environ['PATH']}"}},
            },
            "vars": {
                "__cuda_link": f"{folder}/cuda",
                "__cuda_alternatives": f"{folder}/alternatives",
                "__cuda_package_differences": [],
                "cuda_default": "13.0",
            },
        }
        for folder in folders
    ]
    done = run_play(root, tasks, *options, environment={"ANSIBLE_PIPELINING": "1"})
    return done.changed, done.output


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "update-alternatives").write_text(WRAPPER)
    (tmp_path / "update-alternatives").chmod(0o755)
    return tmp_path


def test_the_default_is_the_declared_one_and_stays(root: Path) -> None:
    folders = {name: lay(root, name, before) for name, before in CASES.items()}
    before = {name: state(folder) for name, folder in folders.items()}
    good = State("/alternatives/cuda", "cuda-13.0", "manual")
    assert good not in before.values()
    assert before["right today"] == State("/alternatives/cuda", "cuda-13.0", "auto")
    assert before["led past"] == State("/cuda-12.8", "cuda-12.8", "manual")

    _, said = play(root, list(folders.values()), "--check")
    assert "failed=0" in said, said
    assert {name: state(folder) for name, folder in folders.items()} == before, "check mode touches nothing"
    changed, said = play(root, list(folders.values()))
    assert "failed=0" in said, said
    assert {name: state(folder) for name, folder in folders.items()} == dict.fromkeys(CASES, good)
    assert changed >= len(CASES)
    assert play(root, list(folders.values()))[0] == 0, "the second run changes nothing"

    for folder in folders.values():
        (folder / "cuda-13.2").mkdir()
        shell(folder, f"update-alternatives --install {folder}/cuda cuda {folder}/cuda-13.2 132")
    assert {name: state(folder) for name, folder in folders.items()} == dict.fromkeys(CASES, good), "a newer toolkit does not take the link"


def test_a_folder_at_the_path_of_the_link_is_not_changed(root: Path) -> None:
    folder = lay(root, "by hand", "mkdir {0}/cuda; touch {0}/cuda/nvcc")
    _, said = play(root, [folder])
    assert "failed=1" in said
    assert "is not a link: a toolkit was installed there out of band" in said
    assert (folder / "cuda" / "nvcc").exists()
