"""/sys/devices/system/cpu: topology, frequency governors, idle states, vulnerabilities."""

from __future__ import annotations

from . import machine
from .cmdline import last

# Out of the box: the governor of the intel_pstate driver's passive mode, and all idle states on.
GOVERNOR = "powersave"
# Names and exit latencies (us) of intel_idle on Sapphire Rapids.
_IDLE_STATES = (("POLL", 0), ("C1", 1), ("C1E", 2), ("C6", 290))


def files(cmdline: str) -> dict[str, str | int | bytes]:
    """All files, relative to /sys."""
    base = "devices/system/cpu"
    everyone = machine.cpu_list(list(range(machine.CPUS)))
    isolated = last(cmdline, "isolcpus") or ""
    result: dict[str, str | int | bytes] = {f"{base}/{name}": everyone for name in ("online", "possible", "present")}
    result |= {
        f"{base}/offline": "",
        f"{base}/isolated": ",".join(part for part in isolated.split(",") if part[:1].isdigit()),
        f"{base}/nohz_full": last(cmdline, "nohz_full") or "",
        f"{base}/kernel_max": 8191,
        f"{base}/smt/active": 1,
        f"{base}/smt/control": "on",
        f"{base}/intel_pstate/status": "active" if last(cmdline, "intel_pstate") is None else last(cmdline, "intel_pstate") or "",
        f"{base}/intel_pstate/no_turbo": 0,
        f"{base}/intel_pstate/max_perf_pct": 100,
        f"{base}/intel_pstate/min_perf_pct": 21,
        f"{base}/cpuidle/current_driver": "intel_idle",
        f"{base}/cpuidle/current_governor": "menu",
        f"{base}/vulnerabilities/meltdown": "Not affected",
        f"{base}/vulnerabilities/spectre_v2": _spectre(cmdline),
    }
    for cpu in range(machine.CPUS):
        result |= _cpu(f"{base}/cpu{cpu}", cpu)
        result |= _frequency(f"{base}/cpufreq/policy{cpu}", cpu)
    return result


def links() -> dict[str, str]:
    """Symbolic links, relative to /sys."""
    base = "devices/system/cpu"
    result = {f"{base}/cpu{cpu}/cpufreq": f"../cpufreq/policy{cpu}" for cpu in range(machine.CPUS)}
    return result | {f"bus/cpu/devices/cpu{cpu}": f"../../../devices/system/cpu/cpu{cpu}" for cpu in range(machine.CPUS)}


def _cpu(path: str, cpu: int) -> dict[str, str | int | bytes]:
    core = cpu % (machine.SOCKETS * machine.CORES_PER_SOCKET)
    socket = core // machine.CORES_PER_SOCKET
    siblings = [core, core + machine.SOCKETS * machine.CORES_PER_SOCKET]
    package = machine.cpus_of_numa_node(socket)
    result: dict[str, str | int | bytes] = {
        f"{path}/online": 1,
        f"{path}/topology/physical_package_id": socket,
        f"{path}/topology/die_id": 0,
        f"{path}/topology/core_id": core % machine.CORES_PER_SOCKET,
        f"{path}/topology/thread_siblings_list": machine.cpu_list(siblings),
        f"{path}/topology/thread_siblings": machine.cpu_mask(siblings),
        f"{path}/topology/core_siblings_list": machine.cpu_list(package),
        f"{path}/topology/core_siblings": machine.cpu_mask(package),
    }
    for state, (name, latency_us) in enumerate(_IDLE_STATES):
        folder = f"{path}/cpuidle/state{state}"
        result |= {f"{folder}/name": name, f"{folder}/latency": latency_us, f"{folder}/disable": 0}
    return result


def _frequency(path: str, cpu: int) -> dict[str, str | int | bytes]:
    return {
        f"{path}/affected_cpus": cpu,
        f"{path}/scaling_driver": "intel_pstate",
        f"{path}/scaling_governor": GOVERNOR,
        f"{path}/scaling_available_governors": "performance powersave",
        f"{path}/scaling_min_freq": 800000,
        f"{path}/scaling_max_freq": 3800000,
        f"{path}/scaling_cur_freq": 2000000,
        f"{path}/cpuinfo_min_freq": 800000,
        f"{path}/cpuinfo_max_freq": 3800000,
        f"{path}/energy_performance_preference": "balance_performance",
    }


def _spectre(cmdline: str) -> str:
    return "Vulnerable" if last(cmdline, "mitigations") == "off" else "Mitigation: Enhanced / Automatic IBRS"
