"""Whether a node is the declared machine with the declared release: packages and settings of another one do not fit."""

from typing import Sequence

from clusterctl_tools.linux_files import parse_os_release
from clusterctl_validators.finding import Severity
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import UNDECLARED, Record


def judge_release(declared: str, record: Record, probe: Probe) -> None:
    """ID and VERSION_ID of /etc/os-release; packages are pinned for one release."""
    if not declared:
        record.not_applicable("hardware.os", UNDECLARED)
        return
    found = parse_os_release(probe.read("/etc/os-release") or "")
    hint = "install the declared release, or declare this one with its packages"
    record.equal("hardware.os", declared, found, severity=Severity.CRITICAL, hint=hint)


def judge_model(declared: Sequence[str], record: Record, probe: Probe) -> None:
    """The product name of the firmware (SMBIOS type 1), which the kernel shows."""
    found = _dmi(probe, "product_name")
    if not declared:
        record.seen("hardware.machine", found)
        return
    hint = "the node is in the group of another machine, or its model is missing in hardware_machines"
    record.ok("hardware.machine", found in declared, expected=" or ".join(declared), found=found, severity=Severity.CRITICAL, hint=hint)


def keep_bios_version(record: Record, probe: Probe) -> None:
    """What the firmware calls its version (SMBIOS type 0): no variable declares it, the role bios pins it by the BMC."""
    record.seen("hardware.bios_version", _dmi(probe, "bios_version"))


def _dmi(probe: Probe, name: str) -> str:
    return (probe.read("/sys/class/dmi/id/" + name) or "").strip()
