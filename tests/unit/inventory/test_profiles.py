"""Every profile of the content, resolved as nodes of it would be."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import TYPE_CHECKING, Any, cast

import pytest

from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.core.gates.planning.devices import hcas_of
from clusterctl.model.errors import SpecInvalidError
from clusterctl.model.node import Connection, Node, Place
from support.declared_profiles import COMMON, declared_profile
from support.filters import filter_plugin
from support.plain_yaml import load_yaml

if TYPE_CHECKING:
    from clusterctl.model.problem import Problem

EXPECTED = {
    "profile_dgx_h100_ib": ("NVIDIA H100 80GB HBM3", 8, 8),
    "profile_dgx_h200_ib": ("NVIDIA H200", 8, 8),
    "profile_gb200_nvl72": ("NVIDIA GB200", 4, 4),
    "profile_gb200_nvl72_roce": ("NVIDIA GB200", 4, 4),
    "profile_gb300_nvl72": ("NVIDIA GB300", 4, 4),
    "profile_gb300_nvl72_roce": ("NVIDIA GB300", 4, 8),
    "profile_hgx_a100_40gb_ib": ("NVIDIA A100-SXM4-40GB", 8, 8),
    "profile_hgx_a100_ib": ("NVIDIA A100-SXM4-80GB", 8, 8),
    "profile_hgx_b200_ib": ("NVIDIA B200", 8, 8),
    "profile_hgx_b200_roce": ("NVIDIA B200", 8, 8),
    "profile_hgx_b200_spectrum_x": ("NVIDIA B200", 8, 8),
    "profile_hgx_b300_ib": ("NVIDIA B300 SXM6 AC", 8, 8),
    "profile_hgx_b300_roce": ("NVIDIA B300 SXM6 AC", 8, 16),
    "profile_hgx_h100_ib": ("NVIDIA H100 80GB HBM3", 8, 8),
    "profile_hgx_h100_roce": ("NVIDIA H100 80GB HBM3", 8, 8),
    "profile_hgx_h200_ib": ("NVIDIA H200", 8, 8),
    "profile_hgx_h200_roce": ("NVIDIA H200", 8, 8),
    "profile_hgx_h200_spectrum_x": ("NVIDIA H200", 8, 8),
}
PROFILES = pytest.mark.parametrize("profile", sorted(EXPECTED))
_GROUP = re.compile(r"^(platform|fabric|machine|profile)_")


def leaves(tree: dict[str, Any] | None) -> set[str]:
    """The names of groups without children."""
    return {
        name
        for group, below in (tree or {}).items()
        for name in (leaves(below["children"]) if below and below.get("children") else {group})
    }


def test_these_are_all_profiles() -> None:
    assert leaves(load_yaml((COMMON / "groups.yml").read_text())) == set(EXPECTED)


@PROFILES
def test_a_profile_loads_and_declares_its_machine(profile: str) -> None:
    spec, (model, gpus, hcas) = declared_profile(profile), EXPECTED[profile]
    hardware = spec.roles["hardware"]
    assert (hardware["hardware_gpu_model"], hardware["hardware_gpus"], len(hardware["hardware_hcas"])) == (model, gpus, hcas)
    assert spec.roles["nvidia_driver"]["nvidia_driver_gpu_architecture"]
    assert hardware["hardware_gpu_power_limit_w"] > 0


@PROFILES
def test_every_gate_has_a_bar_with_a_source(profile: str) -> None:
    gates = declared_profile(profile).gates
    bars = gates["gates_baselines"]
    floors = {b["gate"] for b in bars if b["kind"] == "floor"}
    assert {"nccl_node", "nvbandwidth", "rdma_pair", "nccl_group"} <= floors
    for bar in bars:
        assert bar["source"], bar
        assert bar["date"], bar
    by_gate = {(b["gate"], b["metric"], b["kind"]): b["value"] for b in bars}
    assert by_gate["nccl_node", "busbw", "floor"] < by_gate["nccl_node", "busbw", "ceiling"]


@PROFILES
def test_burn_in_reads_what_it_measures(profile: str) -> None:
    node = Node("n1", (profile,), Connection("192.0.2.1"), Place(), declared_profile(profile))
    assert profile_of(node, date(2026, 11, 21)).baselines
    assert [h.rail for h in hcas_of(node)] == list(range(EXPECTED[profile][2]))


@PROFILES
def test_gpu_memory_is_registered_in_the_way_that_the_driver_offers(profile: str) -> None:
    """Without nvidia-peermem only by DMA-BUF: rdma_pair_gpu could never run otherwise."""
    spec = declared_profile(profile)
    assert spec.gates["gates_settings"]["rdma_pair_gpu"]["dmabuf"] is not spec.roles["nvidia_driver"]["nvidia_driver_peermem"]


@PROFILES
def test_a_tray_whose_adapters_reach_gpus_by_data_direct_is_measured_so(profile: str) -> None:
    """Behind Grace an adapter has no other path of its full rate to a GPU, and it is that of one GPU: NVIDIA's guide shows ibp3s0 beside GPU 0009:06:00.0."""
    spec = declared_profile(profile)
    by_data_direct = "gb300" in profile
    assert spec.gates["gates_settings"]["rdma_pair_gpu"]["data_direct"] is by_data_direct
    near = spec.gates["gates_settings"]["rdma_pair_gpu"]["near_gpus"]
    hcas = spec.roles["hardware"]["hardware_hcas"]
    planes = len(hcas) // 4
    assert near == ([gpu for gpu in (1, 0, 3, 2) for _ in range(planes)] if by_data_direct else [])
    # A GPU beside an adapter would have to be on its PCIe switch, where the role ofed looks for it.
    assert not by_data_direct or all(hca.get("gpu") is None for hca in hcas)


