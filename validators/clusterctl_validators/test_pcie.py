"""Traffic between PCIe devices: what the ports do now, and the script, service and udev rule that keep it so."""

from typing import Any, List, Mapping, NamedTuple, Tuple

from clusterctl_validators.file_mode import FileMode, read_mode
from clusterctl_validators.finding import Severity
from clusterctl_validators.pcie import UnreadableBridgesError, acs_ports
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

ROLE = "pcie"
Spec = Mapping[str, Any]

SCRIPT = "/usr/local/sbin/clusterctl-pcie"
UNIT = "clusterctl-pcie.service"
UNIT_FILE = "/etc/systemd/system/" + UNIT
UDEV_RULE = "/etc/udev/rules.d/90-clusterctl-pcie.rules"
_PROVISION = "run `clusterctl provision NODE`"
_HINTS = {
    "disabled": "a reset brought it back, or the service did not run: systemctl start {}; journalctl -b -u {}".format(UNIT, UNIT),
    "enabled": "reboot the node with the IOMMU on; the kernel then enables it",
}


class _RoleFile(NamedTuple):
    """A file of the role; `parts` are in lines that are no comments."""

    path: str
    mode: str
    parts: Tuple[str, ...]


_FILES = {
    "script": _RoleFile(SCRIPT, "755", ("ECAP_ACS+6.w=0000",)),
    "unit": _RoleFile(UNIT_FILE, "644", ("ExecStart={} apply".format(SCRIPT),)),
    "rule": _RoleFile(UDEV_RULE, "644", ('ACTION=="add"', 'ACTION=="change"')),
}


def test_acs(spec: Spec, record: Record, probe: Probe) -> None:
    """Whether ports above GPUs, network adapters and NVMe disks send traffic between two of them through the root complex."""
    declared, check = spec["pcie_acs"], "pcie.acs.running"
    try:
        able, redirecting = acs_ports(probe)
    except UnreadableBridgesError as e:
        if declared:
            record.could_not_run(check, "lspci: {}".format(e))
        else:
            record.not_applicable(check, "not managed")
        return
    found = "{} of {} ports redirect{}".format(len(redirecting), len(able), _first(redirecting))
    if not declared:
        record.not_applicable(check, "not managed; found {}".format(found))
    elif declared == "disabled" and _is_virtual_machine(probe):
        record.not_applicable(check, "a virtual machine: its ports are the hypervisor's; found {}".format(found))
    else:
        wrong = redirecting if declared == "disabled" else [a for a in able if a not in redirecting]
        record.ok(check, not wrong, expected=declared, found=found, hint=_HINTS[declared])


def test_acs_at_boot(spec: Spec, record: Record, probe: Probe) -> None:
    """The script, the service that runs it at every boot, and the rule that starts it for a port that appears."""
    if spec["pcie_acs"] != "disabled":
        for name, path in (("unit", UNIT_FILE), ("rule", UDEV_RULE)):
            found = "absent" if probe.read(path) is None else "present"
            record.equal("pcie.acs." + name, "absent", found, hint=_PROVISION)
        return
    for name, file in _FILES.items():
        _judge_file("pcie.acs." + name, file, probe, record)
    unit = probe.units([UNIT])[UNIT]
    record.equal("pcie.acs.service.persisted", "enabled", unit.file_state or unit.load_state, hint="systemctl enable " + UNIT)
    hint = "journalctl -b -u " + UNIT
    record.ok("pcie.acs.service.running", unit.active_state != "failed", expected="not failed", found=unit.active_state, hint=hint)


def _judge_file(check: str, file: _RoleFile, probe: Probe, record: Record) -> None:
    text = probe.read(file.path)
    record.ok(check + ".present", text is not None, expected=file.path, found=file.path if text is not None else "absent", hint=_PROVISION)
    if text is None:
        return
    mode = read_mode(probe, file.path)
    words = "{0.owner} {0.mode}".format(mode) if isinstance(mode, FileMode) else None
    record.equal(check + ".mode", "root " + file.mode, words, severity=Severity.MINOR, hint=_PROVISION)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    missing = [part for part in file.parts if not any(part in line for line in lines)]
    right = "has " + ", ".join(file.parts)
    record.ok(check + ".content", not missing, expected=right, found="lacks " + ", ".join(missing) if missing else right, hint=_PROVISION)


def _is_virtual_machine(probe: Probe) -> bool:
    """As the script: a container is the machine below it."""
    if probe.run(["systemd-detect-virt", "--container"]).rc == 0:
        return False
    return probe.run(["systemd-detect-virt", "--vm"]).rc == 0


def _first(addresses: List[str], most: int = 3) -> str:
    return ": " + ", ".join(addresses[:most]) + (", ..." if len(addresses) > most else "") if addresses else ""
