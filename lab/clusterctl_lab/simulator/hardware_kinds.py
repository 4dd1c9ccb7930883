"""The hardware that a lab node can simulate, as data.

GPU values come from recorded `nvidia-smi -q -x` output: GB300 and GB200 from NVIDIA/k8s-test-infra (qx-gb300.xml, qx-gb200.xml), the others from
SpareCores/sc-inspector-data (gcp a2-ultragpu-8g and a3-ultragpu-8g, upcloud GPU-24xCPU-240GB-1xB200). Bandwidths are those of healthy machines in
cli/clusterctl/core/gates/published.yml, or close to them. Idle latencies of processors come from their drivers or firmware. Assumed: boards and firmware of HCAs, and PCI addresses other than those of HGX H100,
DGX H100, DGX A100 and the GPUs of compute trays.
"""

from __future__ import annotations

from dataclasses import replace

from .hardware import Hardware, Processor

_GIB_KIB = 1048576


def _addresses(buses: str) -> tuple[str, ...]:
    return tuple(f"0000:{bus}:00.0" for bus in buses.split())


def _mlx5(numbers: str) -> tuple[str, ...]:
    return tuple(f"mlx5_{number}" for number in numbers.split())


_XEON = Processor(
    model="Intel(R) Xeon(R) Platinum 8480C",
    vendor="GenuineIntel",
    family=6,
    number=143,
    stepping=8,
    flags="fpu sse sse2 ht lm constant_tsc pdpe1gb epb avx2 avx512f amx_tile",
    frequency_driver="intel_pstate",
    governors="performance powersave",
    khz=(800000, 3800000),
    idle_driver="intel_idle",
    idle_states=(("POLL", 0), ("C1", 1), ("C1E", 2), ("C6", 290)),
)
_EPYC = Processor(
    model="AMD EPYC 7742 64-Core Processor",
    vendor="AuthenticAMD",
    family=23,
    number=49,
    stepping=0,
    flags="fpu sse sse2 ht lm constant_tsc pdpe1gb avx2 sme sev",
    frequency_driver="acpi-cpufreq",
    governors="conservative ondemand userspace powersave performance schedutil",
    khz=(1500000, 2250000),
    idle_driver="acpi_idle",
    idle_states=(("POLL", 0), ("C1", 1), ("C2", 400)),
)
# On Arm the firmware describes the low-power idle states (LPI) to the kernel. The latencies are assumed.
_GRACE = Processor(
    model="Neoverse-V2",
    vendor="",
    family=0,
    number=0,
    stepping=0,
    flags="",
    frequency_driver="cppc_cpufreq",
    governors="performance powersave",
    khz=(81000, 3402000),
    idle_driver="acpi_idle",
    idle_states=(("LPI-0", 1), ("LPI-1", 120)),
)