def test_sharp_channels_are_accepted_where_sharp_is_declared() -> None:
    used = {declared: declared_profile("profile_hgx_h100", json.dumps({"infiniband_sharp": declared})) for declared in (True, False)}
    sharp = {declared: spec.gates["gates_settings"]["nccl_group"]["sharp"] for declared, spec in used.items()}
    assert sharp == {True: "accepted", False: "refused"}
    assert declared_profile("profile_hgx_h100").gates["gates_settings"]["nccl_group"]["sharp"] == "refused"


@PROFILES
def test_a_profile_whose_iommu_is_on_declares_acs(profile: str) -> None:
    """The kernel enables ACS together with the IOMMU. On compute trays a GPU and its HCA share no switch, or Data Direct decides."""
    roles = declared_profile(profile).roles
    x86 = "intel_iommu" in roles["kernel"]["kernel_cmdline"] or "amd_iommu" in roles["kernel"]["kernel_cmdline"]
    assert ("pcie" in roles) is x86
    by_data_direct = "hgx_b300" in profile
    assert roles.get("pcie", {}).get("pcie_acs", "disabled") == ("" if by_data_direct else "disabled")
    # After the roles that set what it depends on, and before the adapters are used.
    order = [role for role in roles if role in {"kernel", "pcie", "ofed"}]
    assert order == [role for role in ("kernel", "pcie", "ofed") if role in roles]


@PROFILES
def test_what_the_iommu_must_do_is_asked_of_the_kernel_by_name(profile: str) -> None:
    """Kernels differ in what they do without a parameter: linux-nvidia passes through from 6.14 on (NVIDIA/NV-Kernels pulls 226 and 227)."""
    roles = declared_profile(profile).roles
    cmdline = roles["kernel"]["kernel_cmdline"]
    asked = {"passthrough": cmdline.get("iommu") == "pt", "translated": str(cmdline.get("iommu.passthrough")) == "0"}
    assert [state for state, by_name in asked.items() if by_name] == [s for s in roles["hardware"]["hardware_iommu"] if s != "disabled"]


@PROFILES
def test_every_part_of_relaxed_ordering_says_the_same(profile: str) -> None:
    """Devices, adapters' firmware and NCCL; with Data Direct, and on compute trays, no source says whose bit counts."""
    roles = declared_profile(profile).roles
    declared = roles.get("pcie", {}).get("pcie_relaxed_ordering", "")
    assert declared == ("enabled" if "pcie" in roles and "hgx_b300" not in profile else "")
    assert roles["nccl"]["nccl_settings"].get("NCCL_IB_PCI_RELAXED_ORDERING", 1) == 1
    assert "PCI_WR_ORDERING" not in roles["ofed"]["ofed_mlxconfig"]
    assert not roles.get("pcie", {}).get("pcie_gpu_max_read_request_bytes")


