"""Declarations of the profiles that must stay as they are: each was right, and its opposite breaks machines."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

from support.declared_profiles import declared_profile, topology_of_the_tree

# Huge pages of a kernel with 64 KiB pages (arm64; Documentation/arch/arm64/hugetlbpage.rst): none of 1 GiB.
SIZES_OF_64K = {"2M", "512M", "16G"}
# They install their own Open MPI, UCX and perftest beside the pinned ones.
METAPACKAGES = re.compile(
    r"^(doca-(all|ofed|ofed-userspace|networking|roce|sdk|runtime|tools|host)|mlnx-ofed-(all|basic|guest|kernel-only|hpc).*)$"
)


@cache
def leaves() -> list[str]:
    topology = topology_of_the_tree()
    groups = [g for g in topology.groups if g.startswith("profile_")]
    return sorted(g for g in groups if not any(c.startswith("profile_") for c in topology.children.get(g, ())))


@cache
def roles_of(profile: str) -> dict[str, dict[str, Any]]:
    return {name: dict(values) for name, values in declared_profile(profile).roles.items()}


@pytest.mark.parametrize("profile", leaves())
def test_a_kernel_with_64k_pages_has_no_pages_of_1_gib(profile: str) -> None:
    roles = roles_of(profile)
    if not roles["kernel"]["kernel_release"].endswith("-64k"):
        assert roles["hardware"]["hardware_architecture"] != "aarch64", "NVIDIA recommends 64 KiB pages on Grace"
        return
    assert {row["size"] for row in roles["hugepages"]["hugepages_pages"]} <= SIZES_OF_64K
    assert not roles["hugepages"]["hugepages_cmdline"], "the command line would put pages on the memory of the GPUs"


@pytest.mark.parametrize("profile", leaves())
def test_doca_is_installed_as_single_pinned_packages(profile: str) -> None:
    packages = roles_of(profile)["ofed"]["ofed_packages"]
    assert len(packages) > 5
    assert [p["name"] for p in packages if METAPACKAGES.match(p["name"])] == []
    assert [p["name"] for p in packages if not p["version"]] == []


@pytest.mark.parametrize("profile", leaves())
def test_each_rail_answers_for_itself(profile: str) -> None:
    roles = roles_of(profile)
    if "roce" not in roles:
        assert "infiniband" in roles
        return
    roce = roles["roce"]
    # 2: a packet may come in on another rail than its answer leaves by; 1 drops it (Documentation/networking/ip-sysctl.rst).
    assert (roce["roce_rp_filter"], roce["roce_arp_ignore"], roce["roce_arp_announce"]) == (2, 1, 2)
