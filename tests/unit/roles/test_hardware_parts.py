from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.core.check_names import names_check
from support.checks import write_files
from support.filters import filter_plugin
from support.gpu_node import declared
from support.plain_yaml import load_yaml
from support.recorded import recorded
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

plugin = filter_plugin("hardware_parts")
GPU = "{i}, NVIDIA H100 80GB HBM3, 81559, 96.00.CF.00.01, 5, 16"


def sources(**changes: str) -> dict[str, str]:
    """The raw texts of a node as declared by the profile."""
    gpus = [f"/sys/bus/pci/devices/0000:{0x10 + i:02x}:00.0" for i in range(8)] + ["/sys/bus/pci/devices/0000:05:00.0"]
    lines = [f"{g}/vendor:0x10de" for g in gpus] + [f"{g}/class:0x030200" for g in gpus[:8]] + [f"{gpus[8]}/class:0x068000"]
    hcas = [f"/sys/bus/pci/devices/0000:{0x20 + i:02x}:00.0" for i in range(8)]
    lines += [f"{h}/vendor:0x15b3" for h in hcas] + [f"{h}/class:0x020700" for h in hcas]
    lines += [f"/sys/class/infiniband/mlx5_{i}/fw_ver:28.39.3560" for i in range(8)]
    lines += ["/etc/os-release:ID=ubuntu", '/etc/os-release:VERSION_ID="24.04"', "/sys/class/dmi/id/product_name:SYS-821GE-TNHR"]
    disks = ",".join(f'{{"name": "nvme{i}n1", "type": "disk", "mountpoint": null}}' for i in range(8))
    healthy = {
        "lscpu": recorded("lscpu/sparecores-gcp-a3-highgpu-8g.json").read_text(),
        "meminfo": "MemTotal:       2113376000 kB\n",
        "sysfs": "\n".join(lines),
        "lsblk": f'{{"blockdevices": [{disks}]}}',
        "nvidia_smi": "\n".join(GPU.format(i=i) for i in range(8)),
    }
    return {**healthy, **changes}


def spec(**changes: Any) -> dict[str, Any]:
    return declared("hardware", **{"hardware_cpu_cores_per_socket": 52, **changes})


def test_a_node_with_every_part() -> None:
    assert plugin.shortages(spec(), sources()) == []


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"hardware_architecture": "aarch64"}, "hardware_architecture: declared aarch64, found x86_64"),
        ({"hardware_os": "ubuntu 22.04"}, "hardware_os: declared ubuntu 22.04, found ubuntu 24.04"),
        (
            {"hardware_machines": ["DGXH100", "PowerEdge XE9680"]},
            "hardware_machines: declared DGXH100 or PowerEdge XE9680, found SYS-821GE-TNHR",
        ),
    ],
    ids=["architecture", "release", "model"],
)
def test_another_machine_than_the_declared_one_is_refused(changes: dict[str, Any], line: str) -> None:
    assert plugin.shortages(spec(**changes), sources()) == [line]


def test_the_device_of_a_subnet_manager_does_not_stand_for_a_missing_adapter() -> None:
    text = sources()["sysfs"].replace("/sys/class/infiniband/mlx5_7/", "/sys/class/infiniband/smi1/")
    assert plugin.shortages(spec(), sources(sysfs=text)) == ["HCAs: declared 8, found 7"]


ASSERTED = {
    "hardware_architecture": "hardware.cpu.architecture",
    "hardware_os": "hardware.os",
    "hardware_machines": "hardware.machine",
    "hardware_cpu_sockets": "hardware.cpu.sockets",
    "hardware_cpu_cores_per_socket": "hardware.cpu.cores_per_socket",
    "hardware_memory_min_gib": "hardware.memory",
    "hardware_gpus": "hardware.gpus.on_pci",
    "hardware_hcas": "hardware.hca[mlx5_0].present",
    "hardware_nvme_data_disks": "hardware.nvme_data_disks",
    "hardware_gpu_model": "hardware.gpu[0].model",
    "hardware_gpu_memory_min_mib": "hardware.gpu[0].memory_mib",
    "hardware_gpu_vbios": "hardware.gpu[0].vbios",
    "hardware_gpu_pcie_gen": "hardware.gpu[0].pcie_gen_max",
    "hardware_gpu_pcie_width": "hardware.gpu[0].pcie_width",
}