@PROFILES
def test_the_roles_themselves_accept_the_tuple(profile: str) -> None:
    """What the roles refuse before they install anything, with the profile's own catalogue."""
    roles = declared_profile(profile).roles
    driver, cuda = roles["nvidia_driver"], roles["cuda"]
    catalogue = load_yaml((COMMON / "group_vars" / "all" / "nvidia_versions.yml").read_text())["nvidia_versions"]
    wish = {
        "versions": cuda["cuda_versions"],
        "default": cuda["cuda_default"],
        "driver": driver["nvidia_driver_version"],
        "minor_compatibility": cuda["cuda_minor_compatibility"],
        "forward_compatibility": cuda["cuda_forward_compatibility"],
    }
    assert filter_plugin("cuda_toolkits").errors(wish, cuda["cuda_packages"], catalogue) == []
    components = ("fabric_manager", "imex", "nvlsm", "persistenced", "dcgm", "container_toolkit")
    versions = {"driver": driver["nvidia_driver_version"], **{c: driver[f"nvidia_driver_{c}_version"] for c in components}}
    module = {"kernel_module": driver["nvidia_driver_kernel_module"], "architecture": driver["nvidia_driver_gpu_architecture"]}
    source, packages = driver["nvidia_driver_source"], driver["nvidia_driver_packages"]
    wanted = {**module, "cuda": driver["nvidia_driver_cuda_version"], "source": source}
    assert filter_plugin("nvidia_tuple").tuple_errors(versions, wanted, packages, catalogue) == []
    flavour, peermem = driver["nvidia_driver_kernel_module"], driver["nvidia_driver_peermem"]
    assert filter_plugin("nvidia_source").source_errors(source, flavour, peermem, packages) == []
    modes = {
        **module,
        **{m: driver[f"nvidia_driver_{m}"] for m in ("fabric", "gsp_firmware", "mig", "ecc", "power_limit_w")},
        "parameters": driver["nvidia_driver_module_parameters"],
    }
    assert filter_plugin("nvidia_modes").mode_errors(modes, versions, catalogue) == []


def test_blackwell_boards_have_their_subnet_manager() -> None:
    driver = declared_profile("profile_hgx_b200_ib").roles["nvidia_driver"]
    packages = {p["name"]: (p["component"], p["version"]) for p in driver["nvidia_driver_packages"]}
    assert packages["nvlsm"] == ("nvlsm", f"{driver['nvidia_driver_nvlsm_version']}-1")
    assert packages["libnvsdm"] == packages["nvidia-fabricmanager"]
    of_other_boards = declared_profile("profile_hgx_h100_ib").roles["nvidia_driver"]["nvidia_driver_packages"]
    assert {p["name"]: (p["component"], p["version"]) for p in of_other_boards}.items() <= packages.items()


@PROFILES
def test_the_fabric_names_devices_that_the_node_has(profile: str) -> None:
    roles = declared_profile(profile).roles
    names = [h["name"] for h in roles["hardware"]["hardware_hcas"]]
    assert roles["nccl"]["nccl_settings"]["NCCL_IB_HCA"] == "=" + ",".join(names)
    if "infiniband" in roles:
        assert [p["device"] for p in roles["infiniband"]["infiniband_ports"]] == names
        assert roles["infiniband"]["infiniband_counter_limits"]["link_downed"] == 0


@PROFILES
def test_no_huge_page_is_reserved_for_nobody(profile: str) -> None:
    pages = declared_profile(profile).roles["hugepages"]
    assert {int(p["count"]) for p in pages["hugepages_pages"]} == {0}
    assert pages["hugepages_mounts"] == []


