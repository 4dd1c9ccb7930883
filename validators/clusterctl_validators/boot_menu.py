"""What the boot loader will pass to the kernel at the next boot."""

from typing import List

from clusterctl_tools import grub
from clusterctl_tools.grub import BootEntry
from clusterctl_validators.probe import Probe, ProbeError


def boot_entries(probe: Probe) -> List[BootEntry]:
    """The entries that an unattended boot may use; recovery entries are left out.

    Raises:
        ProbeError: neither a GRUB menu nor a loader entry is present.
    """
    normal = grub.unattended(_entries(probe))
    if not normal:
        raise ProbeError("the boot menu has no entry that starts a kernel")
    return normal


def default_kernel(probe: Probe) -> str:
    """The path of the kernel that boots by default.

    Raises:
        ProbeError: the menu does not name its default.
    """
    boot_entries(probe)
    if probe.glob(grub.LOADER_ENTRIES):
        return probe.output(grub.GRUBBY_DEFAULT).strip()
    try:
        return grub.default_kernel(probe.read(grub.GRUB_CFG) or "", probe.read(grub.GRUBENV) or "")
    except grub.UnknownDefaultError as e:
        raise ProbeError("{}: {}".format(grub.GRUB_CFG, e)) from e


def _entries(probe: Probe) -> List[BootEntry]:
    if probe.glob(grub.LOADER_ENTRIES):
        return grub.parse_grubby(probe.output(grub.GRUBBY_ENTRIES))
    text = probe.read(grub.GRUB_CFG)
    if text is None:
        raise ProbeError("no boot menu: {} is absent".format(grub.GRUB_CFG))
    return grub.parse_grub_cfg(text)
