"""A site's value in `all` loses to that of any group, by Ansible's precedence: where no node takes it, `profile check` says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.inventory.load import load_and_lint_nodes
from support.site import CONTENT, Site

if TYPE_CHECKING:
    from pathlib import Path

RAILS = "---\nfabric_rails: [{name: rail0, mtu: 1500}]\n"


def problems(site: Site, target: str = "all") -> list[str]:
    return [p.text(site.folder) for p in load_and_lint_nodes(site.layers, target, content=CONTENT)[1]]


def test_a_value_that_every_node_has_from_an_earlier_layer_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(tmp_path / "s", {"site/group_vars/all.yml": RAILS})
    monkeypatch.chdir(site.folder)
    said = (
        "site/group_vars/all.yml:2: fabric_rails: no node takes this value: any group outranks all, and common/group_vars/profile_x/fabric.yml:3 "
        "sets it; write it in group_vars of that group, or of a rack"
    )
    assert problems(site) == [said]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("site/group_vars/profile_x.yml", RAILS),  # a later layer of the same group wins
        ("site/group_vars/rack_1.yml", RAILS),
        ("common/group_vars/all.yml", RAILS),  # a default, in the layer of what outranks it
        ("site/group_vars/all.yml", "---\nown_note: x\n"),
    ],
)
def test_a_value_that_counts_or_is_a_default_is_none(tmp_path: Path, file: str, text: str) -> None:
    assert problems(Site(tmp_path / "s", {file: text})) == []


def test_a_part_of_the_nodes_proves_nothing(tmp_path: Path) -> None:
    assert problems(Site(tmp_path / "s", {"site/group_vars/all.yml": RAILS}), "rack-1") == []
