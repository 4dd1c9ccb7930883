"""Leaf, spine and NVLink domain in the formats of Slurm and Kubernetes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl import main
from clusterctl.commands import topology as command
from clusterctl.core.scheduler_topology import kubernetes_labels, slurm_block, slurm_tree, slurm_yaml
from clusterctl.core.switch_tree import hostlist, switch_tree
from clusterctl.model.errors import ConfigError
from clusterctl.model.node import Place
from clusterctl.model.topology import Host
from clusterctl.terminal.scheduler_topology import FORMATS
from support.plain_yaml import load_yaml


def host(name: str, **place: Any) -> Host:
    return Host(name, (), Place(**place))


def rack(number: int, count: int, **place: Any) -> list[Host]:
    return [host(f"r{number}-n{i:02}", rack=f"rack-{number}", **place) for i in range(1, count + 1)]


TWO_SPINES = [
    *rack(12, 8, leaf="leaf1", spine="spine1"),
    *rack(13, 8, leaf="leaf2", spine="spine1"),
    *rack(14, 4, leaf="leaf3", spine="spine2"),
]
NVL72 = [*rack(20, 18, leaf="leaf1", nvlink_domain="nvl-20"), *rack(21, 17, leaf="leaf1", nvlink_domain="nvl-21")]


def test_a_tree_has_one_top() -> None:
    assert slurm_tree(TWO_SPINES).splitlines() == [
        "SwitchName=leaf1 Nodes=r12-n[01-08]",
        "SwitchName=leaf2 Nodes=r13-n[01-08]",
        "SwitchName=leaf3 Nodes=r14-n[01-04]",
        "SwitchName=root Switches=spine[1-2]",
        "SwitchName=spine1 Switches=leaf[1-2]",
        "SwitchName=spine2 Switches=leaf3",
    ]
    assert slurm_tree(NVL72) == "SwitchName=leaf1 Nodes=r20-n[01-18],r21-n[01-17]"


def test_blocks_are_nvlink_domains() -> None:
    assert slurm_block(NVL72).splitlines() == [
        "BlockName=nvl-20 Nodes=r20-n[01-18]",
        "BlockName=nvl-21 Nodes=r21-n[01-17]",
        "BlockSizes=17",
    ]
    with pytest.raises(ConfigError, match="r12-n01 is in no NVLink domain"):
        slurm_block([*NVL72, *rack(12, 1, leaf="leaf2")])


def test_the_yaml_has_both() -> None:
    tree, blocks = slurm_yaml([*NVL72, *rack(12, 2, leaf="leaf2")])
    assert tree["tree"]["switches"] == [
        {"switch": "root", "children": "leaf[1-2]"},
        {"switch": "leaf1", "nodes": "r20-n[01-18],r21-n[01-17]"},
        {"switch": "leaf2", "nodes": "r12-n[01-02]"},
    ]
    assert (tree["cluster_default"], blocks["cluster_default"]) == (True, False)
    assert blocks["block"] == {
        "block_sizes": [17],
        "blocks": [{"block": "nvl-20", "nodes": "r20-n[01-18]"}, {"block": "nvl-21", "nodes": "r21-n[01-17]"}],
    }
    assert len(slurm_yaml(TWO_SPINES)) == 1


def test_labels_of_nodes() -> None:
    items = kubernetes_labels([host("a", leaf="l1", spine="s1", nvlink_domain="d1"), host("b", rack="r1")])["items"]
    assert items[0]["metadata"]["labels"] == {
        "accelerator.topograph.run/domain": "d1",
        "fabric.topograph.run/tier-0": "l1",
        "fabric.topograph.run/tier-1": "s1",
        "network.topology.nvidia.com/accelerator": "d1",
        "network.topology.nvidia.com/leaf": "l1",
        "network.topology.nvidia.com/spine": "s1",
    }
    assert items[1]["metadata"] == {"name": "b", "labels": {"fabric.topograph.run/tier-0": "r1", "network.topology.nvidia.com/leaf": "r1"}}
    with pytest.raises(ConfigError, match="is not a label value"):
        kubernetes_labels([host("a", leaf="leaf 1")])


@pytest.mark.parametrize(
    ("hosts", "says"),
    [
        ([host("a")], "a has no leaf, su or rack"),
        ([host("a", leaf="l", spine="s1"), host("b", leaf="l", spine="s2")], "leaf l are on several spines: s1, s2"),
        ([host("a", leaf="x", spine="y"), host("b", leaf="y")], "y cannot be the name of a leaf and of a switch above"),
        ([host("a", leaf="root")], "root cannot be"),
    ],
)
def test_contradictions_are_named(hosts: list[Host], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        switch_tree(hosts)


def expand(text: str) -> list[str]:
    found = []
    for part in text.replace("],", "];").split(";") if "[" in text else text.split(","):
        head, _, ranges = part.partition("[")
        if not ranges:
            found += part.split(",")
            continue
        *plain, prefix = head.split(",")
        found += plain
        for one in ranges.rstrip("]").split(","):
            low, _, high = one.partition("-")
            found += [f"{prefix}{n:0{len(low)}}" for n in range(int(low), int(high or low) + 1)]
    return found


@given(st.sets(st.from_regex(r"[a-c]{1,2}(-n)?[0-9]{0,3}", fullmatch=True), min_size=1, max_size=30))
def test_no_name_is_lost_in_a_hostlist(names: set[str]) -> None:
    assert sorted(expand(hostlist(sorted(names)))) == sorted(names)


def test_the_command_offers_what_the_view_can() -> None:
    assert set(command._FORMATS) == set(FORMATS)


@pytest.mark.parametrize("kind", FORMATS)
def test_the_example_site(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = "rack-20" if kind == "slurm-block" else "all"
    code = main.call(["topology", target, "--format", kind, "-i", "@common", "-i", "inventory/example"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    assert load_yaml(captured.out)
