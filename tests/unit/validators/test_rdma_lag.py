"""Adapters whose two ports are one RDMA device (RoCE LAG): ports of 200 Gb/s each, as recorded of an H100 node (`mlx5_bond_0`), with the interfaces of its bond."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators import rdma_lag
from clusterctl_validators import test_hardware as module
from clusterctl_validators.finding import GOOD, Finding, Outcome
from clusterctl_validators.probe import Probe
from support.checks import InventedNode, run_some_checks, write_files
from support.gpu_node import BOOTED, JOURNAL, declared
from support.recorded import recorded

if TYPE_CHECKING:
    from pathlib import Path

RECORDED = recorded("rdma-sysfs/gpud-h100/mlx5_bond_0")
CARD = "0000:29:00"
DEVICE = "/sys/class/infiniband/mlx5_bond_0"
PORTS = {"ens1f0np0": 0, "ens1f1np1": 1}
ROW = {"name": "mlx5_bond_0", "link_layer": "Ethernet", "rate_gbps": 400}


def lay(root: Path, *, down: tuple[str, ...] = (), alone: bool = False, other_card: bool = False) -> Path:
    """`alone`: the second port has an RDMA device of its own; `other_card`: it is of another adapter. Neither is one device with the first."""
    files = {
        f"{DEVICE}/ports/1/{name}": (RECORDED / "ports" / "1" / name).read_text() for name in ("rate", "state", "phys_state", "link_layer")
    }
    files |= {
        f"{DEVICE}/device/vendor": "0x15b3",
        f"{DEVICE}/device/uevent": f"PCI_SLOT_NAME={CARD}.0",
        f"{DEVICE}/device/net/ens1f0np0/dev_port": "0",
    }
    for name, function in PORTS.items():
        card = "0000:5a:00" if other_card and function else CARD
        files |= {f"/sys/class/net/{name}/operstate": "down" if name in down else "up"}
        files |= {f"/sys/class/net/{name}/device/uevent": f"DRIVER=mlx5_core\nPCI_SLOT_NAME={card}.{function}"}
        files |= {f"/sys/class/net/{name}/master/bonding/slaves": " ".join(PORTS)}
    files["/sys/class/net/ens1f0np0/device/infiniband/mlx5_bond_0/node_type"] = "1: CA"
    if alone:
        files["/sys/class/net/ens1f1np1/device/infiniband/mlx5_1/node_type"] = "1: CA"
    return write_files(root, files)


def check(root: Path, journal: str = "", **row: Any) -> dict[str, Finding]:
    source = InventedNode(root, {JOURNAL: BOOTED + journal})
    variables = declared("hardware", hardware_hcas=[{**ROW, **row}], hardware_gpus=0)
    return run_some_checks(module, variables, source, ["test_hcas", "test_link_log"])


def bad(found: dict[str, Finding]) -> dict[str, str]:
    return {check.rpartition(".")[2]: f.found for check, f in found.items() if f.outcome not in GOOD}


def test_the_rate_of_both_ports_is_what_the_bond_carries(tmp_path: Path) -> None:
    found = check(lay(tmp_path))
    assert bad(found) == {}
    assert found["hardware.hca[mlx5_bond_0].rate_gbps"].found == "400"
    assert rdma_lag.members(Probe(InventedNode(tmp_path, {})), "mlx5_bond_0")[1] == ("ens1f1np1", f"{CARD}.1", True)


@pytest.mark.parametrize("port", PORTS)
def test_a_port_that_is_down_costs_its_rate_although_the_device_is_active(port: str, tmp_path: Path) -> None:
    assert bad(check(lay(tmp_path, down=(port,)))) == {"rate_gbps": f"200, {port} is down"}
    # Who declared the rate of one port gets what the kernel shows.
    assert bad(check(tmp_path, rate_gbps=200)) == {}


@pytest.mark.parametrize("more", [{"alone": True}, {"other_card": True}])
def test_a_port_with_a_device_of_its_own_adds_nothing(more: dict[str, Any], tmp_path: Path) -> None:
    assert bad(check(lay(tmp_path, **more))) == {"rate_gbps": "200"}


def test_losses_of_the_second_port_are_those_of_the_device(tmp_path: Path) -> None:
    lines = "".join(
        f"2026-11-20T09:0{i}:0{s}+00:00 kernel: mlx5_core {CARD}.1 ens1f1np1: Link {state}\n"
        for i in range(5)
        for s, state in enumerate(("up", "down"))
    )
    found = check(lay(tmp_path), lines)["hardware.hca[mlx5_bond_0].link_flaps"]
    assert found.outcome is Outcome.FAIL
    assert found.found.startswith("5: ens1f1np1")
