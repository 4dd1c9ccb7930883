from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_lab.simulator import machine, procfs, pseudo_files, sysfs_cpu, sysfs_memory, sysfs_pci, sysfs_rdma
from clusterctl_lab.simulator.hugepages import HugePages
from clusterctl_validators.probe import Probe
from clusterctl_validators.rdma_sysfs import read_port
from clusterctl_validators.sources import LocalSource
from support.recorded import recorded

if TYPE_CHECKING:
    from pathlib import Path


@given(st.lists(st.integers(0, 223), min_size=1, unique=True).map(sorted))
def test_cpu_lists_and_masks_name_the_same_cpus(cpus: list[int]) -> None:
    listed: list[int] = []
    for part in machine.cpu_list(cpus).split(","):
        first, _, end = part.partition("-")
        listed += range(int(first), int(end or first) + 1)
    mask = int(machine.cpu_mask(cpus).replace(",", ""), 16)
    assert listed == cpus == [c for c in range(machine.CPUS) if mask >> c & 1]


def test_every_cpu_is_in_one_numa_node() -> None:
    cpus = [c for node in range(machine.NUMA_NODES) for c in machine.cpus_of_numa_node(node)]
    assert sorted(cpus) == list(range(machine.CPUS))


def test_device_identities_are_derived_from_the_node_name() -> None:
    uuids = {machine.gpu(node, i).uuid for node in ("a", "b") for i in range(machine.GPUS)}
    assert len(uuids) == 2 * machine.GPUS
    assert machine.gpu("a", 0) == machine.gpu("a", 0)
    assert len({machine.hca_guid("a", i) for i in range(machine.HCAS)}) == machine.HCAS


def test_hcas_have_the_sysfs_files_of_a_real_hca(tmp_path: Path) -> None:
    pseudo_files.write_files(str(tmp_path), sysfs_rdma.files("n1", {}))
    real = recorded("rdma-sysfs/gpud-h100/mlx5_4")
    expected = {p.relative_to(real).as_posix() for p in real.rglob("*") if p.is_file()}
    ours = {p.relative_to(tmp_path / "class/infiniband/mlx5_4").as_posix() for p in (tmp_path / "class/infiniband/mlx5_4").rglob("*")}
    assert expected - ours == set()


@pytest.mark.parametrize(("trained", "rate"), [({}, 400), ({"mlx5_2": 200}, 200)])
def test_the_validators_read_a_port(tmp_path: Path, trained: dict[str, int], rate: int) -> None:
    pseudo_files.write_files(str(tmp_path / "sys"), sysfs_rdma.files("n1", trained))
    port = read_port(Probe(LocalSource(str(tmp_path))), "mlx5_2")
    assert port is not None
    assert (port.state, port.phys_state, port.rate_gbps, port.link_layer) == ("ACTIVE", "LinkUp", rate, "InfiniBand")


def test_pci_devices_have_configuration_space_and_links(tmp_path: Path) -> None:
    pseudo_files.write_files(str(tmp_path), sysfs_pci.files({5}))
    pseudo_files.make_links(str(tmp_path), sysfs_pci.links({5}))
    space = (tmp_path / "bus/pci/devices/0000:1a:00.0/config").read_bytes()
    assert space[:4] == bytes.fromhex("de103023")
    assert not (tmp_path / "bus/pci/devices/0000:c0:00.0").exists()
    links = list((tmp_path / "bus/pci/devices").iterdir())
    ports = [p for p in links if (p / "class").read_text() == "0x060400\n"]
    # A GPU and its HCA: a root port and the three ports of a switch.
    assert len(ports) == 4 * machine.GPUS + len(machine.THIS.nvswitch_addresses)
    assert len(links) - len(ports) == machine.GPUS + machine.HCAS + len(machine.THIS.nvswitch_addresses) - 1
    assert all((p / "vendor").exists() for p in links)


def test_meminfo_counts_huge_pages() -> None:
    pages = HugePages(2, machine.THIS.huge_kib_per_node)
    pages.set_node(0, 2048, 10)
    pages.set_node(1, 1048576, 2)
    text = sysfs_memory.meminfo(pages)
    assert "HugePages_Total:      10" in text
    assert f"Hugetlb:          {10 * 2048 + 2 * 1048576:>7} kB" in text


def test_the_real_lscpu_shows_the_processors(tmp_path: Path) -> None:
    pseudo_files.write_files(str(tmp_path / "sys"), sysfs_cpu.files(""))
    pseudo_files.write_files(str(tmp_path / "sys"), sysfs_memory.files("", HugePages(2, 1)))
    pseudo_files.make_links(str(tmp_path / "sys"), sysfs_cpu.links())
    pseudo_files.write_files(str(tmp_path / "proc"), {"cpuinfo": procfs.cpuinfo()})
    try:
        done = subprocess.run(["lscpu", "-J", "--sysroot", str(tmp_path)], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("lscpu is not installed")
    output = json.dumps(json.loads(done.stdout))
    assert f'"data": "{machine.CPUS}"' in output
    assert machine.THIS.processor.model in output


def test_the_kernel_keeps_memory_free_by_its_own_rule() -> None:
    # 4 * sqrt(2113376000 KiB); a recorded machine of 2 TiB.
    assert procfs.proc_sys_files("", "b", 0)["vm/min_free_kbytes"] == 183885


def test_kernel_files_follow_the_command_line() -> None:
    files = procfs.proc_sys_files("nmi_watchdog=0 numa_balancing=disable", "b", 7)
    assert (files["kernel/nmi_watchdog"], files["kernel/numa_balancing"], files["vm/nr_hugepages"]) == ("0", 0, 7)
    memory = sysfs_memory.files("transparent_hugepage=never", HugePages(2, 1))
    assert memory["kernel/mm/transparent_hugepage/enabled"] == "always madvise [never]"
    assert sysfs_cpu.files("isolcpus=managed_irq,domain,2-5")["devices/system/cpu/isolated"] == "2-5"
