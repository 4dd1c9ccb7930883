"""/sys/class/iommu and /sys/kernel/iommu_groups: the IOMMU as the command line of the boot leaves it.

Formats: Linux, Documentation/ABI/testing/sysfs-kernel-iommu_groups. Defaults: drivers/iommu/Kconfig (x86 translates lazily, Arm strictly); Ubuntu's kernels turn
Intel's on.
"""

from __future__ import annotations

from . import machine, sysfs_pci
from .cmdline import last_value

_UNITS = {"GenuineIntel": "dmar0", "AuthenticAMD": "ivhd0", "": "smmu3.0x0000000005000000"}
_SWITCHES = {"GenuineIntel": "intel_iommu", "AuthenticAMD": "amd_iommu"}


def is_on(cmdline: str) -> bool:
    """Whether the kernel uses the IOMMU; it then enables ACS on all ports."""
    switch = _SWITCHES.get(machine.THIS.processor.vendor, "")
    return last_value(cmdline, "iommu") != "off" and last_value(cmdline, switch) != "off"


def files(cmdline: str) -> dict[str, str | int | bytes]:
    """All files, relative to /sys."""
    if not is_on(cmdline):
        return {}
    result: dict[str, str | int | bytes] = {f"{_unit_folder()}/uevent": b""}
    return result | {f"kernel/iommu_groups/{number}/type": _domain(cmdline) for number, _ in enumerate(sysfs_pci.functions())}


def links(cmdline: str) -> dict[str, str]:
    """The links to the IOMMU and from each PCI function to its group, relative to /sys."""
    if not is_on(cmdline):
        return {}
    result = {f"class/iommu/{_unit_folder().rpartition('/')[2]}": f"../../{_unit_folder()}"}
    for number, folder in enumerate(sysfs_pci.functions()):
        up = "../" * (folder.count("/") + 1)
        result[f"{folder}/iommu_group"] = f"{up}kernel/iommu_groups/{number}"
    return result


def _unit_folder() -> str:
    return f"devices/virtual/iommu/{_UNITS[machine.THIS.processor.vendor]}"


def _domain(cmdline: str) -> str:
    if last_value(cmdline, "iommu") == "pt" or last_value(cmdline, "iommu.passthrough") in ("1", "on", "y"):
        return "identity"
    return "DMA-FQ" if machine.THIS.processor.vendor else "DMA"
