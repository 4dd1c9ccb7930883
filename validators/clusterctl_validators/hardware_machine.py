"""Whether a node is the declared machine with the declared release: packages and settings of another one do not fit."""

from typing import Sequence

from clusterctl_tools.linux_files import parse_os_release
from clusterctl_validators.finding import Severity
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

_UNDECLARED = "not declared for this node"


def judge_release(declared: str, record: Record, probe: Probe) -> None:
    """ID and VERSION_ID of /etc/os-release; packages are pinned for one release."""
    if not declared:
        record.not_applicable("hardware.os", _UNDECLARED)
        return
    found = parse_os_release(probe.read("/etc/os-release") or "")
    hint = "install the declared release, or declare this one with its packages"
    record.equal("hardware.os", declared, found, severity=Severity.CRITICAL, hint=hint)


def judge_model(declared: Sequence[str], record: Record, probe: Probe) -> None:
    """The product name of the firmware (SMBIOS type 1), which the kernel shows."""
    if not declared:
        record.not_applicable("hardware.machine", _UNDECLARED)
        return
    found = (probe.read("/sys/class/dmi/id/product_name") or "").strip()
    hint = "the node is in the group of another machine, or its model is missing in hardware_machines"
    record.ok("hardware.machine", found in declared, expected=" or ".join(declared), found=found, severity=Severity.CRITICAL, hint=hint)
