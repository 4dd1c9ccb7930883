"""Adapters whose planes are ports of one device: HGX B300 has four, on ports 3, 6, 9 and 12 of twelve (scitix/sichek pull 98)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.core.gates.nccl_variants import NcclVariant, variant_runs
from clusterctl.core.gates.planning.devices import read_hcas
from clusterctl.core.gates.planning.step import ServerPlace
from clusterctl.core.gates.rdma_pair import GATE, RdmaPairSettings
from clusterctl.core.gates.rdma_pair_gpu import GATE as GPU_GATE
from clusterctl.core.gates.rdma_pair_gpu import RdmaPairGpuSettings
from clusterctl_validators import test_hardware as module
from clusterctl_validators.finding import GOOD, Finding
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record
from clusterctl_validators.spec_view import SpecView
from support.checks import InventedNode, write_files
from support.filters import filter_plugin
from support.gates import perftest
from support.gpu_node import declared

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PLANES = (3, 6, 9, 12)
ADDRESS = "0000:18:00.0"
ROWS: list[dict[str, Any]] = [
    {
        "name": "roce_r0",
        "port": p,
        "pci": ADDRESS,
        "rail": i,
        "gpu": 0,
        "link_layer": "Ethernet",
        "rate_gbps": 200,
        "firmware": "40.48.1000",
    }
    for i, p in enumerate(PLANES)
]
UP = {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "200 Gb/sec (2X NDR)", "link_layer": "Ethernet"}
DOWN = {**UP, "state": "1: DOWN", "phys_state": "3: Disabled"}


def node(root: Path, without: int = 0, low: int = 0) -> Path:
    device, function = "/sys/class/infiniband/roce_r0", f"/sys/bus/pci/devices/{ADDRESS}"
    files = {f"{device}/fw_ver": "40.48.1000", f"{device}/device/vendor": "0x15b3", f"{device}/device/uevent": f"PCI_SLOT_NAME={ADDRESS}"}
    files |= {f"{function}/vendor": "0x15b3", f"{function}/infiniband/roce_r0/node_type": "1: CA"}
    for port in range(1, 13):
        own = UP if port in PLANES else DOWN
        own = {**own, "rate": "100 Gb/sec (1X NDR)"} if port == low else own
        files |= {f"{device}/ports/{port}/{name}": text for name, text in own.items() if port != without}
    return write_files(root, files)


def findings(function: Callable[..., None], root: Path, rows: list[dict[str, Any]] = ROWS) -> list[Finding]:
    record = Record("hardware")
    function(spec=SpecView("hardware", declared("hardware", hardware_hcas=rows)), record=record, probe=Probe(InventedNode(root, {})))
    return record.findings


def test_planes_that_are_up_pass_and_their_device_is_judged_once(tmp_path: Path) -> None:
    found = findings(module.test_hcas, node(tmp_path))
    assert [f.check for f in found if f.outcome not in GOOD] == []
    assert [f.check for f in found if f.check.endswith("firmware")] == ["hardware.hca[roce_r0].firmware"]
    assert [f.check for f in found if f.check.endswith("place")] == ["hardware.hca[roce_r0].place"]
    assert [f.check for f in found if f.check.endswith("].state")] == [f"hardware.hca[roce_r0/{p}].state" for p in PLANES]


def test_a_low_plane_is_named(tmp_path: Path) -> None:
    (bad,) = (f for f in findings(module.test_hcas, node(tmp_path, low=9)) if f.outcome not in GOOD)
    assert (bad.check, bad.expected, bad.found) == ("hardware.hca[roce_r0/9].rate_gbps", "200", "100")


def test_a_port_that_the_device_does_not_have(tmp_path: Path) -> None:
    (bad,) = (f for f in findings(module.test_hcas, node(tmp_path, without=6)) if f.outcome not in GOOD)
    assert (bad.check, bad.found) == ("hardware.hca[roce_r0/6].present", "absent")
    assert "its ports are 1, 2, 3, 4, 5, 7" in bad.hint


@pytest.mark.parametrize("function", [module.test_pcie_links, module.test_iommu, module.test_hcas])
def test_what_all_ports_share_is_recorded_once(function: Callable[..., None], tmp_path: Path) -> None:
    checks = [f.check for f in findings(function, node(tmp_path))]
    assert len(checks) == len(set(checks))
    assert [c for c in checks if "roce_r0]" in c]


def test_four_planes_are_one_adapter() -> None:
    parts = filter_plugin("hardware_parts")
    counts = {name: 0 for name in declared("hardware") if isinstance(declared("hardware")[name], int)}
    variables = {
        **declared("hardware"),
        **counts,
        "hardware_hcas": ROWS,
        "hardware_os": "",
        "hardware_architecture": "",
        "hardware_machines": [],
    }
    text = "/sys/class/infiniband/roce_r0/fw_ver:40.47.1000"
    missing = parts.shortages(variables, {"sysfs": text, "lscpu": "{}", "meminfo": "", "lsblk": "", "nvidia_smi": ""})
    assert missing == ["HCA roce_r0: firmware declared 40.48.1000, found 40.47.1000"]
    assert filter_plugin("hca_places").misplaced(ROWS, f"rdma roce_r0 /sys/devices/pci0000:15/0000:15:01.0/{ADDRESS}") == [
        f"roce_r0 (rail 0): no network adapter at {ADDRESS}; there are none"
    ]


def test_gates_measure_each_plane() -> None:
    hcas = read_hcas({"hardware_hcas": [*ROWS, {"name": "mlx5_1", "rail": 4, "rate_gbps": 400}]}, "n1")
    assert [h.name for h in hcas] == ["roce_r0/3", "roce_r0/6", "roce_r0/9", "roce_r0/12", "mlx5_1"]
    words = GATE.argv(RdmaPairSettings(), "quick", hcas[1], ServerPlace("10.0.0.1", 18515, is_own=True))
    assert words[:5] == ("ib_write_bw", "-d", "roce_r0", "-i", "6")
    assert "-i" not in GATE.argv(RdmaPairSettings(), "quick", hcas[4], ServerPlace("10.0.0.1", 18515, is_own=True))
    gpu = GPU_GATE.argv(RdmaPairGpuSettings(), "quick", hcas[3], ServerPlace("10.0.0.1", 18515))
    assert gpu[gpu.index("-i") + 1] == "12"
    (sample, *_others) = GATE.samples(perftest(200.0, device="roce_r0"))
    assert GATE.is_planned(RdmaPairSettings(), "roce_r0/6", sample)
    assert not GATE.is_planned(RdmaPairSettings(), "roce_r1/6", sample)
    assert GATE.slow_hint(hcas[1], [100.0], "again").startswith("it runs at half its rate: see rate and width in `ibstat roce_r0 6`")


def test_a_run_over_one_plane_names_its_port() -> None:
    hcas = read_hcas({"hardware_hcas": [*ROWS[:1], {"name": "mlx5_1", "rail": 4, "rate_gbps": 400}]}, "n1")
    runs = variant_runs({"adapter": NcclVariant(each_adapter=True)}, hcas)
    assert [run.environment["NCCL_IB_HCA"] for run in runs.values()] == ["=roce_r0:3", "=mlx5_1"]
