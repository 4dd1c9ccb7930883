"""Limits of the checks on a machine with its own systemd and kernel: a CPU quota and a read-only view."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.vm_site import NODE

if TYPE_CHECKING:
    from support.vm import Vm
    from support.vm_site import VmSite


@pytest.mark.parametrize(
    ("percent", "reported"),
    [(50, "50 % of a core"), (20, "20 % of a core"), (0, "not enforced (not requested)")],
    ids=["half", "fifth", "none"],
)
def test_the_kernel_enforces_the_cpu_quota_of_checks(site: VmSite, vm: Vm, percent: int, reported: str) -> None:
    config = site.folder / "clusterctl.yml"
    before = config.read_text()
    config.write_text(f"{before}cpu_quota_percent: {percent}\n")
    try:
        done = site.clusterctl("validate", NODE, "-k", "os_tuning.*", "-o", "json")
    finally:
        config.write_text(before)
    (node,) = done.json["nodes"]
    assert (node["status"], node["view"].startswith("read-only"), node["cpu_quota"]) == ("ok", True, reported)
    assert vm.shell("systemctl list-units --all --no-legend 'clusterctl-checks-*'") == "", "the scope must end with the checks"
