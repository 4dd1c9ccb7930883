"""`-e`: files are looked for where the command runs, and a value that sets nothing is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.inventory.load import own_inventory_read_once
from clusterctl.model.errors import ConfigError, UsageProblemError
from support.site import Site

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_found_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was looked for below the playbooks of clusterctl."""
    site = Site(tmp_path / "s", {"own/rails.yml": "fabric_rails: [{name: rail7, mtu: 1500}]\n"})
    for folder, name in ((site.folder, "own/rails.yml"), (site.folder / "own", "rails.yml"), (site.folder / "site", "../own/rails.yml")):
        monkeypatch.chdir(folder)
        (node,) = site.nodes("r1-n01", extra_vars=[f"@{name}"])
        assert node.spec.roles["fabric"]["fabric_rails"][0]["name"] == "rail7"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("fabric_version", "'fabric_version' sets no variable"),
        ("fabric_version = 7", "'fabric_version = 7' sets no variable"),
        ("a=1 fabric_version 7", "'fabric_version 7' sets no variable"),
        ("=7", "'=7' sets no variable"),
        ("@absent.yml", "--extra-vars: absent.yml: no such file"),
        ("@.", "--extra-vars: .: is a directory"),
        ("[1]", "could not be made into a dictionary"),
        ("{a: 1", "did not find expected"),
    ],
)
def test_a_value_that_sets_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, said: str) -> None:
    site = Site(tmp_path / "s")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError if words.startswith("@") else UsageProblemError) as caught:
        site.nodes(extra_vars=[words])
    assert said in str(caught.value)
    assert "FILE" in caught.value.hint


def test_so_it_is_of_an_inventory_that_is_kept_open(tmp_path: Path) -> None:
    site = Site(tmp_path / "s")
    with own_inventory_read_once(site.layers), pytest.raises(UsageProblemError, match="sets no variable"):
        site.nodes(extra_vars=["fabric_version"])
