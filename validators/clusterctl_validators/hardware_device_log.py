"""Judges what the kernel log has about local disks with their file systems, and about adapters with their modules."""

from typing import Mapping, Sequence

from clusterctl_validators import adapter_errors, disk_errors
from clusterctl_validators.finding import Severity
from clusterctl_validators.hardware_log import Window
from clusterctl_validators.logged_error import LoggedError, next_action, shown
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

DISKS = "hardware.disk_errors"
_HCA = "hardware.hca[{}].log"
_EXPECTED = "none {}"


def judge_disk_errors(record: Record, probe: Probe, window: Window) -> None:
    """Errors of local disks."""
    recent = [e for e in disk_errors.parse(window.log.text) if window.holds(e.time)]
    local = {device: disk_errors.is_local(probe, device) for device in {e.device for e in recent}}
    own = [e for e in recent if local[e.device]]
    _judge(record, DISKS, window, own, Severity.MAJOR)


def judge_adapters(record: Record, hcas: Mapping[str, str], window: Window) -> None:
    """Errors of the declared adapters; `hcas`: name -> PCI address."""
    recent = [e for e in adapter_errors.parse(window.log.text) if window.holds(e.time)]
    for name, address in hcas.items():
        own = [e for e in recent if e.device == address]
        _judge(record, _HCA.format(name), window, own, Severity.CRITICAL)


def _judge(record: Record, check: str, window: Window, errors: Sequence[LoggedError], severity: Severity) -> None:
    """Errors fail the node. What driver or device recovered from by itself is a warning."""
    lost = [e for e in errors if not e.recovered]
    recovered = [e for e in errors if e.recovered]
    expected = _EXPECTED.format(window)
    window.judge(record, check, not lost, expected=expected, found=shown(lost) or "none", severity=severity, hint=next_action(lost))
    if recovered:
        record.warn(check, expected=expected, found=shown(recovered), hint=next_action(recovered))
