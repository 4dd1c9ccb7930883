from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from clusterctl.model.errors import UsageProblemError
from clusterctl_lab import inventory_layer, node_hardware
from clusterctl_lab.layout import LabPaths, lab_rack
from clusterctl_lab.ssh_keys import ensure_keys
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def paths(tmp_path: Path) -> LabPaths:
    paths = LabPaths(tmp_path / "lab")
    ensure_keys(paths, lab_rack("rack-12", 2).nodes)
    inventory_layer.write_layer(paths, [lab_rack("rack-12", 2)])
    return paths


def test_the_layer_has_the_addresses_of_each_node(paths: LabPaths) -> None:
    layer = load_yaml((paths.hosts_dir / "hosts.yml").read_text())["all"]["children"]
    lab = layer["clusterctl_lab"]
    assert lab["hosts"]["r12-n02"]["ansible_host"] == "10.89.12.12"
    assert lab["hosts"]["r12-n02"]["bmc_url"].startswith("https://127.")
    assert lab["vars"]["ansible_ssh_private_key_file"] == str(paths.key)
    assert set(layer["rack_12"]["hosts"]) == set(layer["profile_lab"]["hosts"]) == {"r12-n01", "r12-n02"}


def test_host_keys_are_checked_against_the_labs_known_hosts(paths: LabPaths) -> None:
    arguments = inventory_layer.ssh_args(paths)
    assert f"UserKnownHostsFile={paths.known_hosts}" in arguments
    assert "StrictHostKeyChecking=yes" in arguments
    keys = [line.split()[2] for line in paths.known_hosts.read_text().splitlines()]
    assert len(set(keys)) == 2


def test_the_bmc_password_is_random_private_and_outside_the_hosts_file(paths: LabPaths, tmp_path: Path) -> None:
    secret = paths.hosts_dir / "group_vars" / "clusterctl_lab" / "bmc.yml"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    accounts = inventory_layer.bmc_accounts(paths)
    assert [(a.user, a.may_change) for a in accounts] == [("clusterctl", True), ("auditor", False)]
    assert not [a for a in accounts if a.password in (paths.hosts_dir / "hosts.yml").read_text()]
    other = LabPaths(tmp_path / "other")
    ensure_keys(other, lab_rack("rack-12", 1).nodes)
    inventory_layer.write_layer(other, [lab_rack("rack-12", 1)])
    assert len({a.password for a in (*accounts, *inventory_layer.bmc_accounts(other))}) == 4


def test_a_lab_of_an_earlier_version_has_one_account(paths: LabPaths) -> None:
    secret = paths.hosts_dir / "group_vars" / "clusterctl_lab" / "bmc.yml"
    secret.write_text("bmc_user: clusterctl\nbmc_password: old\n")
    assert [a.user for a in inventory_layer.bmc_accounts(paths)] == ["clusterctl"]


def test_writing_again_keeps_keys_and_password(paths: LabPaths) -> None:
    before = (paths.known_hosts.read_text(), inventory_layer.bmc_accounts(paths), paths.key.read_text())
    ensure_keys(paths, lab_rack("rack-12", 3).nodes)
    inventory_layer.write_layer(paths, [lab_rack("rack-12", 3)])
    assert (inventory_layer.bmc_accounts(paths), paths.key.read_text()) == before[1:]
    assert paths.known_hosts.read_text().startswith(before[0])


def test_two_racks_are_in_one_layer(paths: LabPaths) -> None:
    ensure_keys(paths, lab_rack("rack-13", 1).nodes)
    inventory_layer.write_layer(paths, [lab_rack("rack-12", 2), lab_rack("rack-13", 1)])
    layer = load_yaml((paths.hosts_dir / "hosts.yml").read_text())["all"]["children"]
    assert set(layer["rack_13"]["hosts"]) == {"r13-n01"}
    assert len(layer["clusterctl_lab"]["hosts"]) == 3


