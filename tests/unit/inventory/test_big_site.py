"""Many nodes, few specs: what benchmarks/spec_resolution.py measures, here for correctness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.inventory.groups import by_digest
from clusterctl.adapters.inventory.load import load_nodes
from support.big_site import write_site
from support.site import CONTENT, Site

if TYPE_CHECKING:
    from pathlib import Path


def test_overrides_reach_exactly_the_nodes_they_are_for(tmp_path: Path) -> None:
    common = Site(tmp_path, layers=("common",)).layers[0]
    site = write_site(tmp_path / "big", nodes=610, racks=60, profile="profile_x")
    for folder, name, text in (
        ("group_vars", "rack_007", "pages_mount: /seven\n"),
        ("group_vars", "rack_011", "pages_owner: '{{ rack }}'\n"),
        ("host_vars", "r003-n05", "pages_mount: /seven\n"),
        ("host_vars", "r003-n06", "fabric_version: '7'\n"),
    ):
        (site / folder).mkdir(exist_ok=True)
        (site / folder / f"{name}.yml").write_text(text)
    nodes = load_nodes([common, site], "all", content=CONTENT)
    assert len(nodes) == 610
    groups = {g.nodes[0]: g for g in by_digest(nodes)}
    assert {n: len(g.nodes) for n, g in groups.items()} == {"r000-n01": 610 - 12 - 10 - 1, "r003-n05": 12, "r003-n06": 1, "r011-n01": 10}
    assert set(groups["r003-n05"].nodes) == {"r003-n05", *(f"r007-n{n:02d}" for n in range(1, 12))}
    assert groups["r011-n01"].spec.roles["pages"]["pages_owner"] == "rack-011"
    assert len({n.connection.host for n in nodes}) == 610
    assert nodes[-1].place.rack == "rack-059"
