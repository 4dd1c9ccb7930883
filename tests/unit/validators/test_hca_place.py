"""HCAs with a declared PCI address: in place, renamed, dead, or without a driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators import test_hardware as hardware
from clusterctl_validators import test_ofed as ofed
from clusterctl_validators.finding import GOOD, Finding, Outcome, Severity
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record
from clusterctl_validators.spec_view import SpecView
from support.checks import InventedNode, write_files
from support.gpu_node import declared

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS: list[dict[str, Any]] = [
    {"name": "mlx5_r0", "pci": "0000:18:00.0", "rail": 0, "link_layer": "InfiniBand", "rate_gbps": 400},
    {"name": "mlx5_r1", "pci": "0000:40:00.0", "rail": 1, "slot": "OSFP3P2", "link_layer": "InfiniBand", "rate_gbps": 400},
]
ADDRESSES: dict[str, str] = {row["name"]: row["pci"] for row in ROWS}
PORT = {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)", "link_layer": "InfiniBand"}


def node(root: Path, names: dict[str, str | None]) -> Path:
    """Functions by address, each with the name of its RDMA device; None is a function without one."""
    files: dict[str, str] = {}
    for address, name in names.items():
        function = f"/sys/bus/pci/devices/{address}"
        files |= {f"{function}/vendor": "0x15b3"}
        if name:
            files |= {f"{function}/infiniband/{name}/node_type": "1: CA"}
            files |= {f"/sys/class/infiniband/{name}/ports/1/{file}": text for file, text in PORT.items()}
    rules = [
        f'ACTION=="add", SUBSYSTEM=="infiniband", KERNELS=="{a}", PROGRAM="rdma_rename %k NAME_FIXED {n}", GOTO="rdma_named"'
        for n, a in ADDRESSES.items()
    ]
    files[ofed.NAMES_RULE] = "\n".join([*rules, 'ACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %k NAME_KERNEL"'])
    return write_files(root, files)


def found(function: Callable[..., None], role: str, root: Path, variables: dict[str, Any], only: str) -> dict[str, Finding]:
    record = Record(role)
    function(spec=SpecView(role, variables), record=record, probe=Probe(InventedNode(root, {})))
    return {f.check.partition(".")[2]: f for f in record.findings if only in f.check}


def places(root: Path) -> dict[str, Finding]:
    return found(hardware.test_hcas, "hardware", root, declared("hardware", hardware_hcas=ROWS), "mlx5_r")


@pytest.mark.parametrize(
    ("product", "bad"), [("\x82\x03\x00CX7V0\x0bSMDL=SW_MNG\x78", True), ("\x82\x03\x00CX7\x78", False), (None, False)]
)
def test_a_link_to_the_nvswitches_stands_in_for_no_adapter(product: str | None, bad: bool, tmp_path: Path) -> None:
    """HGX B200: behind a dead adapter every name moves up by one, and the last one is a management function with an active link."""
    files = {f"/sys/class/infiniband/mlx5_7/ports/1/{file}": text for file, text in PORT.items()}
    files |= {"/sys/class/infiniband/mlx5_7/device/vpd": product} if product else {}
    rows = [{"name": "mlx5_7", "rail": 7, "link_layer": "InfiniBand", "rate_gbps": 400}]
    findings = found(hardware.test_hcas, "hardware", write_files(tmp_path, files), declared("hardware", hardware_hcas=rows), "mlx5_7")
    present = findings["hca[mlx5_7].present"]
    assert (present.outcome is Outcome.FAIL, "hca[mlx5_7].state" in findings) == (bad, not bad)
    assert not bad or (present.severity, present.found) == (Severity.CRITICAL, "a link to the NVSwitches of the baseboard")


def test_each_card_is_where_it_is_declared(tmp_path: Path) -> None:
    findings = places(node(tmp_path, {"0000:18:00.0": "mlx5_r0", "0000:29:00.0": "mlx5_1", "0000:40:00.0": "mlx5_r1"}))
    assert [findings[f"hca[{n}].place"].outcome for n in ADDRESSES] == [Outcome.PASS, Outcome.PASS]
    assert findings["hca[mlx5_r1].present"].outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("names", "text", "hint"),
    [
        ({}, "nothing on the PCI bus", "the card is missing or dead"),
        ({"0000:40:00.0": None}, "no RDMA device, but a PCI function", "mlx5_core lines of the kernel log"),
        ({"0000:40:00.0": "mlx5_3"}, "mlx5_3", "a device keeps the name that it got when it appeared"),
    ],
    ids=["dead", "without driver", "before the reboot"],
)
def test_a_card_is_named_by_its_address_and_slot(names: dict[str, str | None], text: str, hint: str, tmp_path: Path) -> None:
    findings = places(node(tmp_path, {"0000:18:00.0": "mlx5_r0", "0000:29:00.0": "mlx5_1", **names}))
    bad = {k: f for k, f in findings.items() if f.outcome not in GOOD}
    assert [k for k in bad if k.endswith((".place", ".present"))] == ["hca[mlx5_r1].place", "hca[mlx5_r1].present"]
    for finding in bad.values():
        assert finding.severity is Severity.CRITICAL
    for name in ("place", "present"):
        assert bad[f"hca[mlx5_r1].{name}"].hint.startswith("0000:40:00.0, rail 1, slot OSFP3P2: ")
        assert hint in bad[f"hca[mlx5_r1].{name}"].hint
    assert bad["hca[mlx5_r1].place"].found == text


def test_a_card_with_a_name_of_another_address_is_not_in_place(tmp_path: Path) -> None:
    findings = places(node(tmp_path, {"0000:18:00.0": "mlx5_r1", "0000:40:00.0": "mlx5_r0"}))
    assert {k: f.found for k, f in findings.items() if k.endswith(".place")} == {
        "hca[mlx5_r0].place": "mlx5_r1",
        "hca[mlx5_r1].place": "mlx5_r0",
    }


def test_the_smi_device_of_a_subnet_manager_is_not_the_adapter(tmp_path: Path) -> None:
    """`rdma dev add smi1 type SMI parent mlx5_r0` (rdma-dev.8), which tools for XDR fabrics need; it is at the same PCI address."""
    root = node(tmp_path, {"0000:18:00.0": "mlx5_r0", "0000:40:00.0": "mlx5_r1"})
    for name in ("smi1", "smi-mlx5_r0"):
        write_files(root, {f"/sys/bus/pci/devices/0000:18:00.0/infiniband/{name}/node_type": "1: CA"})
    assert [f.found for k, f in places(root).items() if k.endswith(".place")] == ["mlx5_r0", "mlx5_r1"]
    assert rules(root, ADDRESSES) == {}


def test_without_an_address_there_is_no_place(tmp_path: Path) -> None:
    rows = [{k: v for k, v in row.items() if k != "pci"} for row in ROWS]
    findings = found(hardware.test_hcas, "hardware", node(tmp_path, {}), declared("hardware", hardware_hcas=rows), ".place")
    assert [f.outcome for f in findings.values()] == [Outcome.NOT_APPLICABLE] * 2


def rules(root: Path, addresses: dict[str, str]) -> dict[str, str]:
    variables = declared("ofed", ofed_device_names="kernel", ofed_devices=list(addresses), ofed_device_addresses=addresses)
    return {
        k: f.found
        for k, f in found(ofed.test_device_names, "ofed", root, variables, "device_name").items()
        if f.outcome not in GOOD and "file" not in k
    }


@pytest.mark.parametrize(
    ("names", "addresses", "wrong"),
    [
        (["mlx5_r0", "mlx5_r1"], ADDRESSES, {}),
        # Behind a dead card the other keeps its name; hardware reports the dead one.
        ([None, "mlx5_r1"], ADDRESSES, {}),
        (["mlx5_0", "mlx5_r1"], ADDRESSES, {"device_name[mlx5_r0].running": "mlx5_0"}),
        (["mlx5_r0", "mlx5_r1"], {"mlx5_r0": "0000:18:00.0"}, {"device_name.others": "0000:40:00.0"}),
        (
            ["mlx5_r0", "mlx5_r1"],
            {**ADDRESSES, "mlx5_r2": "0000:4f:00.0"},
            {"device_name[mlx5_r2].persisted": "no rule for 0000:4f:00.0"},
        ),
    ],
)
def test_rule_and_name_of_each_address(names: list[str | None], addresses: dict[str, str], wrong: dict[str, str], tmp_path: Path) -> None:
    present: dict[str, str | None] = {a: n for a, n in zip(ADDRESSES.values(), names, strict=True) if n}
    assert rules(node(tmp_path, present), addresses) == wrong
