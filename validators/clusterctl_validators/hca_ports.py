"""The rows of hardware_hcas: one for each port that a node uses of its adapters. ConnectX-8 may show the planes of one adapter as ports of one device."""

from typing import Any, List, Mapping, Sequence

from clusterctl_validators import rdma_lag, rdma_sysfs
from clusterctl_validators.finding import Severity
from clusterctl_validators.hca_place import absence_hint, judge_place, manages_nvswitches
from clusterctl_validators.probe import Probe
from clusterctl_validators.rdma_sysfs import Port
from clusterctl_validators.record import Record

Hca = Mapping[str, Any]
_CABLE = "reseat or replace the cable and transceivers on both ends, then the HCA, then the switch port"
_LAYER = "mlxconfig -d DEVICE set LINK_TYPE_P{0}=1 (InfiniBand) or 2 (Ethernet), then reset the HCA"


def label(hca: Hca) -> str:
    """`mlx5_0`, as findings name its only port; `roce_r0/3` for port 3."""
    port = number(hca)
    return "{}/{}".format(hca["name"], port) if port != 1 else str(hca["name"])


def number(hca: Hca) -> int:
    """The port of a row."""
    return int(hca.get("port") or 1)


def devices(hcas: Sequence[Hca]) -> List[Hca]:
    """The first row of each device."""
    return list({hca["name"]: hca for hca in reversed(hcas)}.values())[::-1]


def judge_hcas(hcas: Sequence[Hca], record: Record, probe: Probe) -> None:
    """What a device has once, then each of its declared ports."""
    for hca in devices(hcas):
        at = "hardware.hca[{}].".format(hca["name"])
        judge_place(record, probe, at, hca)
        firmware = probe.read("{}/{}/fw_ver".format(rdma_sysfs.ROOT, hca["name"]))
        if hca.get("firmware") and firmware is not None:
            record.equal(at + "firmware", hca["firmware"], firmware, hint="flash the pinned firmware, then reset the HCA")
    for hca in hcas:
        _judge_port(hca, record, probe)


def _judge_port(hca: Hca, record: Record, probe: Probe) -> None:
    at = "hardware.hca[{}].".format(label(hca))
    port = rdma_sysfs.read_port(probe, hca["name"], number(hca))
    if port is None:
        hint = _absent_port(probe, hca) or absence_hint(probe, hca)
        record.ok(at + "present", False, expected="present", found="absent", severity=Severity.CRITICAL, hint=hint)
        return
    # A declared address is a better proof, and needs no word of the device.
    if not hca.get("pci") and manages_nvswitches(probe, hca["name"]):
        hint = "an adapter is missing, so the names of others shifted, or hardware_hcas names the wrong devices: declare `pci`"
        found = "a link to the NVSwitches of the baseboard"
        record.ok(at + "present", False, expected="present", found=found, severity=Severity.CRITICAL, hint=hint)
        return
    record.ok(at + "present", True, expected="present", found="present", severity=Severity.CRITICAL)
    _judge_link(hca, port, record, at)
    _judge_rate(hca, port, record, probe)


def _judge_link(hca: Hca, port: Port, record: Record, at: str) -> None:
    link = "{}: {}".format(label(hca), _CABLE)
    record.equal(at + "state", "ACTIVE", port.state, severity=Severity.CRITICAL, hint=link + "; INIT means no subnet manager")
    record.equal(at + "phys_state", "LinkUp", port.phys_state, severity=Severity.CRITICAL, hint=link)
    layer = _LAYER.format(number(hca))
    record.equal(at + "link_layer", hca["link_layer"], port.link_layer, severity=Severity.CRITICAL, hint=layer)


def _judge_rate(hca: Hca, port: Port, record: Record, probe: Probe) -> None:
    """The rate of the port; of all ports that are up where the device stands for a bond of them."""
    check, hint = "hardware.hca[{}].rate_gbps".format(label(hca)), "{}: {}".format(label(hca), _CABLE)
    if port.rate_gbps is None:
        record.could_not_run(check, "the kernel shows no rate", Severity.CRITICAL)
        return
    bonded = rdma_lag.members(probe, hca["name"]) if port.link_layer == "Ethernet" else ()
    rate = port.rate_gbps * (sum(member.up for member in bonded) if bonded else 1)
    down = "".join(", {} is down".format(member.interface) for member in bonded if not member.up)
    expected, found = "{:g}".format(hca["rate_gbps"]), "{:g}{}".format(rate, down)
    record.ok(check, rate >= hca["rate_gbps"], expected=expected, found=found, severity=Severity.CRITICAL, hint=hint)


def _absent_port(probe: Probe, hca: Hca) -> str:
    """What to do where the device is there, and has other ports; empty where it has none."""
    paths = probe.glob("{}/{}/ports/*".format(rdma_sysfs.ROOT, hca["name"]))
    ports = sorted({path.rstrip("/").rpartition("/")[2] for path in paths}, key=lambda name: (len(name), name))
    if not ports:
        return ""
    text = (
        "{} has no port {} that can be read, its ports are {}: declare those with a cable (`rdma link`), or set its planes with mlxconfig"
    )
    return text.format(hca["name"], number(hca), ", ".join(ports))
