"""What holds the checks back on a machine with its own systemd and kernel: a CPU quota and a view that cannot be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.vm_site import NODE

if TYPE_CHECKING:
    from support.vm import Vm
    from support.vm_site import VmSite


@pytest.mark.parametrize(
    ("percent", "told"),
    [(50, "50 % of a core"), (20, "20 % of a core"), (0, "not enforced (not requested)")],
    ids=["half", "fifth", "none"],
)
def test_the_kernel_holds_checks_to_the_quota(site: VmSite, vm: Vm, percent: int, told: str) -> None:
    config = site.folder / "clusterctl.yml"
    before = config.read_text()
    config.write_text(f"{before}cpu_quota_percent: {percent}\n")
    try:
        done = site.clusterctl("validate", NODE, "-k", "os_tuning.*", "-o", "json")
    finally:
        config.write_text(before)
    (node,) = done.json["nodes"]
    assert (node["status"], node["view"].startswith("read-only"), node["cpu_quota"]) == ("ok", True, told)
    assert vm.shell("systemctl list-units --all --no-legend 'clusterctl-checks-*'") == "", "the scope ends with the checks"
