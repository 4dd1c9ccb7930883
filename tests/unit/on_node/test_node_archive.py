"""What travels to a node: all plug-ins, and no documentation of filters, which nothing on a node reads."""

from __future__ import annotations

from clusterctl.adapters.on_node.archive import members

FILTER = "payload/content/playbooks/collections/ansible_collections/clusterctl/gpu/plugins/filter/"


def test_filters_travel_without_their_documentation() -> None:
    names = {name.removeprefix(FILTER) for name in members() if "/plugins/filter/" in name and "clusterctl/gpu" in name}
    assert "ofed_names.py" in names
    assert [n for n in names if n.endswith(".yml")] == []
