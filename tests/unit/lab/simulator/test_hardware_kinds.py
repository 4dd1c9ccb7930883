"""Each kind of simulated hardware: its GPUs show the values of real ones, and its profile declares the same machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.inventory.load import load_profile
from clusterctl.core.gates.planning.devices import read_hcas
from clusterctl_lab.simulator import (
    cabling,
    hardware_kinds,
    machine,
    nccl_debug_log,
    nic_settings,
    nvidia_smi,
    peers,
    procfs,
    smi_tree,
    sysfs_cpu,
    sysfs_memory,
    sysfs_pci,
    sysfs_rdma,
)
from clusterctl_lab.simulator.hardware import with_management
from clusterctl_lab.simulator.hugepages import pages_from_cmdline
from clusterctl_tools import nvidia_smi as parser
from support.lab_machine import LabMachine, lab_machine, simulate_hardware
from support.plain_yaml import load_yaml
from support.recorded import recorded
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl_lab.simulator.hardware import Hardware

LAB = (ROOT / "inventory" / "common", ROOT / "inventory" / "lab")
KINDS = pytest.mark.parametrize("kind", hardware_kinds.KINDS.values(), ids=list(hardware_kinds.KINDS))
REAL = {
    "hgx_h200": "sparecores/gcp-a3-ultragpu-8g.xml",
    "hgx_b200": "sparecores/upcloud-GPU-24xCPU-240GB-1xB200.xml",
    "hgx_a100": "sparecores/gcp-a2-ultragpu-8g.xml",
    "gb300_nvl72": "qx-hardware/qx-gb300.xml",
    "gb200_nvl72": "qx-hardware/qx-gb200.xml",
}
_A_GIB_KIB = 1048576


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Hardware) -> LabMachine:
    simulate_hardware(kind, monkeypatch)
    made = lab_machine(tmp_path, monkeypatch)
    made.gpu_stack()
    return made


@pytest.mark.usefixtures("one")
@pytest.mark.parametrize("kind", [hardware_kinds.KINDS[name] for name in REAL], ids=list(REAL))
def test_gpus_show_the_values_of_real_ones(kind: Hardware, capsys: pytest.CaptureFixture[str]) -> None:
    real = parser.parse_query(recorded(f"nvidia-smi/{REAL[kind.name]}").read_text()).gpus[0]
    assert nvidia_smi.main(["nvidia-smi", "-q", "-x"], "580.126.20") == 0
    ours = parser.parse_query(capsys.readouterr().out).gpus[0]
    fields = ("model", "architecture", "memory_mib", "pcie_gen_max", "pcie_width_max", "power_min_w", "power_max_w")
    for name in (*fields, "fabric_state", "fabric_status", "fabric_health", "ecc_current", "mig_current"):
        assert getattr(ours, name) == getattr(real, name), name


@KINDS
def test_the_profile_declares_the_simulated_machine(kind: Hardware) -> None:
    declared = load_profile(LAB, kind.profile, content=ROOT).roles["hardware"]
    hcas = read_hcas(declared, kind.profile)
    # beside other adapters, the kernel's numbers name no rail: the profile gives names by PCI address
    names = [f"mlx5_r{rail}" for rail in range(len(hcas))] if kind.other_hcas else list(kind.hca_names)
    assert [(h.name, h.rate_gbps) for h in hcas] == [(name, kind.line_rate_gbps) for name in names]
    facts = {
        "hardware_cpu_sockets": kind.sockets,
        "hardware_cpu_cores_per_socket": kind.cores_per_socket,
        "hardware_cpu_threads_per_core": kind.threads_per_core,
        "hardware_gpus": len(kind.gpu_addresses),
        "hardware_gpu_model": kind.gpu_model,
        "hardware_gpu_memory_min_mib": kind.gpu_memory_mib,
        "hardware_gpu_pcie_gen": kind.pcie_gen,
        "hardware_gpu_power_limit_w": kind.gpu_power_limit_w,
        "hardware_gpu_nvlinks": kind.nvlinks,
        "hardware_gpu_fabric": bool(kind.fabric_reporting),
    }
    assert {name: declared[name] for name in facts} == facts
    # A link of the generation before has about half the rate.
    assert 0.9 * float(kind.nvlink_gbs) < declared["hardware_gpu_nvlink_gb_per_s"] <= float(kind.nvlink_gbs)
    assert declared["hardware_numa_nodes"] in (0, kind.numa_nodes)
    assert declared["hardware_memory_min_gib"] <= kind.memory_kib // _A_GIB_KIB


@KINDS
def test_each_lab_profile_overrides_the_same_roles(kind: Hardware) -> None:
    first, own = (ROOT / "inventory" / "lab" / "group_vars" / name for name in (hardware_kinds.HGX_H100.profile, kind.profile))
    tray = {"hugepages.yml"}
    assert {f.name for f in own.iterdir()} == {f.name for f in first.iterdir()} - (tray if kind.rack_nvlink else set())
    firmware = load_yaml((own / "ofed.yml").read_text())["ofed_firmware"]
    assert firmware == [{"psid": kind.hca_board, "version": kind.hca_firmware}]


@KINDS
def test_an_adapter_for_management_moves_the_numbers_behind_it(kind: Hardware) -> None:
    made = with_management(kind, {"name": "mlx5_1", "address": "0000:29:00.0"})
    if kind.management:
        assert made == kind
        return
    assert (made.management, made.other_hcas) == ("0000:29:00.0", (("mlx5_1", "0000:29:00.0"),))
    assert made.hca_names[:2] == ("mlx5_0", "mlx5_2")
    assert len({*made.hca_names, "mlx5_1", *(n for n, _ in made.switch_hcas)}) == len(kind.hca_names) + len(kind.switch_hcas) + 1
    assert made.hca_addresses == kind.hca_addresses
    assert with_management(kind, None) == kind


@KINDS
def test_every_cpu_is_in_one_numa_node_and_one_socket(kind: Hardware, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate_hardware(kind, monkeypatch)
    everyone = list(range(machine.CPUS))
    assert sorted(c for n in range(kind.numa_nodes) for c in machine.cpus_of_numa_node(n)) == everyone
    assert sorted(c for s in range(kind.sockets) for c in machine.cpus_of_socket(s)) == everyone
    assert {machine.numa_node_of_slot(i) for i in range(machine.GPUS)} <= set(range(kind.numa_nodes))
    assert len(kind.numa_of_slot) == len(kind.gpu_addresses) == len(kind.hca_addresses) == len(kind.hca_names)


@pytest.mark.usefixtures("one")
@pytest.mark.parametrize("kind", [hardware_kinds.HGX_A100], ids=["hgx_a100"])
def test_hgx_a100_has_amd_processors_and_eight_numa_nodes(kind: Hardware) -> None:
    files = sysfs_cpu.files("")
    assert files["devices/system/cpu/cpu0/cpuidle/state2/name"] == "C2"
    assert not any("intel_pstate" in name for name in files)
    assert "vendor_id\t: AuthenticAMD" in procfs.cpuinfo()
    memory = sysfs_memory.files("", pages_from_cmdline("", kind.numa_nodes, kind.huge_kib_per_node))
    assert memory["devices/system/node/node7/cpulist"] == "112-127,240-255"
    assert sysfs_pci.files(set())[f"{sysfs_pci.device_folder('0000:07:00.0')}/numa_node"] == 3
    assert smi_tree.fabric_tree(joined=True)["state"] == "N/A"
    assert "NVLS" not in "\n".join(nccl_debug_log.info_lines([(peers.describe_self(), 8)], rack_nvlink=False))


@pytest.mark.usefixtures("one")
@pytest.mark.parametrize("kind", [hardware_kinds.HGX_B200], ids=["hgx_b200"])
def test_the_nvswitches_of_hgx_b200_appear_as_additional_hcas(kind: Hardware) -> None:
    files, links = sysfs_rdma.files("n1", {}), sysfs_rdma.links()
    assert links["class/infiniband/mlx5_11/device"].endswith("0000:08:00.0")
    assert {name.split("/")[2] for name in files} == {*kind.hca_names, "mlx5_8", "mlx5_9", "mlx5_10", "mlx5_11"}
    assert sysfs_pci.files(set())[f"{sysfs_pci.device_folder('0000:05:00.0')}/vpd"] == b"\x82\x03\x00CX7\x90\x0e\x00V0\x0bSMDL=SW_MNG\x78"


@pytest.mark.usefixtures("one")
@pytest.mark.parametrize("kind", [hardware_kinds.GB200_NVL72], ids=["gb200_nvl72"])
def test_hca_names_may_skip_a_number(kind: Hardware) -> None:
    assert kind.hca_names == ("mlx5_0", "mlx5_1", "mlx5_3", "mlx5_4")
    assert machine.hca_index("mlx5_4") == 3
    assert nic_settings.device_of_interface(nic_settings.interface_name(3)) == "mlx5_4"
    assert cabling.switch_port(3, "r20-n01").switch == "leaf-su1-rail3"
    assert "[3]mlx5_4:1/IB" in nccl_debug_log.info_lines([(peers.describe_self(), 4)], rack_nvlink=False)[4]
    with pytest.raises(ValueError, match="tuple"):
        machine.hca_index("mlx5_2")