HGX_H100 = Hardware(
    name="hgx_h100",
    title="HGX H100",
    profile="profile_lab",
    processor=_XEON,
    sockets=2,
    cores_per_socket=56,
    threads_per_core=2,
    numa_nodes=2,
    numa_of_slot=(0, 0, 0, 0, 1, 1, 1, 1),
    memory_kib=2113376000,
    huge_kib_per_node=900 * _GIB_KIB,
    gpu_model="NVIDIA H100 80GB HBM3",
    gpu_architecture="Hopper",
    gpu_memory_mib=81559,
    gpu_power_min_w=200,
    gpu_power_limit_w=700,
    gpu_pci_id=0x2330,
    gpu_addresses=_addresses("1a 40 53 66 9c c0 d2 e4"),
    hca_names=_mlx5("0 1 2 3 4 5 6 7"),
    hca_addresses=_addresses("18 3d 50 5e 9a bd cc e0"),
    hca_pci_id=0x1021,
    hca_type="MT4129",
    hca_family="ConnectX7",
    hca_board="MT_0000000838",
    hca_firmware="28.39.3560",
    line_rate_gbps=400,
    nvswitch_addresses=_addresses("05 06 07 08"),
    nvswitch_pci_id=0x22A3,
    pcie_gen=5,
    nvlinks=18,
    nvlink_gbs="26.562",
    nvls=True,
    rack_nvlink=False,
    fabric_reporting="state",
    node_busbw_gbs=481.0,
    group_busbw_gbs=389.0,
    pair_busbw_gbs=485.0,
    copies_gbs=(55.4, 55.2, 48.9, 394.6),
    gemm_tflops=769.0,
)
HGX_H100_ROCE = replace(HGX_H100, name="hgx_h100_roce", title="HGX H100 with RoCE", profile="profile_lab_hgx_h100_roce", ethernet=True)
# Fabric ports: DGX H100/H200 user guide, network modules (ibp24s0 is bus 0x18). GPUs: `nvidia-smi` of public nodes with H100 SXM5. The cards of slots 1 and 2 carry management on their second port and
# storage on the first (BasePOD deployment guide); their addresses are those of a public node (enp41s0f1np1 and enp170s0f1np1 with `ibdev2netdev`).
DGX_H100 = replace(
    HGX_H100,
    name="dgx_h100",
    title="DGX H100",
    profile="profile_lab_dgx_h100",
    gpu_addresses=_addresses("1b 43 52 61 9d c3 d1 df"),
    hca_names=_mlx5("0 3 4 5 6 9 10 11"),
    hca_addresses=_addresses("18 40 4f 5e 9a c0 ce dc"),
    other_hcas=tuple(zip(_mlx5("1 2 7 8"), ("0000:29:00.0", "0000:29:00.1", "0000:aa:00.0", "0000:aa:00.1"), strict=True)),
    management="0000:29:00.1",
)
# The same board with different GPU memory.
HGX_H200 = replace(
    HGX_H100,
    name="hgx_h200",
    title="HGX H200",
    profile="profile_lab_hgx_h200",
    gpu_model="NVIDIA H200",
    gpu_memory_mib=143771,
    gpu_pci_id=0x2335,
)
# DGX B200 has two Xeon 8570. Its NVSwitches are not PCI bridges; they have HCAs for management, whose names follow those of the rails.
HGX_B200 = replace(
    HGX_H100,
    name="hgx_b200",
    title="HGX B200",
    profile="profile_lab_hgx_b200",
    processor=replace(_XEON, model="INTEL(R) XEON(R) PLATINUM 8570", number=207, stepping=2),
    gpu_model="NVIDIA B200",
    gpu_architecture="Blackwell",
    gpu_memory_mib=183359,
    gpu_power_limit_w=1000,
    gpu_pci_id=0x2901,
    nvswitch_addresses=(),
    switch_hcas=tuple(zip(_mlx5("8 9 10 11"), _addresses("05 06 07 08"), strict=True)),
    nvlink_gbs="53.125",
    subnet_manager=True,
    fabric_reporting="health",
    node_busbw_gbs=842.0,
    copies_gbs=(55.7, 56.4, 49.9, 768.0),
    gemm_tflops=1745.0,
)
# Four NUMA nodes per socket (NPS4); every second one has a PCIe switch with two GPUs and two HCAs.
HGX_A100 = replace(
    HGX_H100,
    name="hgx_a100",
    title="HGX A100",
    profile="profile_lab_hgx_a100",
    processor=_EPYC,
    cores_per_socket=64,
    numa_nodes=8,
    numa_of_slot=(3, 3, 1, 1, 7, 7, 5, 5),
    huge_kib_per_node=220 * _GIB_KIB,
    gpu_model="NVIDIA A100-SXM4-80GB",
    gpu_architecture="Ampere",
    gpu_memory_mib=81920,
    gpu_power_min_w=100,
    gpu_power_limit_w=400,
    gpu_pci_id=0x20B2,
    gpu_addresses=_addresses("07 0f 47 4e 87 90 b7 bd"),
    hca_addresses=_addresses("0c 12 4b 54 8d 94 ba cc"),
    hca_pci_id=0x101B,
    hca_type="MT4123",
    hca_family="ConnectX6",
    hca_board="MT_0000000223",
    hca_firmware="20.43.2026",
    line_rate_gbps=200,
    nvswitch_addresses=_addresses("c4 c5 c6 c7 c8 c9"),
    nvswitch_pci_id=0x1AF1,
    pcie_gen=4,
    nvlinks=12,
    nvlink_gbs="25",
    nvls=False,
    fabric_reporting="",
    node_busbw_gbs=233.0,
    group_busbw_gbs=190.0,
    pair_busbw_gbs=0.0,
    copies_gbs=(24.6, 25.1, 21.9, 273.0),
    gemm_tflops=271.0,
)
GB300_NVL72 = replace(
    HGX_H100,
    name="gb300_nvl72",
    title="GB300 NVL72 compute tray",
    profile="profile_lab_nvl72",
    processor=_GRACE,
    cores_per_socket=72,
    threads_per_core=1,
    numa_of_slot=(0, 0, 1, 1),
    memory_kib=980 * _GIB_KIB,
    huge_kib_per_node=400 * _GIB_KIB,
    gpu_model="NVIDIA GB300",
    gpu_architecture="Blackwell",
    gpu_memory_mib=284208,
    gpu_power_limit_w=1400,
    gpu_pci_id=0x31C2,
    gpu_addresses=("0008:06:00.0", "0009:06:00.0", "0018:06:00.0", "0019:06:00.0"),
    hca_names=_mlx5("0 1 2 3"),
    hca_addresses=("0000:03:00.0", "0002:03:00.0", "0010:03:00.0", "0012:03:00.0"),
    hca_pci_id=0x1023,
    hca_type="MT4131",
    hca_family="ConnectX8",
    hca_board="MT_0000001069",
    hca_firmware="40.45.1200",
    line_rate_gbps=800,
    nvswitch_addresses=(),
    pcie_gen=6,
    nvlink_gbs="53.125",
    rack_nvlink=True,
    fabric_reporting="health",
    node_busbw_gbs=685.0,
    group_busbw_gbs=930.0,
    pair_busbw_gbs=842.0,
    network_busbw_gbs=376.0,
    copies_gbs=(211.5, 193.5, 171.9, 768.6),
    gemm_tflops=1850.0,
)
# Source of HCA names and addresses: NVIDIA/NVSentinel, docs/nic-health-monitor/link-state-detection.md.
GB200_NVL72 = replace(
    GB300_NVL72,
    name="gb200_nvl72",
    title="GB200 NVL72 compute tray",
    profile="profile_lab_gb200_nvl72",
    gpu_model="NVIDIA GB200",
    gpu_memory_mib=189471,
    gpu_power_limit_w=1200,
    gpu_pci_id=0x2941,
    gpu_addresses=_addresses("29 3f 9c b2"),
    hca_names=_mlx5("0 1 3 4"),
    hca_pci_id=0x1021,
    hca_type="MT4129",
    hca_family="ConnectX7",
    hca_board="MT_0000000844",
    hca_firmware="28.46.3048",
    line_rate_gbps=400,
    pcie_gen=5,
    node_busbw_gbs=673.0,
    group_busbw_gbs=834.0,
    pair_busbw_gbs=838.0,
    network_busbw_gbs=191.0,
    copies_gbs=(201.0, 193.0, 171.0, 768.0),
    gemm_tflops=1822.0,
)
KINDS = {kind.name: kind for kind in (HGX_H100, HGX_H100_ROCE, DGX_H100, HGX_H200, HGX_B200, HGX_A100, GB300_NVL72, GB200_NVL72)}
