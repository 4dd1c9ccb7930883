"""Rules of roles, as loading an inventory applies them: real content, a small site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.inventory.ansible_worker.rules import load_rules, steps
from clusterctl.adapters.inventory.invalid import problems_of
from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.model.errors import SpecInvalidError
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

HOSTS = "all: {children: {profile_x: {hosts: {n1: {}, n2: {}}}}}\n"
SOUND = """node_roles: [nccl, roce]
nccl_settings: {NCCL_IB_TC: 106}
roce_rails:
  - {device: mlx5_0, rail: 0}
  - {device: mlx5_1, rail: 1}
roce_switch_cnp_dscp: 48
"""


def site(folder: Path, variables: str, host_vars: str = "") -> list[Path]:
    (folder / "group_vars").mkdir()
    (folder / "host_vars").mkdir()
    (folder / "hosts.yml").write_text(HOSTS)
    (folder / "group_vars" / "profile_x.yml").write_text(variables)
    (folder / "host_vars" / "n2.yml").write_text(host_vars or "{}\n")
    return [folder]


def told(layers: list[Path], here: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(here)
    with pytest.raises(SpecInvalidError) as caught:
        load_nodes(layers, "all", content=ROOT)
    return [p.text() for p in problems_of(caught.value)]


def test_what_agrees_loads(tmp_path: Path) -> None:
    nodes = load_nodes(site(tmp_path, SOUND), "all", content=ROOT)
    assert [n.spec.roles["roce"]["roce_traffic_class"] for n in nodes] == [106, 106]
    assert nodes[0].spec.roles["roce"]["roce_switch_dscp"] is None


def test_a_contradiction_of_a_profile_is_a_load_error_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = told(site(tmp_path, SOUND + "roce_cnp_dscp: 4\nroce_cnp_priority: 0\n"), tmp_path, monkeypatch)
    assert lines == ["group_vars/profile_x.yml:7: roce_cnp_dscp: is 4, but the switches have 48 (roce_switch_cnp_dscp)"]


def test_a_contradiction_between_two_roles_names_the_node_that_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = told(site(tmp_path, SOUND, "nccl_settings:\n  NCCL_IB_TC: 160\n"), tmp_path, monkeypatch)
    assert lines == ["host_vars/n2.yml:2: nccl_settings.NCCL_IB_TC: is 160, but roce_traffic_class is 106 (n2)"]


def test_a_contradiction_inside_a_list_has_its_own_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = told(site(tmp_path, SOUND.replace("mlx5_1", "mlx5_0")), tmp_path, monkeypatch)
    assert lines == ["group_vars/profile_x.yml:5: roce_rails[1].device: mlx5_0 is declared twice"]


def test_a_role_that_the_node_does_not_have_has_no_say(tmp_path: Path) -> None:
    variables = SOUND.replace("[nccl, roce]", "[nccl]") + "roce_cnp_dscp: 4\n"
    assert load_nodes(site(tmp_path, variables), "all", content=ROOT)


def test_a_breach_of_the_schema_is_told_before_rules_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = told(site(tmp_path, SOUND + "roce_mtu: jumbo\n"), tmp_path, monkeypatch)
    assert lines == ["group_vars/profile_x.yml:7: roce_mtu: 'jumbo' is not an int"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("roce_cnp_dscp", ("roce_cnp_dscp", ())),
        ("roce_rails[1].device", ("roce_rails", (1, "device"))),
        ("nccl_settings.NCCL_IB_TC", ("nccl_settings", ("NCCL_IB_TC",))),
        ("a.26[0][3]", ("a", ("26", 0, 3))),
    ],
)
def test_the_way_to_a_value(path: str, expected: object) -> None:
    assert steps(path) == expected


def test_the_roles_that_have_rules() -> None:
    assert {"roce", "infiniband"} <= set(load_rules(ROOT))


def test_pages_that_no_machine_can_have_are_told_with_their_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = "node_roles: [hugepages, hardware]\nhardware_memory_min_gib: 2000\nhugepages_pages:\n"
    counts = "  - {size: 1G, node: 0, count: -5}\n  - {size: 2M, node: 0, count: 1000000000000000}\n  - {size: 1G, node: 1, count: 2001}\n"
    lines = told(site(tmp_path, pages + counts), tmp_path, monkeypatch)
    assert [line.partition(" (n1")[0] for line in lines] == [
        "group_vars/profile_x.yml:3: hugepages_pages: 2001 GiB in all, but hardware_memory_min_gib is 2000",
        "group_vars/profile_x.yml:4: hugepages_pages[0].count: -5 is below 0",
        "group_vars/profile_x.yml:5: hugepages_pages[1].count: 1000000000000000 pages of 2M are more than the 64 TiB that a machine can have",
    ]
