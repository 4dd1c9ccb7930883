"""What a former user of a node may leave in its operating system that no role sets, and that takes processors, memory or network from the next job.

One reading a row: it returns what differs from a node as its kernel starts it, an empty text where nothing does, None where the node has no such thing.
Each is a warning: a site may have set it on purpose, and none of them stops a job.
"""

import re
from dataclasses import dataclass
from typing import Callable, List, Optional, Set, Tuple

from clusterctl_tools import traffic_control
from clusterctl_validators.probe import Probe, ProbeError
from clusterctl_validators.record import Record

_CPU = "/sys/devices/system/cpu/"
_CGROUPS = "/sys/fs/cgroup/"
# Jobs run below these: of Slurm and of services in the first, of logins in the second, virtual machines and containers of systemd in the third.
_SLICES = ("system.slice", "user.slice", "machine.slice")
# File of a control group -> what it has without a limit (Documentation/admin-guide/cgroup-v2.rst); systemd sets no limit of tasks for slices (systemd-system.conf(5)).
_UNLIMITED = {"cpu.max": r"max \d+", "memory.max": "max", "memory.high": "max", "pids.max": "max", "cpuset.cpus": "", "rdma.max": ""}
_PRELOAD = "/etc/ld.so.preload"
_REBOOT = "a reboot of the drained node ends it, unless something sets it again"


@dataclass(frozen=True)
class Leftover:
    """One reading: `name` is the last part of the check id, `expected` and `hint` are for people."""

    name: str
    read: Callable[[Probe], Optional[str]]
    expected: str
    hint: str


def cpu_numbers(text: str) -> Set[int]:
    """The numbers of a list of CPUs as the kernel prints it: `0-3,8`."""
    found: Set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def _offline_cpus(probe: Probe) -> Optional[str]:
    present, online = probe.read(_CPU + "present"), probe.read(_CPU + "online")
    if not present or not online:
        return None
    # Without SMT the kernel keeps the second thread of each core offline, which the number of threads per core shows.
    if (probe.read(_CPU + "smt/control") or "") in ("off", "forceoff"):
        return None
    missing = cpu_numbers(present) - cpu_numbers(online)
    return (
        "{} of {} offline: {}".format(len(missing), len(cpu_numbers(present)), ", ".join(map(str, sorted(missing)[:8]))) if missing else ""
    )


def _slow_cpus(probe: Probe) -> Optional[str]:
    policies = probe.glob(_CPU + "cpufreq/policy[0-9]*")
    if not policies:
        return None
    khz = [(_number(probe, p + "/scaling_max_freq"), _possible_khz(probe, p)) for p in policies]
    capped = [most for most, possible in khz if 0 < most < possible]
    found = ["{} of {} CPUs limited to {:g} MHz".format(len(capped), len(khz), min(capped) / 1000)] if capped else []
    switches = (("intel_pstate/no_turbo", "1"), *(() if _starts_without_boost(probe) else (("cpufreq/boost", "0"),)))
    for name, slow in switches:
        found += ["{} is {}".format(name, slow)] if probe.read(_CPU + name) == slow else []
    percent = _number(probe, _CPU + "intel_pstate/max_perf_pct")
    return ", ".join([*found, *(["intel_pstate/max_perf_pct is {}".format(percent)] if 0 < percent < 100 else [])])


def _starts_without_boost(probe: Probe) -> bool:
    """Of the driver of Arm processors (Grace), the kernel itself begins with 0, and it refuses 1 where no performance is above the nominal one.

    The file is there either way (cppc_cpufreq_set_boost of drivers/cpufreq/cppc_cpufreq.c, cpufreq_boost_supported of cpufreq.c).
    """
    return any(probe.read(path) == "cppc_cpufreq" for path in probe.glob(_CPU + "cpufreq/policy[0-9]*/scaling_driver"))


def _number(probe: Probe, path: str) -> int:
    text = probe.read(path) or ""
    return int(text) if text.isdigit() else 0


def _possible_khz(probe: Probe, policy: str) -> int:
    """What a policy may request: with acpi-cpufreq (EPYC) the processor's maximum has boost in it, which no policy can.

    A healthy EPYC shows 2.80 of 3.74 GHz (cpupower frequency-info, index id 35285217802; get_max_boost_ratio of Linux, drivers/cpufreq/acpi-cpufreq.c, and
    cpufreq_frequency_table_cpuinfo of freq_table.c). The list of frequencies has none with boost.
    """
    listed = [int(word) for word in (probe.read(policy + "/scaling_available_frequencies") or "").split() if word.isdigit()]
    return min([_number(probe, policy + "/cpuinfo_max_freq"), *([max(listed)] if listed else [])])


# Assumed: no distribution limits these slices; kubelet does with --enforce-node-allocatable=system-reserved, which is a warning then.
def _limited_slices(probe: Probe) -> Optional[str]:
    read: List[Tuple[str, str, str]] = []
    for name in _SLICES:
        for file in _UNLIMITED:
            text = probe.read("{}{}/{}".format(_CGROUPS, name, file))
            read += [] if text is None else [(name, file, text)]
    if not read:
        return None
    return "; ".join("{}/{}: {}".format(n, f, " ".join(t.split())) for n, f, t in read if not _is_unlimited(f, t))


def _is_unlimited(file: str, text: str) -> bool:
    if file == "rdma.max":
        return not re.search(r"=\d", text)
    return re.fullmatch(_UNLIMITED[file], text.strip()) is not None


def _preloaded(probe: Probe) -> Optional[str]:
    text = probe.read(_PRELOAD)
    return None if text is None else " ".join(re.sub(r"#.*", "", text).replace(":", " ").split())


def _shaped(probe: Probe) -> Optional[str]:
    """Only of interfaces with a device: those of containers have rates of their own."""
    physical = {path.split("/")[4] for path in probe.glob("/sys/class/net/*/device")}
    result = probe.run(traffic_control.QDISCS) if physical else None
    if result is None or result.error or result.rc != 0:
        return None
    try:
        found = traffic_control.parse_qdiscs(result.stdout)
    except traffic_control.UnreadableQdiscsError as e:
        raise ProbeError(str(e)) from e
    return ", ".join(sorted({"{} on {}".format(k, dev) for dev, k in found if dev in physical and k in traffic_control.SHAPING}))


LEFTOVERS = (
    Leftover("offline_cpus", _offline_cpus, "none", "write 1 to /sys/devices/system/cpu/cpuN/online; " + _REBOOT),
    Leftover(
        "slices",
        _limited_slices,
        "no limit",
        "`systemctl cat SLICE` names the file with the limit: remove it, and `systemctl daemon-reload`",
    ),
    Leftover("preload", _preloaded, "nothing", "every program loads it: remove it from {}, or waive this check".format(_PRELOAD)),
    Leftover("traffic_control", _shaped, "none", "`tc qdisc del dev INTERFACE root`; " + _REBOOT),
)
FULL_SPEED = Leftover(
    "cpu_frequency",
    _slow_cpus,
    "the processor's own maximum",
    "`cpupower frequency-set -u MAXIMUM`, turbo on; {}. If it stays, the BIOS or the BMC limits it".format(_REBOOT),
)


def judge_leftover(record: Record, probe: Probe, one: Leftover) -> None:
    """A warning where the node has it."""
    check = "os_tuning.left_behind." + one.name
    found = one.read(probe)
    if found is None:
        record.not_applicable(check, "this node has no such setting")
    elif found:
        record.warn(check, expected=one.expected, found=found, hint=one.hint)
    else:
        record.equal(check, one.expected, one.expected)
