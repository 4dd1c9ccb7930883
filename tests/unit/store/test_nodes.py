"""Registration and reading of nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.core.recorded_target import match
from clusterctl.model.errors import UnknownNodeError
from clusterctl.model.node import Place
from clusterctl.model.state import State
from support.stores import a_node, bring, fresh

if TYPE_CHECKING:
    from pathlib import Path


def test_registering_again_updates_the_place_and_keeps_the_state(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    store.register([a_node()])
    bring(store, "r12-n01", State.PROVISIONING)
    store.register([replace(a_node(digest="e" * 64), place=Place(rack="rack_13", slot=7)), a_node("r12-n02")])
    record = store.node("r12-n01")
    assert record is not None
    assert (record.rack, record.slot, record.state, record.declared_digest) == ("rack_13", 7, State.PROVISIONING, "e" * 64)
    assert [n.name for n in store.nodes()] == ["r12-n02", "r12-n01"]
    assert store.node("r99-n01") is None


def test_a_fleet_is_read_in_slices(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    names = [f"n{i:05}" for i in range(12_500)]
    store.register([a_node(n) for n in names])
    assert [n.name for n in store.nodes(names)] == names


NODES = tuple((f"r{r}-n0{i}", f"rack_{r}") for r in (12, 13) for i in (1, 2))


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("all", ["r12-n01", "r12-n02", "r13-n01", "r13-n02"]),
        ("rack-12", ["r12-n01", "r12-n02"]),
        ("rack_12", ["r12-n01", "r12-n02"]),
        ("RACK-12", ["r12-n01", "r12-n02"]),
        ("r12-n01", ["r12-n01"]),
        ("r12-n01,r13-n02", ["r12-n01", "r13-n02"]),
        ("rack_12:rack_13", ["r12-n01", "r12-n02", "r13-n01", "r13-n02"]),
        ("all,!rack-12", ["r13-n01", "r13-n02"]),
        ("r1?-n01", ["r12-n01", "r13-n01"]),
        ("rack*,!*n02", ["r12-n01", "r13-n01"]),
        ("profile_lab", ["r12-n01", "r12-n02", "r13-n01", "r13-n02"]),
        ("r12-n[01-02]", ["r12-n01", "r12-n02"]),
        ("r[12,13]-n[01,02]:!r13-n[01-01,02]", ["r12-n01", "r12-n02"]),
        ("!r12-n[01-02]", ["r13-n01", "r13-n02"]),
        ("rack-12:&r[12-13]-n[02-02]", ["r12-n02"]),
        ("rack*,&*n02,!rack-13", ["r12-n02"]),
        ("~r1[23]-n01", ["r12-n01", "r13-n01"]),
        ("rack-12,&~.*n02$", ["r12-n02"]),
    ],
)
def test_targets_select_nodes(tmp_path: Path, target: str, expected: list[str]) -> None:
    store = fresh(tmp_path)
    store.register([a_node(name, rack=rack, slot=int(name[-1])) for name, rack in NODES])
    assert [n.name for n in match(store.nodes(), target)] == expected


@pytest.mark.parametrize(
    ("target", "near"),
    [
        ("rack-2", "rack_12"),
        ("r12-n1", "r12-n01"),
        ("zzz", ""),
        ("", ""),
        ("!all", ""),
        ("all,!all", ""),
        ("rack-12,!r12-no2", "'r12-n02'"),  # the very node that was to be left out
        ("rack-12,!", "nothing follows '!'"),
        ("rack-12,&r12-n0x", "'r12-n01'"),
        ("rack-12:&rack-13", ""),
        ("r12-n[01-18]", "'r12-n03'"),
        ("rack-12[0:1]", "positions"),
        ("~(", "not a regular expression"),
    ],
)
def test_a_target_without_match_is_an_error(tmp_path: Path, target: str, near: str) -> None:
    store = fresh(tmp_path)
    store.register([a_node(name, rack=rack) for name, rack in NODES])
    with pytest.raises(UnknownNodeError) as caught:
        match(store.nodes(), target)
    assert near in str(caught.value)
    assert int(caught.value.exit_code) == 3
