"""Whether a node is the declared machine with the declared release and processors: packages and settings of another one do not fit."""

from typing import Any, Mapping, Sequence

from clusterctl_tools.linux_files import parse_os_release
from clusterctl_tools.util_linux import LSCPU, UnreadableInventoryError, parse_lscpu
from clusterctl_validators.finding import Severity
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import UNDECLARED, Record

# of lscpu -J
_FIELDS = {
    "architecture": "Architecture",
    "sockets": "Socket(s)",
    "cores_per_socket": "Core(s) per socket",
    "threads_per_core": "Thread(s) per core",
}


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
    found = (probe.read("/sys/class/dmi/id/product_name") or "").strip()
    if not declared:
        record.seen("hardware.machine", found)
        return
    hint = "the node is in the group of another machine, or its model is missing in hardware_machines"
    record.ok("hardware.machine", found in declared, expected=" or ".join(declared), found=found, severity=Severity.CRITICAL, hint=hint)


def judge_processors(declared: Mapping[str, Any], record: Record, probe: Probe) -> None:
    """Architecture, sockets, cores and threads as lscpu shows them; what is empty or zero is not declared."""
    expected = {name: value for name, value in declared.items() if value}
    for name in declared:
        if name not in expected:
            record.not_applicable("hardware.cpu." + name, UNDECLARED)
    if not expected:
        return
    result = probe.run(LSCPU)
    try:
        found = parse_lscpu(result.stdout)
    except UnreadableInventoryError as e:
        record.could_not_run("hardware.cpu", "lscpu -J: {}".format(result.error or e))
        return
    for name, value in expected.items():
        hint = "compare BIOS settings (SMT, disabled cores) and processors with the order of this node"
        if _FIELDS[name] in found:
            record.equal("hardware.cpu." + name, value, found[_FIELDS[name]], hint=hint)
        else:
            record.could_not_run("hardware.cpu." + name, "lscpu does not show it: the firmware does not describe the processors")
