"""A target is split by site and rack."""

from __future__ import annotations

from clusterctl.core.shards import split
from clusterctl.model.node import Place
from clusterctl.model.shard import Shard, ShardKind, ShardState
from clusterctl.model.topology import Host

PATTERN = Shard("order-1", "", "", (), "c", "ada", {"level": "quick"})


def host(name: str, rack: str, site: str = "") -> Host:
    return Host(name, (), Place(rack=rack, site=site))


def test_one_shard_per_site_and_rack_in_the_order_of_the_inventory() -> None:
    hosts = [
        host("b1", "r2", "west"),
        host("a1", "r1"),
        host("b2", "r2", "west"),
        host("a2", "r1"),
        host("c1", "r2", "east"),
        host("d1", ""),
    ]
    found = split(hosts, PATTERN)
    assert [(s.site, s.rack, s.nodes) for s in found] == [
        ("west", "r2", ("b1", "b2")),
        ("", "r1", ("a1", "a2")),
        ("east", "r2", ("c1",)),
        ("", "", ("d1",)),
        ("", "", ("a1", "a2", "d1")),
    ]
    assert [s.kind for s in found] == [ShardKind.PROVISION] * 4 + [ShardKind.ACROSS]
    assert [s.state for s in found] == [ShardState.QUEUED] * 4 + [ShardState.WAITING]
    assert {(s.order_id, s.content, s.options["level"]) for s in found} == {("order-1", "c", "quick")}


def test_no_hosts_are_no_shards() -> None:
    assert split([], PATTERN) == ()
