from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_validators import rdma_sysfs
from support.recorded import recorded

if TYPE_CHECKING:
    from pathlib import Path


class Tree:
    """The recorded tree instead of /sys/class/infiniband."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, path: str) -> str | None:
        file = self._root / path.removeprefix(rdma_sysfs.ROOT + "/")
        return file.read_text().strip() if file.is_file() else None


def test_recorded_hcas() -> None:
    tree = Tree(recorded("rdma-sysfs/gpud-h100"))
    assert rdma_sysfs.read_port(tree, "mlx5_0") == rdma_sysfs.Port("ACTIVE", "LinkUp", 400.0, "InfiniBand", "28.41.1000")
    bond = rdma_sysfs.read_port(tree, "mlx5_bond_0")
    assert bond is not None
    assert (bond.rate_gbps, bond.link_layer) == (200.0, "Ethernet")


def test_an_absent_hca() -> None:
    assert rdma_sysfs.read_port(Tree(recorded("rdma-sysfs/gpud-h100")), "mlx5_3") is None


@pytest.mark.parametrize(
    ("text", "gbps"),
    [
        ("400 Gb/sec (4X NDR)", 400.0),
        ("2.5 Gb/sec (1X SDR)", 2.5),
        ("800 Gb/sec (4X XDR)", 800.0),
        ("", None),
        ("NDR", None),
        ("400", None),
    ],
)
def test_rates(text: str, gbps: float | None) -> None:
    assert rdma_sysfs.parse_rate_gbps(text) == gbps


@given(st.text())
def test_any_text_is_a_rate_or_none(text: str) -> None:
    rate = rdma_sysfs.parse_rate_gbps(text)
    assert rate is None or rate >= 0


@pytest.mark.parametrize(("text", "state"), [("4: ACTIVE", "ACTIVE"), ("1: DOWN", "DOWN"), ("ACTIVE", "ACTIVE"), ("5:", "5:")])
def test_states(text: str, state: str) -> None:
    assert rdma_sysfs.parse_state(text) == state
