"""NVMe disks behind a real kernel: what their controllers report about themselves is read without a package of the node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.vm import Vm
from support.vm_image import ensure_image
from support.vm_site import VmSite

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

DISKS = {"sound": 0, "hot": 0b10, "degraded": 0b100}


def test_the_health_of_nvme_disks(tmp_path_factory: pytest.TempPathFactory, report: Callable[[str], None]) -> None:
    image = ensure_image(report)
    folder = tmp_path_factory.mktemp("nvme")
    machine = [
        word
        for name, warning in DISKS.items()
        for word in (
            *(
                "-drive",
                f"driver=null-co,size=1G,read-zeroes=on,if=none,id={name}",
                "-device",
                f"pcie-root-port,id=port-{name},slot={warning}",
            ),
            *("-device", f"nvme,drive={name},serial={name},bus=port-{name},smart_critical_warning={warning}"),
        )
    ]
    with Vm(image.overlay(folder / "disk.qcow2"), folder, image.key, image.host_key, direct=("-M", "q35", *machine)) as vm:
        report(f"the VM with NVMe disks booted in {vm.boot_s:.0f} s")
        names = {vm.shell(f"cat /sys/class/nvme/nvme{i}/serial").strip(): f"nvme{i}" for i in range(len(DISKS))}
        site = VmSite(folder / "site", vm)
        site.declare(node_roles=["hardware"])
        found = site.findings()
    health = {serial: found[f"hardware.nvme[{name}].health"] for serial, name in names.items()}
    assert {serial: (f["outcome"], f["found"]) for serial, f in health.items()} == {
        "sound": ("pass", "no warning"),
        "hot": ("pass", "no warning"),
        "degraded": ("fail", "reliability degraded by media or internal errors"),
    }
    hot = {check: f["outcome"] for check, f in found.items() if check.endswith("].temperature") and "nvme" in check}
    assert hot == {f"hardware.nvme[{names['hot']}].temperature": "warn"}
    assert "(QEMU NVMe Ctrl, degraded)" in health["degraded"]["hint"]
