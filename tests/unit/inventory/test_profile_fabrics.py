"""A profile is a GPU and a fabric: what two profiles share is equal, and what belongs together agrees."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from clusterctl.core.gates.planning.devices import read_hcas
from support.declared_profiles import declared_profile, profiles_of_the_tree

NAMES = profiles_of_the_tree()
OVER_ETHERNET = [name for name in NAMES if name.endswith(("_roce", "_spectrum_x"))]
PROFILES = pytest.mark.parametrize("name", NAMES)
# nccl-tests keeps what is sent, what is received and what is expected (src/common.cu).
_BUFFERS = 3


@PROFILES
def test_the_buffers_of_the_largest_message_fit_the_memory_of_a_gpu(name: str) -> None:
    memory = declared_profile(name).roles["hardware"]["hardware_gpu_memory_min_mib"] * 2**20
    settings = declared_profile(name).gates["gates_settings"]
    floors = [b for b in declared_profile(name).gates["gates_baselines"] if b["kind"] == "floor"]
    for gate in ("nccl_node", "nccl_group"):
        size = settings[gate]["size_bytes"]
        assert _BUFFERS * size < memory, gate
        assert {b["size_bytes"] for b in floors if b["gate"] == gate} == {size}


@PROFILES
def test_each_adapter_is_measured_with_a_gpu_that_is_there(name: str) -> None:
    """GB300 on RoCE has eight ports and four GPUs, and nobody declares which belong together."""
    hardware = declared_profile(name).roles["hardware"]
    assert {h.gpu for h in read_hcas(hardware, name)} == set(range(hardware["hardware_gpus"]))


@pytest.mark.parametrize("name", OVER_ETHERNET)
def test_a_profile_over_ethernet_is_consistent(name: str) -> None:
    roles, settings = declared_profile(name).roles, declared_profile(name).gates["gates_settings"]
    hardware, roce, nccl = roles["hardware"], roles["roce"], roles["nccl"]["nccl_settings"]
    assert "infiniband" not in roles
    assert {h["link_layer"] for h in hardware["hardware_hcas"]} == {"Ethernet"}
    assert [r["device"] for r in roce["roce_rails"]] == [h["name"] for h in hardware["hardware_hcas"]]
    assert roles["ofed"]["ofed_mlxconfig"]["LINK_TYPE_P1"] == "ETH"
    assert roce["roce_traffic_class"] == roce["roce_dscp"] * 4 + 2, "ECN capable"
    for gate in ("rdma_pair", "rdma_pair_gpu"):
        assert (settings[gate]["gid_index"], settings[gate]["traffic_class"]) == (roce["roce_gid_index"], roce["roce_traffic_class"])
    assert (nccl["NCCL_IB_GID_INDEX"], nccl["NCCL_IB_TC"]) == (roce["roce_gid_index"], roce["roce_traffic_class"])


def of_the_fabric(name: str) -> dict[str, Any]:
    """What a profile has from its fabric."""
    roles, gates = declared_profile(name).roles, declared_profile(name).gates
    parts = {role: roles[role] for role in ("roce", "nccl") if role in roles}
    hcas = roles["hardware"]["hardware_hcas"]
    return {**parts, "hcas": hcas, "mlxconfig": roles["ofed"]["ofed_mlxconfig"], "floors": gates["gates_baselines_fabric"]}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("profile_hgx_h100_roce", "profile_hgx_h200_roce"),
        ("profile_hgx_h100_roce", "profile_hgx_b200_roce"),
        ("profile_hgx_h200_spectrum_x", "profile_hgx_b200_spectrum_x"),
    ],
)
def test_profiles_of_one_fabric_differ_in_nothing_of_it(one: str, other: str) -> None:
    assert of_the_fabric(one) == of_the_fabric(other)


def test_two_planes_are_two_rails_of_each_gpu() -> None:
    hcas = declared_profile("profile_hgx_b300_roce").roles["hardware"]["hardware_hcas"]
    assert Counter(h["gpu"] for h in hcas) == dict.fromkeys(range(8), 2)
    assert sum(h["rate_gbps"] for h in hcas) == 6400
    whole = declared_profile("profile_hgx_b300_ib").roles["hardware"]["hardware_hcas"]
    assert sum(h["rate_gbps"] for h in whole) == 6400


@pytest.mark.parametrize("gpu", ["gb200", "gb300"])
def test_a_rack_over_roce_is_measured_as_one_over_infiniband(gpu: str) -> None:
    infiniband, roce = (declared_profile(f"profile_{gpu}_nvl72{end}") for end in ("", "_roce"))
    assert infiniband.gates["gates_settings"]["nccl_group"] == roce.gates["gates_settings"]["nccl_group"]
    over_nvlink = [
        [b for b in s.gates["gates_baselines"] if b["gate"] == "nccl_group" and b["metric"] == "busbw"] for s in (infiniband, roce)
    ]
    assert over_nvlink[0] == over_nvlink[1]
    nccl = [dict(s.roles["nccl"]["nccl_settings"]) for s in (infiniband, roce)]
    changed = {name for name in nccl[1] if nccl[0].get(name) != nccl[1][name]}
    assert changed == {"NCCL_IB_GID_INDEX", "NCCL_IB_TC", *({"NCCL_IB_HCA"} if gpu == "gb300" else ())}
    assert {r: infiniband.roles[r] for r in ("kernel", "nvidia_driver", "nvlink_domain")} == {
        r: roce.roles[r] for r in ("kernel", "nvidia_driver", "nvlink_domain")
    }


def test_spectrum_x_makes_a_nic_of_the_bluefield() -> None:
    settings = declared_profile("profile_hgx_b200_spectrum_x").roles["ofed"]["ofed_mlxconfig"]
    assert settings["INTERNAL_CPU_OFFLOAD_ENGINE"] == "DISABLED"
    assert settings["ROCE_ADAPTIVE_ROUTING_EN"]
