from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.model.errors import UsageProblemError
from clusterctl_lab.layout import LabPaths, lab_node, lab_rack

if TYPE_CHECKING:
    from pathlib import Path


def test_rack_12_has_the_documented_names_and_addresses() -> None:
    rack = lab_rack("rack-12")
    assert (rack.group, rack.subnet, len(rack.nodes)) == ("rack_12", "10.89.12.0/24", 6)
    assert (rack.nodes[3].name, rack.nodes[3].address) == ("r12-n04", "10.89.12.14")
    assert rack.nodes[3].bmc_url == "https://127.89.12.14:8443"


@pytest.mark.parametrize("target", ["rack12", "rack-0", "rack-255", "rack-x", "", "r12-n01", "rack-1200"])
def test_an_invalid_rack_name_is_refused(target: str) -> None:
    with pytest.raises(UsageProblemError, match="not a lab rack"):
        lab_rack(target)


@pytest.mark.parametrize("count", [0, -1, 65])
def test_an_invalid_number_of_nodes_is_refused(count: int) -> None:
    with pytest.raises(UsageProblemError, match=r"not in 1\.\.64"):
        lab_rack("rack-1", count)


@given(number=st.integers(1, 254), count=st.integers(1, 64))
def test_a_node_is_found_by_its_name(number: int, count: int) -> None:
    rack = lab_rack(f"rack_{number}", count)
    assert [lab_node(n.name) for n in rack.nodes] == list(rack.nodes)
    assert len({n.address for n in rack.nodes}) == count


@pytest.mark.parametrize("name", ["r12-n00", "r12-n65", "r0-n01", "r255-n01", "node1", "r12-n1"])
def test_an_invalid_node_name_is_refused(name: str) -> None:
    with pytest.raises(UsageProblemError, match="not a lab node"):
        lab_node(name)


def test_two_state_directories_share_no_file(tmp_path: Path) -> None:
    one, two = LabPaths(tmp_path / "a"), LabPaths(tmp_path / "b")
    assert one.node_dir("r1-n01") != two.node_dir("r1-n01")
    assert one.bmc_pid.parent == one.root
