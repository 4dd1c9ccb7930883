"""Contents of /proc: the initial values of /proc/sys, and single files."""

from __future__ import annotations

from math import isqrt

from . import imex_channel, machine
from .cmdline import last_value
from .sysfs_cpu import MICROCODE

# Initial values of a distribution kernel on this machine; keys are paths below /proc/sys.
_FRESH: dict[str, str | int] = {
    "vm/swappiness": 60,
    "vm/dirty_ratio": 20,
    "vm/dirty_background_ratio": 10,
    "vm/zone_reclaim_mode": 0,
    "vm/overcommit_memory": 0,
    "vm/max_map_count": 65530,
    "vm/nr_hugepages": 0,
    "vm/nr_hugepages_mempolicy": 0,
    "vm/nr_overcommit_hugepages": 0,
    "vm/numa_stat": 1,
    "vm/stat_interval": 1,
    "vm/compaction_proactiveness": 20,
    "vm/watermark_scale_factor": 10,
    "vm/vfs_cache_pressure": 100,
    "kernel/numa_balancing": 1,
    "kernel/nmi_watchdog": 1,
    "kernel/watchdog": 1,
    "kernel/soft_watchdog": 1,
    "kernel/watchdog_thresh": 10,
    "kernel/hung_task_timeout_secs": 120,
    "kernel/panic": 0,
    "kernel/panic_on_oops": 0,
    "kernel/sched_autogroup_enabled": 1,
    "kernel/randomize_va_space": 2,
    "kernel/perf_event_paranoid": 4,
    "kernel/kptr_restrict": 1,
    "kernel/dmesg_restrict": 1,
    "kernel/sysrq": 176,
    "kernel/pid_max": 4194304,
    "kernel/threads-max": 16511180,
    "kernel/core_pattern": "core",
    "kernel/timer_migration": 1,
    "kernel/sched_rt_runtime_us": 950000,
    "fs/file-max": 9223372036854775807,
    "fs/nr_open": 1048576,
    "fs/aio-max-nr": 65536,
    "fs/inotify/max_user_instances": 128,
    "fs/inotify/max_user_watches": 1048576,
    "fs/suid_dumpable": 2,
}
# A network namespace has only some files of /proc/sys/net/core; the others belong to the whole machine.
_FRESH_NET_CORE: dict[str, str | int] = {
    "rmem_max": 212992,
    "wmem_max": 212992,
    "rmem_default": 212992,
    "wmem_default": 212992,
    "optmem_max": 131072,
    "netdev_max_backlog": 1000,
    "netdev_budget": 300,
    "netdev_budget_usecs": 2000,
    "busy_poll": 0,
    "busy_read": 0,
    "default_qdisc": "fq_codel",
    "bpf_jit_enable": 1,
    "rps_sock_flow_entries": 0,
    "somaxconn": 4096,
}
# The size of the neighbour table belongs to the initial network namespace; a container does not see it.
NEIGHBOUR_TABLE: dict[str, str | int | bytes] = {"default/gc_thresh1": 128, "default/gc_thresh2": 512, "default/gc_thresh3": 1024}


# Kernel: mm/page_alloc.c (init_per_zone_wmark_min, 4 KiB pages) and mm/khugepaged.c (set_recommended_min_free_kbytes).
_MOST_FREE_KIB = 262144
_PAGE_BLOCK_KIB = 2048
_BLOCKS_PER_ZONE = 2 + 3 * 3


def min_free_kib() -> int:
    """What the kernel keeps free at boot on its own: by memory, or more for huge pages on many NUMA nodes."""
    by_memory = min(isqrt(machine.THIS.memory_kib * 16), _MOST_FREE_KIB)
    # A zone per NUMA node, and on x86 two for devices with short addresses.
    zones = machine.NUMA_NODES + (2 if machine.THIS.processor.flags else 0)
    return max(by_memory, _PAGE_BLOCK_KIB * _BLOCKS_PER_ZONE * zones)


def proc_sys_files(cmdline: str, boot_id: str, huge_total: int) -> dict[str, str | int | bytes]:
    """The files below /proc/sys after a boot with this command line."""
    result: dict[str, str | int | bytes] = dict(_FRESH)
    result |= {f"net/core/{name}": value for name, value in _FRESH_NET_CORE.items()}
    result |= {"kernel/random/boot_id": boot_id, "vm/min_free_kbytes": min_free_kib()}
    result |= {"vm/nr_hugepages": huge_total, "vm/nr_hugepages_mempolicy": huge_total}
    for word, path in (("nmi_watchdog", "kernel/nmi_watchdog"), ("numa_balancing", "kernel/numa_balancing")):
        value = last_value(cmdline, word)
        if value is not None:
            result[path] = {"enable": 1, "disable": 0}.get(value, value)
    return result


def cpuinfo() -> str:
    """The text of /proc/cpuinfo."""
    describe = _x86 if machine.THIS.processor.flags else _arm
    return "\n".join("".join(f"{name}\t: {value}\n" for name, value in describe(cpu).items()) for cpu in range(machine.CPUS))


def _arm(cpu: int) -> dict[str, str | int]:
    """A Neoverse V2: the kernel shows ids of implementer and part, but no name."""
    implementer: dict[str, str | int] = {
        "CPU implementer": "0x41",
        "CPU architecture": 8,
        "CPU variant": "0x0",
        "CPU part": "0xd4f",
        "CPU revision": 0,
    }
    return {"processor": cpu, "BogoMIPS": "2000.00", "Features": "fp asimd evtstrm aes atomics sve sve2", **implementer}


def _x86(cpu: int) -> dict[str, str | int]:
    this, processor = machine.THIS, machine.THIS.processor
    core = cpu % (this.sockets * this.cores_per_socket)
    return {
        "processor": cpu,
        "vendor_id": processor.vendor,
        "cpu family": processor.family,
        "model": processor.number,
        "model name": processor.model,
        "stepping": processor.stepping,
        "microcode": MICROCODE,
        "cpu MHz": "2000.000",
        "cache size": "107520 KB",
        "physical id": core // this.cores_per_socket,
        "siblings": this.cores_per_socket * this.threads_per_core,
        "core id": core % this.cores_per_socket,
        "cpu cores": this.cores_per_socket,
        "flags": processor.flags,
    }


def devices_text() -> str:
    """The text of /proc/devices, with the character devices that GPU programs look up."""
    rows = [(1, "mem"), (5, "/dev/tty"), (195, "nvidia"), (231, "infiniband_verbs"), (234, "nvidia-caps"), (509, "nvidia-uvm")]
    rows += [(imex_channel.MAJOR, "nvidia-caps-imex-channels")] if machine.THIS.rack_nvlink else []
    return "\n".join(["Character devices:", *(f"{number:>3} {name}" for number, name in sorted(rows)), "", "Block devices:", "  7 loop"])


SWAPS = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