@PROFILES
def test_what_storage_clients_need_is_added_to_every_row_of_pages(profile: str) -> None:
    own = declared_profile(profile).roles
    assert {"hugepages", "storage_client"} <= set(own)
    asked = [{"size": p["size"], "node": p["node"], "count": 3 + i} for i, p in enumerate(own["hugepages"]["hugepages_pages"])]
    wish = json.dumps({"storage_client_hugepages": asked})
    with_clients = declared_profile(profile, wish).roles["hugepages"]["hugepages_pages"]
    assert [
        {**sum_, "count": int(sum_["count"]) - int(before["count"])}
        for sum_, before in zip(with_clients, own["hugepages"]["hugepages_pages"], strict=True)
    ] == asked


@PROFILES
def test_pages_without_a_row_are_refused(profile: str) -> None:
    nowhere = json.dumps({"storage_client_hugepages": [{"size": "2M", "node": 63, "count": 1}]})
    with pytest.raises(SpecInvalidError, match="storage_client_hugepages"):
        declared_profile(profile, nowhere)


@pytest.mark.parametrize("profile", [name for name in sorted(EXPECTED) if "nvl72" in name])
def test_grace_is_no_x86(profile: str) -> None:
    roles = declared_profile(profile).roles
    assert {a["name"] for a in roles["bios"]["bios_attributes"]["nvidia"]} >= {"ActiveCores", "EGM"}
    assert list(roles).index("nvidia_driver") < list(roles).index("nvlink_domain")
    cmdline = roles["kernel"]["kernel_cmdline"]
    assert not {"intel_iommu", "amd_iommu", "iommu", "pci"} & set(cmdline)
    assert roles["kernel"]["kernel_release"].endswith("-64k")
    assert {p["size"] for p in roles["hugepages"]["hugepages_pages"]} == {"2M"}
    driver = roles["nvidia_driver"]
    assert driver["nvidia_driver_fabric_manager_version"] == ""
    assert driver["nvidia_driver_module_parameters"]["NVreg_ImexChannelCount"] in (2048, "2048")
    assert f"{driver['nvidia_driver_version']}-1" in [p["version"] for p in driver["nvidia_driver_packages"] if p["name"] == "nvidia-imex"]


def test_imex_of_a_scheduler_still_needs_the_drivers_package() -> None:
    per_job = '{"nvlink_domain_imex": false}'
    spec = declared_profile("profile_gb300_nvl72", per_job)
    driver = spec.roles["nvidia_driver"]
    assert (spec.roles["nvlink_domain"]["nvlink_domain_imex"], driver["nvidia_driver_hold"]) == (False, True)
    assert [p["version"] for p in driver["nvidia_driver_packages"] if p["component"] == "imex"] == [f"{driver['nvidia_driver_version']}-1"]
    without = '{"nvidia_driver_fabric": "none", "nvidia_driver_imex_version": ""}'
    with pytest.raises(SpecInvalidError) as refused:
        declared_profile("profile_gb300_nvl72", per_job, without)
    told = [(p.path, p.message) for p in cast("tuple[Problem, ...]", refused.value.values["items"])]
    assert [path for path, _ in told] == ["nvidia_driver_fabric"]
    assert "nvlink_domain_imex is false" in told[0][1]


def test_groups_with_variables_are_groups_that_hosts_can_be_in() -> None:
    text = (COMMON / "groups.yml").read_text()
    for folder in (COMMON / "group_vars").iterdir():
        assert folder.name in {"all", "gpu_nodes"} or _GROUP.match(folder.name), folder.name
        assert folder.name == "all" or f"{folder.name}:" in text, folder.name


@PROFILES
@pytest.mark.parametrize(("release", "parts"), [("22.04", ["modules", "modules-extra", "headers"]), ("24.04", ["modules", "headers"])])
def test_all_packages_of_the_kernel_are_pinned_in_both_releases(profile: str, release: str, parts: list[str]) -> None:
    """Headers for DKMS, and each package that has modules: jammy splits them, noble does not."""
    kernel = declared_profile(profile, f"ubuntu_release={release}").roles["kernel"]
    assert kernel["kernel_package"] == f"linux-image-{kernel['kernel_release']}"
    assert kernel["kernel_extra_packages"] == [f"linux-{part}-{kernel['kernel_release']}" for part in parts]
    assert kernel["kernel_hold"]
