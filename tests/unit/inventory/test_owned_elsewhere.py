"""Roles that something else owns, as an inventory declares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.core.overrides import overridden
from clusterctl.model.errors import SpecInvalidError
from support.site import Site

if TYPE_CHECKING:
    from pathlib import Path

OWNED = "roles_owned_elsewhere: {pages: {owner: the image, change: 'rebuild {{ image_name }}'}}\nimage_name: gpu-node\n"


def test_a_profile_declares_owners_for_its_nodes_and_none_for_others(tmp_path: Path) -> None:
    one, two, other = Site(tmp_path, {"site/group_vars/rack_1.yml": OWNED}).nodes("r1-n01,r1-n02,rack-2")
    assert one.spec.owners == ({"role": "pages", "owner": "the image", "change": "rebuild gpu-node"},)
    assert one.spec.owners is two.spec.owners
    assert other.spec.owners == ()


def test_who_owns_a_part_is_no_part_of_the_declared_state(tmp_path: Path) -> None:
    before = Site(tmp_path / "a").nodes("r1-n01")[0]
    after = Site(tmp_path / "b", {"site/group_vars/rack_1.yml": OWNED}).nodes("r1-n01")[0]
    assert before.spec.digest == after.spec.digest
    assert overridden([before], [after]) == {"r1-n01": "roles_owned_elsewhere"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("[pages]", "is not a mapping of role to owner and change"),
        ("{pages: the image}", r"roles_owned_elsewhere\[pages\]: 'the image' is not a mapping with owner and change"),
        ("{pages: {owner: the image}}", "change is missing, or not text"),
        ("{pages: {owner: '', change: x}}", "owner is missing, or not text"),
        ("{pages: {owner: a, change: b, until: 2030-01-01}}", "until is not a key of it"),
        ("{page: {owner: a, change: b}}", "page: is not in node_roles; did you mean 'pages'"),
        ("{storage: {owner: a, change: b}}", "storage: is not in node_roles"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(tmp_path: Path, value: str, message: str) -> None:
    site = Site(tmp_path, {"site/group_vars/rack_1.yml": f"roles_owned_elsewhere: {value}\n"})
    with pytest.raises(SpecInvalidError, match=message):
        site.nodes("r1-n01")
