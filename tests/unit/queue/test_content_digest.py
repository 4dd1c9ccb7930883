"""The digest of a worker's content follows every file that decides what a run does, and no path of the machine."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.config import read_config
from clusterctl.adapters.content_digest import content_digest

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "inventory/hosts.yml": "all: {hosts: {n1: {}}}\n",
    "roles/extra/tasks/main.yml": "[]\n",
    "validators/test_extra.py": "WRITABLE = ()\n",
    "plugins/own_gate.py": "LIMIT = 1\n",
}


def site(folder: Path) -> Path:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "clusterctl.yml").write_text("inventory: [inventory]\n")
    return folder


def digest(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(folder)
    return content_digest(read_config())


def test_two_checkouts_of_one_site_are_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = site(tmp_path / "here")
    shutil.copytree(here, tmp_path / "there")
    (here / "state").mkdir()
    (here / "state" / "clusterctl.db").write_text("x")
    assert digest(here, monkeypatch) == digest(tmp_path / "there", monkeypatch)


@pytest.mark.parametrize("name", FILES)
def test_each_file_counts(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = site(tmp_path)
    before = digest(folder, monkeypatch)
    (folder / name).write_text(FILES[name] + "# changed\n")
    assert digest(folder, monkeypatch) != before
    (folder / name).write_text(FILES[name])
    assert digest(folder, monkeypatch) == before
    (folder / name).rename((folder / name).with_name(f"other_{name.rpartition('/')[2]}"))
    assert digest(folder, monkeypatch) != before


def test_a_layer_that_is_a_file_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site(tmp_path))
    config = replace(read_config(), inventory=(tmp_path / "inventory" / "hosts.yml",))
    before = content_digest(config)
    (tmp_path / "inventory" / "hosts.yml").write_text("all: {hosts: {n2: {}}}\n")
    assert content_digest(config) != before
