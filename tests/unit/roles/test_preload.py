"""What each task of a play would load is loaded once, before the first task."""

from __future__ import annotations

import importlib.util
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from support.local_play import run_play
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FILTER = """
import os
with open({log!r}, "a", encoding="utf-8") as file:
    file.write(f"{{os.getpid()}}\\n")


class FilterModule:
    def filters(self):
        return {{"{name}": lambda value: value * 2}}
"""
TASKS = [{"ansible.builtin.assert": {"that": "'ab' | clusterctl.gpu.twice == 'abab'"}} for _ in range(4)]
PRELOAD = {"ANSIBLE_CALLBACKS_ENABLED": "clusterctl.gpu.preload"}


def loaded(tmp_path: Path, broken: str = "", **environment: str) -> list[str]:
    """The processes that loaded the files of the collection's filters, two of them, in a play of four tasks."""
    plugins = tmp_path / "collections" / "ansible_collections" / "clusterctl" / "gpu" / "plugins"
    (plugins / "filter").mkdir(parents=True)
    (plugins / "callback").mkdir()
    shutil.copy(ROOT / "plugins" / "callback" / "preload.py", plugins / "callback")
    log = tmp_path / "log"
    for name in ("other", "twice"):
        text = FILTER.format(log=str(log), name=name) + (broken if name == "other" else "")
        (plugins / "filter" / f"{name}_file.py").write_text(text)
    done = run_play(tmp_path, TASKS, environment={"ANSIBLE_COLLECTIONS_PATH": str(tmp_path / "collections"), **environment})
    assert done.code == 0, done.output
    return log.read_text().split()


def test_the_collections_filters_are_loaded_once(tmp_path: Path) -> None:
    assert len(loaded(tmp_path, **PRELOAD)) == 2


def test_without_it_every_task_loads_all_of_them(tmp_path: Path) -> None:
    """The reason for it: as soon as Ansible does better, it can go."""
    # run_play enables the plug-in, and Ansible refuses an empty list; this one is loaded anyway.
    assert len(loaded(tmp_path, ANSIBLE_CALLBACKS_ENABLED="ansible.builtin.default")) == 2 * len(TASKS)


@pytest.mark.parametrize("broken", ["\nraise RuntimeError", "\nimport no_such_module", "\nthis is a syntax error"])
def test_a_file_that_cannot_be_loaded_ends_nothing(tmp_path: Path, broken: str) -> None:
    assert loaded(tmp_path, broken, **PRELOAD)


def test_a_module_is_packed_once_where_a_folder_keeps_it(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    plugins = tmp_path / "collections" / "ansible_collections" / "clusterctl" / "gpu" / "plugins" / "callback"
    plugins.mkdir(parents=True)
    shutil.copy(ROOT / "plugins" / "callback" / "preload.py", plugins)
    environment = {**PRELOAD, "ANSIBLE_COLLECTIONS_PATH": str(tmp_path / "collections"), "CLUSTERCTL_BUILT_MODULES": str(kept)}
    word = "secret-word"

    def run() -> dict[str, int]:
        done = run_play(tmp_path, [{"ansible.builtin.command": {"argv": ["echo", word]}}], environment=environment)
        assert done.code == 0, done.output
        assert kept.stat().st_mode & 0o777 == 0o700
        return {p.name: p.stat().st_mtime_ns for p in kept.iterdir() if p.suffix != ".lock"}

    packed = run()
    assert any("command" in name for name in packed)
    assert run() == packed
    assert not any(word.encode() in p.read_bytes() for p in kept.iterdir())


@pytest.mark.parametrize(("free_mib", "kept"), [(0, False), (63, False), (64, True)])
def test_a_disk_that_is_almost_full_keeps_no_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_mib: int, kept: bool) -> None:
    """A module that could not be written would fail its task."""
    spec = importlib.util.spec_from_file_location("preload_plugin", ROOT / "plugins" / "callback" / "preload.py")
    assert spec
    assert spec.loader
    plugin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
    monkeypatch.setattr(plugin.constants, "DEFAULT_LOCAL_TMP", str(tmp_path), raising=False)
    monkeypatch.setenv("CLUSTERCTL_BUILT_MODULES", str(tmp_path / "kept"))
    block = 4096
    disk = os.statvfs_result((block, block, 1 << 20, free_mib << 8, free_mib << 8, 0, 0, 0, 0, 255))
    monkeypatch.setattr(plugin.os, "statvfs", lambda _: disk)
    plugin._share_built_modules()
    assert (tmp_path / "ansiballz_cache").is_symlink() is kept
