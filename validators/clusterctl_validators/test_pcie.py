"""Traffic between PCIe devices: the present registers of ports, GPUs and adapters, and the files and the service that keep it so."""

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from clusterctl_tools.lspci import UnreadableBridgesError
from clusterctl_tools.setpci import DeviceControl, UnreadableRegisterError
from clusterctl_validators import gpu_direct
from clusterctl_validators.device_control import next_action, read_device_control
from clusterctl_validators.file_mode import FileMode, read_mode
from clusterctl_validators.finding import Severity
from clusterctl_validators.pcie import acs_ports, physical_functions
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record
from clusterctl_validators.virtual_machine import is_virtual_machine

ROLE = "pcie"
LEFT_BY_ROLE = ("pcie.conf.*", "pcie.rule.*", "pcie.script.*", "pcie.unit.*", "pcie.service.*")
Spec = Mapping[str, Any]

CONF = "/etc/clusterctl/pcie.conf"
SCRIPT = "/usr/local/sbin/clusterctl-pcie"
UNIT = "clusterctl-pcie.service"
UNIT_FILE = "/etc/systemd/system/" + UNIT
UDEV_RULE = "/etc/udev/rules.d/90-clusterctl-pcie.rules"
_PROVISION = "run `clusterctl provision NODE`"
_AGAIN = "a reset brought it back, or the service did not run: systemctl start {}; journalctl -b -u {}".format(UNIT, UNIT)
_HINTS = {
    "disabled": _AGAIN,
    "enabled": "reboot the node with the IOMMU on; the kernel then enables it",
}


class _RoleFile(NamedTuple):
    """A file of the role; `parts` are in lines that are not comments."""

    path: str
    mode: str
    parts: Tuple[str, ...]


class _Setting(NamedTuple):
    """A setting of the Device Control register; `declared` is empty where it is not managed."""

    check: str
    declared: str
    words_of: Callable[[DeviceControl], str]


