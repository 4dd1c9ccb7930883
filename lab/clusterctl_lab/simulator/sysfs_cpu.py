"""/sys/devices/system/cpu: topology, frequency governors, idle states, vulnerabilities."""

from __future__ import annotations

from . import machine
from .cmdline import last_value

# Default: all idle states are enabled, and the governor saves power.
GOVERNOR = "powersave"
# The kernel's own choice where the BIOS left 0 (arch/x86/kernel/cpu/intel_epb.c).
ENERGY_BIAS = 6
MICROCODE = "0x2b000603"


def files(cmdline: str) -> dict[str, str | int | bytes]:
    """All files, relative to /sys."""
    base = "devices/system/cpu"
    all_cpus = machine.cpu_list(list(range(machine.CPUS)))
    isolated = last_value(cmdline, "isolcpus") or ""
    result: dict[str, str | int | bytes] = {f"{base}/{name}": all_cpus for name in ("online", "possible", "present")}
    result |= {
        f"{base}/offline": "",
        f"{base}/isolated": ",".join(part for part in isolated.split(",") if part[:1].isdigit()),
        f"{base}/nohz_full": last_value(cmdline, "nohz_full") or "",
        f"{base}/kernel_max": 8191,
        f"{base}/smt/active": machine.THIS.threads_per_core - 1,
        f"{base}/smt/control": "on" if machine.THIS.threads_per_core > 1 else "notsupported",
        f"{base}/cpuidle/current_driver": machine.THIS.processor.idle_driver,
        f"{base}/cpuidle/current_governor": "menu",
        f"{base}/vulnerabilities/meltdown": "Not affected",
        f"{base}/vulnerabilities/spectre_v2": _spectre(cmdline),
    }
    if _intel_pstate():
        status = last_value(cmdline, "intel_pstate")
        pstate: dict[str, str | int | bytes] = {
            "status": "active" if status is None else status,
            "no_turbo": 0,
            "max_perf_pct": 100,
            "min_perf_pct": 21,
        }
        result |= {f"{base}/intel_pstate/{name}": value for name, value in pstate.items()}
    if machine.THIS.processor.vendor:
        result[f"{base}/cpu0/microcode/version"] = MICROCODE
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
    this = machine.THIS
    core = cpu % (this.sockets * this.cores_per_socket)
    socket = core // this.cores_per_socket
    siblings = machine.siblings_of_core(core)
    package = machine.cpus_of_socket(socket)
    result: dict[str, str | int | bytes] = {
        f"{path}/online": 1,
        f"{path}/topology/physical_package_id": socket,
        f"{path}/topology/die_id": 0,
        f"{path}/topology/core_id": core % this.cores_per_socket,
        f"{path}/topology/thread_siblings_list": machine.cpu_list(siblings),
        f"{path}/topology/thread_siblings": machine.cpu_mask(siblings),
        f"{path}/topology/core_siblings_list": machine.cpu_list(package),
        f"{path}/topology/core_siblings": machine.cpu_mask(package),
    }
    if "epb" in this.processor.flags.split():
        result[f"{path}/power/energy_perf_bias"] = ENERGY_BIAS
    for state, (name, latency_us) in enumerate(this.processor.idle_states):
        folder = f"{path}/cpuidle/state{state}"
        result |= {f"{folder}/name": name, f"{folder}/latency": latency_us, f"{folder}/disable": 0}
    return result


def _frequency(path: str, cpu: int) -> dict[str, str | int | bytes]:
    processor = machine.THIS.processor
    least, most = processor.khz
    result: dict[str, str | int | bytes] = {
        f"{path}/affected_cpus": cpu,
        f"{path}/scaling_driver": processor.frequency_driver,
        f"{path}/scaling_governor": GOVERNOR,
        f"{path}/scaling_available_governors": processor.governors,
        f"{path}/scaling_min_freq": least,
        f"{path}/scaling_max_freq": most,
        f"{path}/scaling_cur_freq": 2000000,
        f"{path}/cpuinfo_min_freq": least,
        f"{path}/cpuinfo_max_freq": most,
    }
    return result | ({f"{path}/energy_performance_preference": "balance_performance"} if _intel_pstate() else {})


def _intel_pstate() -> bool:
    return machine.THIS.processor.frequency_driver == "intel_pstate"


def _spectre(cmdline: str) -> str:
    return "Vulnerable" if last_value(cmdline, "mitigations") == "off" else "Mitigation: Enhanced / Automatic IBRS"
