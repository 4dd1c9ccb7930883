"""The interface of a port, by the validators and by the scripts of two roles: of several below one PCI function, that of the port itself."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators.probe import Probe
from clusterctl_validators.rail_interface import interface_of
from support.checks import InventedNode, write_files
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NET = "/sys/class/infiniband/mlx5_0/device/net"


def script(role: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"clusterctl_{role}", ROOT / "roles" / role / "files" / f"clusterctl_{role}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


def by_validator(root: Path, port: int) -> str:
    return interface_of(Probe(InventedNode(root, {})), "mlx5_0", port)


def by_roce(root: Path, port: int) -> str:
    return str(script("roce").Rail({}, {"device": "mlx5_0", "port": port, "interface": ""}, str(root)).interface)


def by_infiniband(root: Path, port: int) -> str:
    return str(script("infiniband").interface_of({"device": "mlx5_0", "port": port, "interface": ""}, str(root)))


@pytest.mark.parametrize("read", [by_validator, by_roce, by_infiniband])
@pytest.mark.parametrize(
    ("files", "port", "found"),
    [
        ({}, 1, ""),
        ({"rail0/dev_port": "0"}, 2, "rail0"),
        ({"ens1np0/dev_port": "0", "ens1np1/dev_port": "1"}, 2, "ens1np1"),
        # Since Linux 5.8 the representors of VFs and SFs are below the adapter's own function (k8snetworkplumbingwg/sriov-network-operator, tryGetInterfaceName).
        (
            {
                **{f"{name}/dev_port": "0" for name in ("enp1s0f0npf0vf0", "eth7", "eth8", "rail0")},
                "enp1s0f0npf0vf0/phys_port_name": "pf0vf0\n",
                "eth7/phys_port_name": "pf0sf88\n",
                "eth8/phys_port_name": "c1pf0vf3\n",
                "rail0/phys_port_name": "p0\n",
            },
            1,
            "rail0",
        ),
        # A child of IPoIB has the file `parent` (Linux, drivers/infiniband/ulp/ipoib/ipoib_vlan.c).
        ({"ib-storage/dev_port": "0", "ib-storage/parent": "ib0\n", "ib0/dev_port": "0"}, 1, "ib0"),
        ({"a/dev_port": "0", "a/parent": "b\n", "c/dev_port": "0", "c/parent": "b\n"}, 1, "a"),
    ],
    ids=["none", "one", "by_port", "representors", "ipoib_child", "only_children"],
)
def test_interface(read: Callable[[Path, int], str], files: dict[str, str], port: int, found: str, tmp_path: Path) -> None:
    assert read(write_files(tmp_path, {f"{NET}/{name}": text for name, text in files.items()}), port) == found


@pytest.mark.parametrize("read", [by_validator, by_roce])
@pytest.mark.parametrize(
    ("files", "found"),
    [
        # HGX B300, planes on ports 3, 6, 9 and 12: numbers of interfaces say nothing, the port's own table does (scitix/sichek pull 98).
        ({"eth_r0_p0/dev_port": "0", "eth_r0_p1/dev_port": "0"}, "eth_r0_p1"),
        ({}, "eth_r0_p1"),
        ({"eth_r0_p0/dev_port": "0"}, "eth_r0_p1"),
        # Where the number says something, it counts, as for a port in a bond.
        ({"rail0/dev_port": "0", "rail1/dev_port": "5"}, "rail1"),
    ],
    ids=["planes", "of_other_functions", "of_another_function", "by_number"],
)
def test_an_interface_that_no_number_names(read: Callable[[Path, int], str], files: dict[str, str], found: str, tmp_path: Path) -> None:
    table = "/sys/class/infiniband/mlx5_0/ports/6/gid_attrs/ndevs/0"
    assert read(write_files(tmp_path, {table: "eth_r0_p1\n", **{f"{NET}/{name}": text for name, text in files.items()}}), 6) == found


@pytest.mark.parametrize("read", [by_validator, by_roce, by_infiniband])
def test_a_port_without_a_name_is_not_a_representor(read: Callable[[Path, int], str], tmp_path: Path) -> None:
    """The kernel answers EOPNOTSUPP for it; here the file is a folder, which cannot be read either."""
    files = {f"{NET}/{name}/{file}": "0" for name in ("ens1np0", "ens1x") for file in ("dev_port", "phys_port_name/x")}
    assert read(write_files(tmp_path, files), 1) == "ens1np0"
