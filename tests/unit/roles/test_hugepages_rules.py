from __future__ import annotations

from typing import Any

import pytest

from support.filters import filter_plugin

rules = filter_plugin("hugepages_rules")
NOTHING = {"hugepages_pages": [], "hugepages_mounts": [], "hugepages_default_size": ""}
X86 = {"hardware_architecture": "x86_64", "kernel_release": "6.8.0-79-generic"}
ARM_4K = {"hardware_architecture": "aarch64", "kernel_release": "6.8.0-1021-nvidia"}
ARM_64K = {"hardware_architecture": "aarch64", "kernel_release": "6.8.0-1021-nvidia-64k"}
RHEL_64K = {"kernel_release": "5.14.0-503.el9.aarch64+64k"}
UNKNOWN: dict[str, str] = {"hardware_architecture": "", "kernel_release": ""}


def sized(size: str, **variables: Any) -> dict[str, Any]:
    return {
        "hugepages_pages": [{"size": size, "node": 0, "count": 0}],
        "hugepages_mounts": [{"path": "/huge", "size": size}],
        "hugepages_default_size": size,
        **variables,
    }


@pytest.mark.parametrize(
    ("kernel", "sizes"),
    [
        (X86, {"2M", "1G"}),
        (ARM_4K, {"2M", "32M", "1G"}),
        (ARM_64K, {"2M", "512M", "16G"}),
        (RHEL_64K, {"2M", "512M", "16G"}),
        (UNKNOWN, {"2M", "32M", "512M", "1G", "16G"}),
        ({}, {"2M", "32M", "512M", "1G", "16G"}),
    ],
)
def test_sizes_that_the_declared_kernel_does_not_have_are_refused(kernel: dict[str, str], sizes: set[str]) -> None:
    everywhere = ["hugepages_pages[0].size", "hugepages_mounts[0].size", "hugepages_default_size"]
    found = {size: [where for where, _ in rules.contradictions(sized(size, **kernel))] for size in ("2M", "32M", "512M", "1G", "16G")}
    assert found == {size: [] if size in sizes else everywhere for size in found}
    assert rules.contradictions({**NOTHING, **kernel}) == []


def test_a_refusal_names_the_sizes_that_exist() -> None:
    lines = rules.problem_lines(sized("1G", **ARM_64K))
    assert lines[0] == "hugepages_pages[0].size: a kernel with 64 KiB pages has no huge pages of 1G, only 2M, 512M, 16G"