_FILES = {
    "script": _RoleFile(SCRIPT, "755", ("ECAP_ACS+6.w=0000", "CAP_EXP+8.w=")),
    "unit": _RoleFile(UNIT_FILE, "644", ("ExecStart={} apply".format(SCRIPT),)),
    "rule": _RoleFile(UDEV_RULE, "644", ('ACTION=="add"', 'ATTR{vendor}=="0x10de|0x15b3"', 'ACTION=="change"')),
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
    elif declared == "disabled" and is_virtual_machine(probe):
        record.not_applicable(check, "a virtual machine: its ports are the hypervisor's; found {}".format(found))
    else:
        wrong = redirecting if declared == "disabled" else [a for a in able if a not in redirecting]
        record.ok(check, not wrong, expected=declared, found=found, hint=_hint(declared, probe))


def test_gpu_direct(spec: Spec, record: Record, probe: Probe) -> None:
    """Whether the ports between GPUs and their ConnectX-8 have ACS as GPUDirect needs it; with Data Direct functions the role refuses to switch it off."""
    if spec["pcie_acs"] == "disabled":
        record.not_applicable(gpu_direct.CHECK, "ACS is declared disabled")
    else:
        gpu_direct.judge(record, probe)


def test_relaxed_ordering(spec: Spec, record: Record, probe: Probe) -> None:
    """Whether GPUs and network adapters may relax the order of their transactions."""
    gpus, adapters = physical_functions(probe)
    setting = _Setting("pcie.relaxed_ordering.running", spec["pcie_relaxed_ordering"], _ordering)
    _judge_registers(setting, [*gpus, *adapters], record, probe)


def test_gpu_max_read_request(spec: Spec, record: Record, probe: Probe) -> None:
    """The largest read request of the GPUs; role ofed has that of the HCAs."""
    declared = spec["pcie_gpu_max_read_request_bytes"]
    gpus, _ = physical_functions(probe)
    setting = _Setting("pcie.gpu_max_read_request.running", "{} bytes".format(declared) if declared else "", _request)
    _judge_registers(setting, gpus, record, probe)


def _judge_registers(setting: _Setting, addresses: List[str], record: Record, probe: Probe) -> None:
    check, declared, words_of = setting
    if not declared or is_virtual_machine(probe):
        record.not_applicable(check, "a virtual machine: its registers are the hypervisor's" if declared else "not managed")
        return
    unread = "" if addresses else "no such device is visible"
    wrong: Dict[str, List[str]] = {}
    for address in addresses:
        try:
            words = words_of(read_device_control(probe, address))
        except UnreadableRegisterError as e:
            unread = unread or "setpci -s {}: {}".format(address, e)
            continue
        if words != declared:
            wrong.setdefault(words, []).append(address)
    if unread and not wrong:
        record.could_not_run(check, unread)
        return
    found = "; ".join("{} on {} of {}{}".format(words, len(of), len(addresses), _first(of)) for words, of in wrong.items())
    record.ok(check, not wrong, expected=declared, found=found or declared, hint=next_action(probe, _AGAIN))


def _hint(declared: str, probe: Probe) -> str:
    """The kernel itself enables ACS, also where it is locked down."""
    return next_action(probe, _HINTS[declared]) if declared == "disabled" else _HINTS[declared]


def _ordering(control: DeviceControl) -> str:
    return "enabled" if control.relaxed_ordering else "disabled"


def _request(control: DeviceControl) -> str:
    return "{} bytes".format(control.max_read_request_bytes)


def test_at_boot(spec: Spec, record: Record, probe: Probe) -> None:
    """The settings, the script, the service that runs it at every boot, and the rule that starts it for a device that appears."""
    lines = [words for words in _conf_lines(spec) if words]
    if not lines:
        for name, path in (("unit", UNIT_FILE), ("rule", UDEV_RULE)):
            found = "absent" if probe.read(path) is None else "present"
            record.equal("pcie." + name, "absent", found, hint=_PROVISION)
        return
    found_lines = _judge_file("pcie.conf", _RoleFile(CONF, "644", ()), probe, record)
    if found_lines is not None:
        record.equal("pcie.conf.content", ", ".join(lines), ", ".join(found_lines) or "nothing", hint=_PROVISION)
    for name, file in _FILES.items():
        _judge_file("pcie." + name, file, probe, record)
    unit = probe.units([UNIT])[UNIT]
    record.equal("pcie.service.persisted", "enabled", unit.file_state or unit.load_state, hint="systemctl enable " + UNIT)
    hint = "journalctl -b -u " + UNIT
    record.ok("pcie.service.running", unit.active_state != "failed", expected="not failed", found=unit.active_state, hint=hint)


def _conf_lines(spec: Spec) -> Tuple[str, ...]:
    """What the settings file declares; an empty text for what is not managed."""
    ordering, bytes_ = spec["pcie_relaxed_ordering"], spec["pcie_gpu_max_read_request_bytes"]
    return (
        "acs disabled" if spec["pcie_acs"] == "disabled" else "",
        "relaxed_ordering " + ordering if ordering else "",
        "gpu_max_read_request_bytes {}".format(bytes_) if bytes_ else "",
    )


def _judge_file(check: str, file: _RoleFile, probe: Probe, record: Record) -> Optional[List[str]]:
    """The lines of a file that are not comments; None, with a finding, if it is absent."""
    text = probe.read(file.path)
    record.ok(check + ".present", text is not None, expected=file.path, found=file.path if text is not None else "absent", hint=_PROVISION)
    if text is None:
        return None
    mode = read_mode(probe, file.path)
    words = "{0.owner} {0.mode}".format(mode) if isinstance(mode, FileMode) else None
    record.equal(check + ".mode", "root " + file.mode, words, severity=Severity.MINOR, hint=_PROVISION)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    if file.parts:
        missing = [part for part in file.parts if not any(part in line for line in lines)]
        right = "has " + ", ".join(file.parts)
        record.ok(
            check + ".content", not missing, expected=right, found="lacks " + ", ".join(missing) if missing else right, hint=_PROVISION
        )
    return lines


def _first(addresses: List[str], most: int = 3) -> str:
    return ": " + ", ".join(addresses[:most]) + (", ..." if len(addresses) > most else "") if addresses else ""