def test_all_that_the_role_asserts_starts_it() -> None:
    read: set[str] = set()

    class Seen(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            read.add(name)
            return super().__getitem__(name)

    plugin.shortages(Seen(spec()), sources())
    assert read == set(ASSERTED), "hardware.hca.firmware and .place are keys of hardware_hcas"
    declared = read_traits(()).of("hardware").asserted
    checks = [*ASSERTED.values(), "hardware.hca[mlx5_0].firmware", "hardware.hca[mlx5_0].place", "hardware.cpu"]
    assert [c for c in checks if not names_check(declared, c)] == []


@pytest.mark.parametrize("loaded", [True, False], ids=["with a driver", "without a driver"])
def test_a_function_that_manages_nvswitches_does_not_stand_for_a_missing_adapter(loaded: bool) -> None:
    """HGX B200: four functions of the baseboard are on the bus and in /sys/class/infiniband beside the adapters (Fabric Manager User Guide)."""
    function, name = "/sys/bus/pci/devices/0000:27:00.0", "/sys/class/infiniband/mlx5_7"
    lines = [f"{function}/vpd:SW_MNG", f"{name}/vpd:SW_MNG", *sources()["sysfs"].splitlines()]
    text = "\n".join(x for x in lines if loaded or "infiniband" not in x)
    assert plugin.shortages(spec(), sources(sysfs=text)) == ["HCAs: declared 8, found 7"]


def test_the_role_reads_which_functions_manage_nvswitches(tmp_path: Path) -> None:
    products = {
        "0000:05:00.0/vpd": "SMDL=SW_MNG",
        "0000:18:00.0/vpd": "CX7",
        "0000:05:00.0/infiniband/mlx5_3/x": "",
        "0000:18:00.0/infiniband/mlx5_0/x": "",
    }
    write_files(tmp_path, {f"/sys/bus/pci/devices/{path}": text for path, text in products.items()})
    write_files(tmp_path, {f"/sys/bus/pci/devices/{a}/vendor": "0x15b3" for a in ("0000:05:00.0", "0000:18:00.0")})
    tasks = load_yaml((ROOT / "roles/hardware/tasks/read.yml").read_text())
    script = next(t["ansible.builtin.shell"]["cmd"] for t in tasks if "ansible.builtin.shell" in t)
    done = subprocess.run(["sh", "-c", script.replace("/sys/bus", f"{tmp_path}/sys/bus")], capture_output=True, text=True, check=True)
    found = [line.replace(str(tmp_path), "") for line in done.stdout.splitlines() if "vpd" in line]
    assert found == ["/sys/bus/pci/devices/0000:05:00.0/vpd:SW_MNG", "/sys/class/infiniband/mlx5_3/vpd:SW_MNG"]


def test_the_declared_machine_is_one_of_several() -> None:
    assert plugin.shortages(spec(hardware_machines=["DGXH100", "SYS-821GE-TNHR"]), sources()) == []
    assert plugin.shortages(spec(hardware_os="", hardware_architecture=""), sources()) == []


def test_a_machine_that_names_nothing_is_refused() -> None:
    nothing = sources(sysfs="\n".join(x for x in sources()["sysfs"].splitlines() if "product_name" not in x and "os-release" not in x))
    assert plugin.shortages(spec(hardware_machines=["DGXH100"]), nothing) == [
        "hardware_os: declared ubuntu 24.04, found nothing",
        "hardware_machines: declared DGXH100, found nothing",
    ]


def test_without_a_driver_the_bus_is_enough() -> None:
    assert plugin.shortages(spec(), sources(nvidia_smi="")) == []


def test_all_missing_parts_are_reported_together() -> None:
    node = sources()
    node["sysfs"] = "\n".join(line for line in node["sysfs"].splitlines() if "mlx5_3/" not in line and "0000:17:" not in line)
    node["meminfo"] = "MemTotal: 1056688000 kB\n"
    assert plugin.shortages(spec(hardware_cpu_sockets=4), node) == [
        "processor sockets: declared 4, found 2",
        "GiB of memory: declared 1900, found 1007",
        "GPUs on the PCI bus: declared 8, found 7",
        "HCAs: declared 8, found 7",
    ]


@pytest.mark.parametrize(("processors_kib", "missing"), [(1003243520, []), (501693440, ["GiB of memory: declared 890, found 478"])])
def test_memory_of_gpus_is_not_that_of_the_node(processors_kib: int, missing: list[str]) -> None:
    """The numbers of `numactl -H` on a GB200 tray; half of it is gone in the second case."""
    at = "/sys/devices/system/node/node"
    lines = [f"{at}0/cpulist:0-71", f"{at}1/cpulist:72-143", f"{at}0/meminfo:Node 0 MemTotal:       {processors_kib // 2} kB"]
    lines += [f"{at}{node}/meminfo:Node {node} MemTotal:       192937984 kB" for node in (2, 10, 18, 26)]
    lines += ["/proc/iomem:100000000000-102dffffffff : System RAM (NVIDIA)"]
    node = sources(meminfo=f"MemTotal:       {processors_kib + 4 * 192937984} kB\n")
    node["sysfs"] += "\n" + "\n".join(lines)
    assert plugin.shortages(spec(hardware_memory_min_gib=890), node) == missing
    without_a_driver = {**node, "sysfs": "\n".join(line for line in node["sysfs"].splitlines() if "iomem" not in line)}
    assert plugin.shortages(spec(hardware_memory_min_gib=890), without_a_driver) == []


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"lscpu": "not JSON"}, "processor sockets: declared 2, but the number on this node cannot be read"),
        ({"meminfo": ""}, "GiB of memory: declared 1900, but the number on this node cannot be read"),
        ({"lsblk": ""}, "NVMe data disks: declared 8, but the number on this node cannot be read"),
        ({"nvidia_smi": "No devices were found"}, "not a row of a GPU"),
        ({"nvidia_smi": GPU.format(i=3).replace("81559", "65247")}, "GPU 3: hardware_gpu_memory_min_mib declared 81559, found 65247"),
        ({"nvidia_smi": GPU.format(i=3).replace("HBM3", "PCIe")}, "GPU 3: hardware_gpu_model"),
        ({"nvidia_smi": GPU.format(i=0).replace(" 5, 16", " 5, 8")}, "GPU 0: hardware_gpu_pcie_width declared 16, found 8"),
        ({"nvidia_smi": GPU.format(i=0).replace("81559", "[N/A]")}, "found [N/A]"),
    ],
)
def test_missing_information_counts_as_missing_parts(changes: dict[str, str], line: str) -> None:
    assert line in "; ".join(plugin.shortages(spec(), sources(**changes)))


