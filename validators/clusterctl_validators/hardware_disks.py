"""Judges what the NVMe disks on PCIe report about themselves.

A disk may have used up its spare without a critical warning: one of a public DGX has 0 % of at least 11 % and passes smartctl's overall
health (facebookresearch/gcm 1b7bde97, learn_bad_nvme9), so spare and threshold are compared, too, as gcm's check_blockdev does.
"""

from typing import List

from clusterctl_tools.nvme_smart import NoSmartLogError, SmartLog, UnreadableSmartLogError, parse_smart_log
from clusterctl_validators import pcie
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

_CLASS = "/sys/class/nvme/{}/{}"
_COOL = "check fans and air flow; it slows down by itself until it is cooler"


def judge_nvme_health(record: Record, probe: Probe, used_max_percent: int) -> None:
    """Record `health` and `temperature` of every disk; `used_max_percent` 0 judges no wear."""
    for name in pcie.nvme_devices(probe):
        at = "hardware.nvme[{}].".format(name)
        try:
            log = parse_smart_log(probe.nvme_smart_log(name))
        except NoSmartLogError as e:
            record.not_applicable(at + "health", str(e))
            continue
        except UnreadableSmartLogError as e:
            record.could_not_run(at + "health", str(e))
            continue
        disk = "{} ({})".format(name, _identity(probe, name))
        troubles = _troubles(log, used_max_percent)
        hint = "{}: save what is needed from it and replace the disk".format(disk)
        record.ok(at + "health", not troubles, expected="no warning", found="; ".join(troubles) or "no warning", hint=hint)
        if log.hot:
            record.warn(
                at + "temperature", expected="no warning", found="beyond a threshold of the disk", hint="{}: {}".format(disk, _COOL)
            )


def _identity(probe: Probe, name: str) -> str:
    return (
        ", ".join(filter(None, ((probe.read(_CLASS.format(name, part)) or "").strip() for part in ("model", "serial"))))
        or "model not shown"
    )


def _troubles(log: SmartLog, used_max_percent: int) -> List[str]:
    troubles = list(log.warnings)
    if log.spare_percent < log.spare_threshold_percent:
        troubles.append("spare {} %, threshold {} %".format(log.spare_percent, log.spare_threshold_percent))
    if used_max_percent and log.used_percent > used_max_percent:
        troubles.append("{} % of its life used, at most {} %".format(log.used_percent, used_max_percent))
    if troubles and log.media_errors:
        troubles.append("{} media errors".format(log.media_errors))
    return troubles
