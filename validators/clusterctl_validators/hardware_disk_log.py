"""Judges what the kernel log has about local disks and the file systems on them."""

from typing import Dict, Iterable, List

from clusterctl_validators.disk_errors import LOST_HINT, RECOVERED_HINT, DiskError, is_local, parse
from clusterctl_validators.hardware_log import Window
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

CHECK = "hardware.disk_errors"
_MOST = 5
_EXPECTED = "none {}"


def judge_disk_errors(record: Record, probe: Probe, window: Window) -> None:
    """Errors fail the node. What the driver recovered from by itself is a warning."""
    recent = [e for e in parse(window.log.text) if window.holds(e.time)]
    local = {device: is_local(probe, device) for device in {e.device for e in recent}}
    errors = [e for e in recent if local[e.device]]
    lost = [e for e in errors if not e.recovered]
    recovered = [e for e in errors if e.recovered]
    window.judge(
        record,
        CHECK,
        not lost,
        expected=_EXPECTED.format(window),
        found=_shown(lost) or "none",
        hint=LOST_HINT,
    )
    if recovered:
        record.warn(CHECK, expected=_EXPECTED.format(window), found=_shown(recovered), hint=RECOVERED_HINT)


def _shown(errors: Iterable[DiskError]) -> str:
    """The first error of each device, and how many it has."""
    by_device: Dict[str, List[DiskError]] = {}
    for error in errors:
        by_device.setdefault(error.device, []).append(error)
    texts = [_of_device(own) for own in by_device.values()]
    return "; ".join(texts[:_MOST]) + (" and {} more devices".format(len(texts) - _MOST) if len(texts) > _MOST else "")


def _of_device(own: List[DiskError]) -> str:
    first = own[0]
    time = " ({})".format(first.time) if first.time else ""
    return "{}: {}{}{}".format(first.device, first.detail[:80], time, "; {} in all".format(len(own)) if len(own) > 1 else "")
