"""Whether an HCA is at its declared PCI address, and which card is meant where it is absent."""

from typing import Any, Mapping

from clusterctl_validators import rdma_sysfs
from clusterctl_validators.finding import Severity
from clusterctl_validators.probe import Probe, ProbeError
from clusterctl_validators.record import Record

_FUNCTION = "/sys/bus/pci/devices/{}"
_DRIVER = "check lspci and the mlx5_core lines of the kernel log; reseat or replace the HCA"


def judge_place(record: Record, probe: Probe, at: str, hca: Mapping[str, Any]) -> None:
    """Compare the name of the RDMA device at the declared address with that of the HCA, also where it is absent."""
    address = hca.get("pci")
    if not address:
        record.not_applicable(at + "place", "no PCI address is declared for this HCA")
        return
    found = _found(probe, address)
    hint = "{}: {}".format(card(hca), _advice(probe, address))
    record.equal(at + "place", hca["name"], found, severity=Severity.CRITICAL, hint=hint)


def manages_nvswitches(probe: Probe, name: str) -> bool:
    """Whether a device is not an adapter, but manages the NVSwitches of an HGX B200 baseboard, by its product data."""
    try:
        return rdma_sysfs.SWITCH_MANAGEMENT in (probe.read("/sys/class/infiniband/{}/device/vpd".format(name)) or "")
    except ProbeError:
        return False  # product data that cannot be read does not concern the link


def absence_hint(probe: Probe, hca: Mapping[str, Any]) -> str:
    """What to do about an absent HCA: with a declared address, about the card there."""
    address = hca.get("pci")
    return "{}: {}".format(card(hca), _advice(probe, address)) if address else _DRIVER


def card(hca: Mapping[str, Any]) -> str:
    """`0000:5e:00.0, rail 3, slot OSFP4P1`."""
    more = ["{} {}".format(key, hca[key]) for key in ("rail", "slot") if hca.get(key) not in (None, "")]
    return ", ".join([hca.get("pci") or hca["name"], *more])


def _names(probe: Probe, address: str) -> str:
    return ", ".join(rdma_sysfs.names_at(probe, address))


def _found(probe: Probe, address: str) -> str:
    on_bus = probe.read(_FUNCTION.format(address) + "/vendor") is not None
    return _names(probe, address) or ("no RDMA device, but a PCI function" if on_bus else "nothing on the PCI bus")


def _advice(probe: Probe, address: str) -> str:
    if _names(probe, address):
        return "a device keeps the name that it got when it appeared: run `clusterctl provision NODE`, which reboots"
    if probe.read(_FUNCTION.format(address) + "/vendor") is None:
        return "the card is missing or dead: power off, reseat or replace it; all others keep their names"
    return _DRIVER