def test_a_disk_on_a_network_hides_no_missing_one() -> None:
    """drivers/nvme/host/sysfs.c: `transport` of a controller is pcie, tcp, rdma or fc. With native multipath, below it stands nvme6 for nvme7n1 (a sosreport)."""
    node = sources()
    node["sysfs"] += "".join(f"\n/sys/block/nvme{i}n1/device/transport:pcie" for i in range(6))
    local = node["sysfs"] + "\n/sys/block/nvme6n1/device/nvme7/transport:pcie\n/sys/block/nvme7n1/device/nvme6/transport:"
    assert plugin.shortages(spec(), {**node, "sysfs": local + "tcp"}) == ["NVMe data disks: declared 8, found 7"]
    assert plugin.shortages(spec(), {**node, "sysfs": local + "pcie"}) == []


def test_without_a_driver_the_bus_limits_the_number_of_hcas() -> None:
    bare = [line for line in sources()["sysfs"].splitlines() if "mlx5_" not in line]
    assert plugin.shortages(spec(), sources(sysfs="\n".join(bare))) == []
    assert plugin.shortages(spec(), sources(sysfs="\n".join(line for line in bare if "0000:23:" not in line))) == [
        "HCAs: declared 8, found 7"
    ]


def test_other_network_functions_on_the_bus_hide_no_missing_hca() -> None:
    node = sources()
    lines = [line for line in node["sysfs"].splitlines() if "mlx5_3/" not in line]
    node["sysfs"] = "\n".join(
        [*lines, "/sys/bus/pci/devices/0000:30:00.0/vendor:0x8086", "/sys/bus/pci/devices/0000:30:00.0/class:0x020000"]
    )
    assert plugin.shortages(spec(), node) == ["HCAs: declared 8, found 7"]


def test_pinned_firmware() -> None:
    hcas = [{"name": "mlx5_0", "link_layer": "InfiniBand"}, {"name": "mlx5_1", "link_layer": "InfiniBand", "firmware": "28.43.2566"}]
    assert plugin.shortages(spec(hardware_hcas=hcas), sources()) == ["HCA mlx5_1: firmware declared 28.43.2566, found 28.39.3560"]


def test_settings_of_other_roles_are_not_missing_parts() -> None:
    """The BIOS determines NUMA nodes and threads, the adapter's configuration the link layer, its driver the name."""
    hcas = [{"name": f"mlx5_{i}", "link_layer": "Ethernet", "rate_gbps": 400, "firmware": "28.39.3560"} for i in range(8)]
    node = sources()
    node["sysfs"] = "\n".join(line for line in node["sysfs"].splitlines() if "mlx5_" not in line)
    assert plugin.shortages(spec(hardware_numa_nodes=8, hardware_cpu_threads_per_core=4, hardware_hcas=hcas), node) == []


def test_more_than_declared_is_enough_and_zero_is_not_declared() -> None:
    assert plugin.shortages(spec(hardware_gpus=4, hardware_cpu_sockets=0, hardware_nvme_data_disks=0), sources(lsblk="")) == []
