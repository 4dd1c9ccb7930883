"""Whether the declared HCAs are where they are declared. The cases are in tests/cases/hca_places."""

from __future__ import annotations

from typing import Any

import pytest

from support.filters import filter_plugin
from support.plain_yaml import load_yaml
from support.roles import ROOT

plugin = filter_plugin("hca_places")
CASES: dict[str, dict[str, Any]] = load_yaml((ROOT / "tests" / "cases" / "hca_places" / "cases.yml").read_text())
# Address -> vendor, class, path below /sys/devices.
FUNCTIONS = {
    "0000:18:00.0": ("0x15b3", "0x020700", "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:18:00.0"),
    "0000:1b:00.0": ("0x10de", "0x030200", "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:1b:00.0"),
    "0000:29:00.0": ("0x15b3", "0x020000", "pci0000:26/0000:26:01.0/0000:29:00.0"),
    "0000:29:00.1": ("0x15b3", "0x020000", "pci0000:26/0000:26:01.0/0000:29:00.1"),
    "0000:40:00.0": ("0x15b3", "0x020700", "pci0000:3d/0000:3d:01.0/0000:3e:00.0/0000:3f:01.0/0000:40:00.0"),
    "0000:43:00.0": ("0x10de", "0x030200", "pci0000:3d/0000:3d:01.0/0000:3e:00.0/0000:3f:00.0/0000:43:00.0"),
    "0000:07:00.0": ("0x10de", "0x068000", "pci0000:00/0000:00:01.0/0000:07:00.0"),
}


def node(names: dict[str, str], dead: list[str]) -> str:
    present = {a: f for a, f in FUNCTIONS.items() if a not in dead}
    lines = [f"{vendor} {kind} /sys/devices/{path}" for vendor, kind, path in present.values()]
    return "\n".join(lines + [f"rdma {name} /sys/devices/{present[address][2]}" for name, address in names.items()])


@pytest.mark.parametrize("name", CASES)
def test_place_of_every_hca(name: str) -> None:
    case = CASES[name]
    assert plugin.misplaced(case["declared"], node(case["names"], case.get("dead", []))) == case["lines"]


def test_a_node_without_pci_has_no_declared_address() -> None:
    assert plugin.misplaced([{"name": "mlx5_r0", "pci": "0000:18:00.0"}], "") == [
        "mlx5_r0: no network adapter at 0000:18:00.0; there are none"
    ]
    assert plugin.misplaced([{"name": "mlx5_0", "gpu": 0}], "") == []
