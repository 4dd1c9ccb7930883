"""What a poller sees of a node without its spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.inventory.load import list_hosts
from clusterctl.model.errors import SpecInvalidError

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.model.topology import Host


def shown(tmp_path: Path, variables: str) -> Host:
    (tmp_path / "hosts.yml").write_text(f"all: {{hosts: {{n1: {{{variables}}}}}}}\n")
    return list_hosts([tmp_path]).hosts[0]


def test_addresses_labels_and_switches(tmp_path: Path) -> None:
    host = shown(
        tmp_path, "ansible_host: 192.0.2.1, spine: s1, leaf: l1, node_labels: {tier: 1}, rail_leaves: {rail0: l0}, nvlink_domain: d1"
    )
    assert (host.address, host.labels, host.rail_leaves) == ("192.0.2.1", {"tier": "1"}, {"rail0": "l0"})
    assert (host.place.leaf, host.place.spine, host.place.nvlink_domain) == ("l1", "s1", "d1")


def test_a_node_of_which_nothing_is_said(tmp_path: Path) -> None:
    host = shown(tmp_path, "")
    assert (host.address, host.bmc_url, host.labels, host.rail_leaves) == ("n1", "", {}, {})


def test_an_account_in_the_url_of_a_bmc_is_not_shown(tmp_path: Path) -> None:
    assert shown(tmp_path, "bmc_url: 'https://root:calvin@bmc-1:8443/redfish'").bmc_url == "https://bmc-1:8443/redfish"


@pytest.mark.parametrize("variables", ["node_labels: [a]", "rail_leaves: 3"])
def test_what_is_no_mapping_is_named(tmp_path: Path, variables: str) -> None:
    with pytest.raises(SpecInvalidError, match="is not a mapping"):
        shown(tmp_path, variables)