def test_trays_of_a_rack_form_an_nvlink_domain_and_get_the_profile_of_their_hardware(paths: LabPaths) -> None:
    rack = lab_rack("rack-13", 2)
    ensure_keys(paths, rack.nodes)
    for node in rack.nodes:
        node_hardware.set_hardware(paths, node, "gb300_nvl72")
    inventory_layer.write_layer(paths, [lab_rack("rack-12", 2), rack])
    layer = load_yaml((paths.hosts_dir / "hosts.yml").read_text())["all"]["children"]
    assert set(layer["profile_lab"]["hosts"]) == {"r12-n01", "r12-n02"}
    assert set(layer["profile_lab_nvl72"]["hosts"]) == {"r13-n01", "r13-n02"}
    tray = layer["clusterctl_lab"]["hosts"]["r13-n02"]
    assert tray["nvlink_domain_members"] == ["10.89.13.11", "10.89.13.12"]
    assert (tray["nvlink_domain"], tray["nvlink_domain_trays"], tray["nvlink_domain_ready_min"]) == ("rack-13", 2, 2)
    assert "nvlink_domain_members" not in layer["clusterctl_lab"]["hosts"]["r12-n01"]


@pytest.mark.parametrize(("trays", "least"), [(1, 1), (3, 2), (5, 3)])
def test_a_rack_of_the_lab_serves_with_up_to_two_trays_missing(trays: int, least: int, paths: LabPaths) -> None:
    rack = lab_rack("rack-13", trays)
    ensure_keys(paths, rack.nodes)
    for node in rack.nodes:
        node_hardware.set_hardware(paths, node, "gb300_nvl72")
    inventory_layer.write_layer(paths, [rack])
    layer = load_yaml((paths.hosts_dir / "hosts.yml").read_text())["all"]["children"]
    tray = layer["clusterctl_lab"]["hosts"]["r13-n01"]
    assert (tray["nvlink_domain_trays"], tray["nvlink_domain_ready_min"]) == (trays, least)


def test_a_rack_has_one_kind_of_hardware(paths: LabPaths) -> None:
    ensure_keys(paths, lab_rack("rack-13", 1).nodes)
    node_hardware.set_hardware(paths, lab_rack("rack-13").nodes[0], "gb300_nvl72")
    node_hardware.require_same_hardware(paths, lab_rack("rack-13"), ["r13-n01"], "gb300_nvl72")
    with pytest.raises(UsageProblemError, match="r13-n01 simulates gb300_nvl72, not hgx_h100") as caught:
        node_hardware.require_same_hardware(paths, lab_rack("rack-13"), ["r13-n01"], "hgx_h100")
    assert "`clusterctl lab down rack-13`" in caught.value.hint


def test_the_declared_rack_accepts_only_its_declared_hardware(paths: LabPaths) -> None:
    declared = load_yaml((ROOT / "inventory" / "lab" / "hosts.yml").read_text())["all"]["children"]
    assert list(declared["profile_hgx_h100_ib"]["children"]["profile_lab"]["children"]) == [lab_rack("rack-12").group]
    node_hardware.require_same_hardware(paths, lab_rack("rack-12"), [], "hgx_h100")
    with pytest.raises(UsageProblemError, match="declares the nodes of rack-12 as hgx_h100, not hgx_b200") as caught:
        node_hardware.require_same_hardware(paths, lab_rack("rack-12"), [], "hgx_b200")
    assert "`clusterctl lab up rack-13 --hardware hgx_b200`" in caught.value.hint


def test_a_node_with_ethernet_rails_has_an_address_in_the_subnet_of_each(paths: LabPaths) -> None:
    rack = lab_rack("rack-13", 2)
    ensure_keys(paths, rack.nodes)
    for node in rack.nodes:
        node_hardware.set_hardware(paths, node, "hgx_h100_roce")
    inventory_layer.write_layer(paths, [rack])
    layer = load_yaml((paths.hosts_dir / "hosts.yml").read_text())["all"]["children"]
    one, two = (layer["clusterctl_lab"]["hosts"][n] for n in ("r13-n01", "r13-n02"))
    assert [r["device"] for r in one["roce_rails"]] == [f"mlx5_{i}" for i in range(8)]
    assert (one["roce_rails"][7]["address"], two["roce_rails"][0]["address"]) == ("10.107.13.11/24", "10.100.13.12/24")
    assert (two["rack"], two["rack_slot"]) == ("rack-13", 2)


def test_removing_the_layer_removes_all_nodes(paths: LabPaths) -> None:
    inventory_layer.remove_layer(paths)
    assert not (paths.hosts_dir / "hosts.yml").exists()
    assert not paths.known_hosts.exists()
