"""Judges what the kernel log has about links: losses of network links, and PCIe links that trained low."""

from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple

from clusterctl_validators import link_flaps, link_log, pcie
from clusterctl_validators.finding import Severity
from clusterctl_validators.hardware_log import Window
from clusterctl_validators.link_log import Bandwidth, LinkEvents, LinkLoss
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

# Of leptonai/gpud: a link that was lost at least three times within twelve hours flaps.
FLAP_SPAN_S = 12 * 3600.0
_MOST = 5
_CABLE = "clean and reseat the cable and transceivers at both ends, then replace them, then the HCA, then the switch port"
_RESEAT = "power off the node and reseat the device, its riser or cable; check bifurcation and speed of the slot in the BIOS; replace it if it stays"


class Device(NamedTuple):
    """A declared device: its name, its folder in sysfs, its PCI address, whether its network link is Ethernet, and the interface if it is one port of several.

    `others`: the PCI addresses of further ports that the device stands for, as a bond.
    """

    name: str
    folder: str
    address: str
    ethernet: bool = False
    interface: Optional[str] = None
    others: Tuple[str, ...] = ()


class Path(NamedTuple):
    """The PCIe path of a device, with the generation and lanes that it must have."""

    device: Device
    generation: int
    lanes: int


def path_of(probe: Probe, device: Device, generation: int, lanes: int) -> Path:
    """The declared generation and lanes; where 0 is declared, the least that all parts of the path can do.

    The declared generation is that of the device's own link. A path of which a part can do less has no more: ConnectX-8 of HGX B300 has generation 6 to its own
    switch, and that has 5 to the processor (oci-hpc healthchecks, B300MP.xml).
    """
    least = pcie.path_limits(probe, device.folder)
    return Path(device, min(filter(None, (generation, least[0])), default=0), lanes or least[1])


def judge_flaps(record: Record, events: LinkEvents, hcas: Sequence[Device], window: Window, most: int) -> None:
    """Losses of each HCA's link within any twelve hours, with their times."""
    if not hcas:
        record.not_applicable("hardware.link_flaps", "no declared HCA is present")
    for hca in hcas:
        check = link_flaps.HCA.format(hca.name)
        if not hca.ethernet:
            record.not_applicable(check, "the kernel logs no link of InfiniBand; load_errors judges its counters")
            continue
        if hca.interface == "":
            record.not_applicable(check, "the kernel shows no interface of this port, whose losses it would log")
            continue
        losses = [loss for loss in events.losses if _is_of(loss, hca) and window.holds(loss.time)]
        number = link_log.most_within(losses, FLAP_SPAN_S)
        shown = "{}: {}".format(len(losses), _times(losses)) if losses else "none"
        expected = "at most {} within 12 h".format(most)
        window.judge(
            record,
            check,
            number <= most,
            expected=expected,
            found=shown,
            severity=Severity.CRITICAL,
            hint="{}: {}".format(hca.name, _CABLE),
        )


def _is_of(loss: LinkLoss, hca: Device) -> bool:
    """By the interface where an adapter has several ports: the log has the function of the interface, which may not be that of the RDMA device."""
    return loss.interface == hca.interface if hca.interface else loss.pci in (hca.address, *hca.others)


def _times(losses: List[LinkLoss]) -> str:
    shown = ", ".join("{} {}".format(loss.interface, loss.time or "at an unknown time") for loss in losses[-_MOST:])
    return ("... " if len(losses) > _MOST else "") + shown


def judge_bandwidth(record: Record, check: str, window: Window, bandwidths: Mapping[str, Bandwidth], paths: Sequence[Path]) -> None:
    """The kernel's newest line about each device must show what its path must have."""
    bad = []
    for path in paths:
        found = bandwidths.get(path.device.address)
        if (
            found is None or not found.lanes
        ):  # nothing limits it, or its link was not up yet: the links as they are now have their own checks
            continue
        if found.lanes < path.lanes or (found.generation or path.generation) < path.generation:
            shown = "generation {} x{} at {}".format(found.generation or "unknown", found.lanes, found.at)
            text = "{}: {:g} Gb/s, {}".format(path.device.name, found.gbps, shown)
            bad.append("{} ({})".format(text, found.time) if found.time else text)
    if bad:
        record.ok(check, False, expected="as declared, or as slot and device can do", found="; ".join(bad[:_MOST]), hint=_RESEAT)
    elif not window.log.whole:
        record.not_applicable(check, "the log does not reach back to the boot; the links as they are now are judged")
    elif paths:
        record.ok(check, True, expected="as declared, or as slot and device can do", found="not limited")
    else:
        record.not_applicable(check, "not declared for this node")
