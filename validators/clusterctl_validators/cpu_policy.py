"""Frequency governors and idle states of all CPUs, one line each; and the file from which they are restored at boot."""

from collections import Counter
from typing import Dict, List

from clusterctl_validators.probe import Probe, ProbeError

CONFIG = "/etc/clusterctl/os-tuning.conf"
_CPUS = "/sys/devices/system/cpu/cpu[0-9]*"
_BIAS = "/power/energy_perf_bias"
# The kernel reads names and numbers and shows numbers (arch/x86/kernel/cpu/intel_epb.c).
BIASES = {"performance": 0, "balance-performance": 4, "normal": 6, "balance-power": 8, "power": 15}


def chosen(text: str) -> str:
    """The selected word: `madvise` of `always [madvise] never`."""
    return text.partition("[")[2].partition("]")[0] if "[" in text else text


def governors(probe: Probe) -> str:
    """The governor of all CPUs, or the count of CPUs for each if they differ."""
    found = Counter(probe.read(path) or "(empty)" for path in probe.glob(_CPUS + "/cpufreq/scaling_governor"))
    if not found:
        return "(no cpufreq)"
    return next(iter(found)) if len(found) == 1 else _counts(found)


def has_governors(probe: Probe) -> bool:
    """Whether the kernel has cpufreq on any CPU."""
    return bool(probe.glob(_CPUS + "/cpufreq/scaling_governor"))


def has_idle_states(probe: Probe) -> bool:
    """Whether the kernel has cpuidle on any CPU."""
    return bool(probe.glob(_CPUS + "/cpuidle/state[0-9]*"))


def only_waits(probe: Probe) -> bool:
    """Whether this is an Arm processor without cpuidle: its cores stop their clock by an instruction, and have nothing deeper (Grace: C0 and C1)."""
    return not has_idle_states(probe) and "CPU implementer" in (probe.read("/proc/cpuinfo") or "")


def has_energy_bias(probe: Probe) -> bool:
    """Whether the processor has the hint and gives it to the kernel (flag `epb`), or the kernel shows it."""
    flags = next((line for line in (probe.read("/proc/cpuinfo") or "").splitlines() if line.startswith("flags")), "")
    return "epb" in flags.split() or bool(probe.glob(_CPUS + _BIAS))


def energy_biases(probe: Probe) -> str:
    """The performance and energy bias of all CPUs by name, or the count of CPUs for each if they differ."""
    found = Counter(_bias_name(probe.read(path) or "(empty)") for path in probe.glob(_CPUS + _BIAS))
    if not found:
        return "(no such file)"
    return next(iter(found)) if len(found) == 1 else _counts(found)


def _bias_name(text: str) -> str:
    return next((name for name, number in BIASES.items() if str(number) == text.strip()), text)


def idle_states(probe: Probe, latency_max_us: int) -> str:
    """`as_declared`, or the states that are on or off contrary to the limit.

    Raises:
        ProbeError: the kernel exposes no idle states or no latencies.
    """
    wrong: List[str] = []
    states = probe.glob(_CPUS + "/cpuidle/state[0-9]*")
    if not states:
        raise ProbeError("this kernel exposes no idle states (cpuidle)")
    for state in states:
        latency, disable = probe.read(state + "/latency"), probe.read(state + "/disable")
        if latency is None or disable is None:
            raise ProbeError("{}: latency or disable is absent".format(state))
        should_be_off = int(latency) > latency_max_us
        if (disable != "0") != should_be_off:
            name = probe.read(state + "/name") or state.rpartition("/")[2]
            wrong.append("{} ({} us) is {}".format(name, latency, "on" if should_be_off else "off"))
    return _counts(Counter(wrong)) if wrong else as_declared(latency_max_us)


def as_declared(latency_max_us: int) -> str:
    """The result of `idle_states` if all states are as declared."""
    return "states above {} us off".format(latency_max_us)


def written(probe: Probe) -> Dict[str, str]:
    """The values that the service restores at boot."""
    lines = (probe.read(CONFIG) or "").splitlines()
    return {name: value for name, equals, value in (line.partition("=") for line in lines) if equals and not name.startswith("#")}


def _counts(found: "Counter[str]") -> str:
    return ", ".join("{} on {} CPU{}".format(what, n, "" if n == 1 else "s") for what, n in sorted(found.items()))
