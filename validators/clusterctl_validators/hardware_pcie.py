"""Judges PCIe links and the IOMMU of a node."""

from typing import Mapping, Sequence, Tuple

from clusterctl_validators.pcie import PcieLink, hops_above, iommu_state, read_link, slot_of
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

_RESEAT = "power off the node and reseat the device, its riser or cable; check bifurcation and speed of the slot in the BIOS; replace it if it stays"
_UNDECLARED = "not declared for this node"


def hca_device(name: str) -> str:
    """The folder of an HCA's PCI function in sysfs."""
    return "/sys/class/infiniband/{}/device".format(name)


def judge_link(record: Record, at: str, link: PcieLink, declared: Tuple[int, int]) -> None:
    """Generation and width of one link: the declared ones at least, or, where 0 is declared, the most that both of its ends can do."""
    found = (("pcie_gen", declared[0], link.generation, link.most_generation), ("pcie_width", declared[1], link.width, link.most_width))
    for name, minimum, value, most in found:
        floor = minimum or most
        if value is None or floor is None:
            record.could_not_run(at + name, "the kernel does not show it")
        else:
            record.ok(at + name, value >= floor, expected=">= {}".format(floor), found=value, hint="{}: {}".format(at.rstrip("."), _RESEAT))


def judge_widths(record: Record, probe: Probe, gpus: Sequence[str], hcas: Sequence[str]) -> None:
    """The lanes of every link between these devices and their root ports, but the HCAs' own, against the most that both ends can do.

    Not their speed, which falls while a link is idle: the gate nvbandwidth judges it under load.
    """
    paths = [*(hops_above(probe, gpu) for gpu in gpus), *(hops_above(probe, hca)[1:] for hca in hcas)]
    links = {slot_of(probe, lower) or lower: lower for path in paths for lower in path}
    if not links:
        record.not_applicable("hardware.pcie_links", "no link above a GPU, and no switch above an HCA, is visible")
    for address, lower in links.items():
        check, link = "hardware.pcie_link[{}].width".format(address), read_link(probe, lower)
        if link.width is None or link.most_width is None:
            record.could_not_run(check, "the kernel does not show it")
            continue
        hint = "link between {} and the port above it, {}: {}".format(address, slot_of(probe, lower + "/.."), _RESEAT)
        record.ok(check, link.width >= link.most_width, expected=">= {}".format(link.most_width), found=link.width, hint=hint)


def judge_iommu(accepted: Sequence[str], probe: Probe, record: Record, devices: Mapping[str, str]) -> None:
    """What the IOMMU does with each device; `devices`: name -> folder in sysfs."""
    for name, device in devices.items():
        state = iommu_state(probe, device)
        check = "hardware.iommu[{}]".format(name)
        if not accepted:
            record.not_applicable(check, "{}; found {}".format(_UNDECLARED, state or "nothing"))
        elif not state:
            record.could_not_run(check, "the kernel does not show the type of the device's IOMMU group")
        else:
            hint = "compare the kernel's command line (iommu, intel_iommu, amd_iommu) and the BIOS setting (VT-d, AMD-Vi) with the profile"
            record.ok(check, state in accepted, expected=" or ".join(accepted), found=state, hint=hint)
