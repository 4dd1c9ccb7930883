"""Judges PCIe links and the IOMMU of a node."""

from typing import Mapping, Sequence, Tuple

from clusterctl_validators.pcie import PcieLink, iommu_state
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

_RESEAT = "power off the node and reseat the device, its riser or cable; check bifurcation and speed of the slot in the BIOS; replace it if it stays"
_UNDECLARED = "not declared for this node"


def judge_link(record: Record, at: str, link: PcieLink, declared: Tuple[int, int]) -> None:
    """Generation and width of one link: the declared ones at least, or, where 0 is declared, the most that both of its ends can do."""
    found = (("pcie_gen", declared[0], link.generation, link.most_generation), ("pcie_width", declared[1], link.width, link.most_width))
    for name, minimum, value, most in found:
        floor = minimum or most
        if value is None or floor is None:
            record.could_not_run(at + name, "the kernel does not show it")
        else:
            record.ok(at + name, value >= floor, expected=">= {}".format(floor), found=value, hint="{}: {}".format(at.rstrip("."), _RESEAT))


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
