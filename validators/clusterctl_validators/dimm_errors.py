"""Corrected errors of each DIMM since boot, as the kernel's EDAC counts them.

Format: Documentation/ABI/testing/sysfs-devices-edac of Linux. Errors without a DIMM are `ce_noinfo_count` of their memory controller.
"""

from typing import Dict, Optional

from clusterctl_tools import kernel_cmdline
from clusterctl_validators.finding import Severity
from clusterctl_validators.probe import Probe, ProbeError
from clusterctl_validators.record import Record

_MC = "/sys/devices/system/edac/mc/"
_PATHS = ("mc*/dimm*/dimm_ce_count", "mc*/rank*/dimm_ce_count", "mc*/ce_noinfo_count")
_SECONDS_PER_DAY = 86400.0


def judge_dimms(record: Record, probe: Probe, per_day_max: int) -> None:
    """At most `per_day_max` errors for each day since boot, the first one counted whole; 0 = not declared."""
    counts = _counts(probe)
    if not per_day_max:
        record.not_applicable("hardware.dimms.corrected", "not declared for this node")
        return
    if not counts:
        record.warn(
            "hardware.dimms.corrected",
            expected="counters of the kernel (EDAC)",
            found="none",
            hint="without an EDAC driver the kernel does not report corrected errors: load that of this processor, and see the BMC's event log",
        )
        return
    most = per_day_max * max(_uptime_s(probe) / _SECONDS_PER_DAY, 1.0)
    bad = {name: count for name, count in counts.items() if count > most}
    ignored = _ignored(probe)
    if ignored and not bad:
        record.warn(
            "hardware.dimms.corrected",
            expected="a kernel that counts corrected errors",
            found="{}: it ignores those that the firmware does not report".format(ignored),
            hint="boot without it (kernel_cmdline of the role kernel: {mce: false}), and see the BMC's event log",
        )
        return
    label = {name: (probe.read(_MC + name + "/dimm_label") or "").strip() for name in bad}
    hint = "find the DIMM in the event log of the BMC (`clusterctl bmc NODE`), replace it, then burn in"
    for name, count in sorted(bad.items()):
        check = "hardware.dimm[{}].corrected".format(name)
        record.ok(check, False, expected="<= {:g}".format(int(most)), found="{}: {}".format(label[name], count), hint=hint)
    record.ok(
        "hardware.dimms.corrected",
        not bad,
        expected="<= {:g} each since boot, {} a day".format(int(most), per_day_max),
        found="; ".join("{} {}: {}".format(name, label[name], count) for name, count in sorted(bad.items())) or "none above it",
        severity=Severity.MAJOR,
        hint=hint,
    )


def _counts(probe: Probe) -> Dict[str, int]:
    found = {}
    for path in sorted(p for pattern in _PATHS for p in probe.glob(_MC + pattern)):
        text = (probe.read(path) or "").strip()
        if text.isdigit():
            found[path[len(_MC) :].rpartition("/")[0]] = int(text)
    return found


def _ignored(probe: Probe) -> Optional[str]:
    """The parameter by which the running kernel polls no corrected errors (Documentation/arch/x86/x86_64/boot-options.rst)."""
    values = kernel_cmdline.parse(probe.read("/proc/cmdline") or "").get("mce", [])
    return next(("mce={}".format(value) for value in values if value in ("ignore_ce", "off")), None)


def _uptime_s(probe: Probe) -> float:
    """Raises ProbeError."""
    try:
        return float((probe.read("/proc/uptime") or "").split()[0])
    except (ValueError, IndexError) as e:
        raise ProbeError("/proc/uptime shows no number") from e
