from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from support.checks import write_files
from support.filters import filter_plugin
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = ROOT / "roles" / "os_tuning" / "files" / "clusterctl-os-tuning"
plugin = filter_plugin("os_tuning")
THP = "/sys/kernel/mm/transparent_hugepage/"
CPU = "/sys/devices/system/cpu/cpu{}/"
CONF = "thp_enabled=madvise\nthp_defrag=defer+madvise\ngovernor=performance\nidle_latency_max_us=3\n"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    files = {THP + "enabled": "[always] madvise never\n", THP + "defrag": "always defer [defer+madvise] madvise never\n"}
    for cpu in (0, 11):
        base = CPU.format(cpu)
        files[base + "cpufreq/scaling_governor"] = "powersave\n"
        for state, latency, disable in ((0, 0, 1), (3, 290, 0)):
            files |= {f"{base}cpuidle/state{state}/latency": f"{latency}\n", f"{base}cpuidle/state{state}/disable": f"{disable}\n"}
    return write_files(tmp_path, {**files, "/etc/clusterctl/os-tuning.conf": CONF})


def run(mode: str, root: Path) -> tuple[int, list[str]]:
    done = subprocess.run(["sh", str(SCRIPT), mode, str(root)], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_check_reports_differences_and_changes_nothing(machine: Path) -> None:
    code, lines = run("check", machine)
    assert code == 1
    assert lines[0] == "/sys/kernel/mm/transparent_hugepage/enabled: always, declared madvise"
    assert len(lines) == 1 + 2 + 4
    assert run("check", machine) == (code, lines)


def test_apply_sets_the_policy_and_resets_polling(machine: Path) -> None:
    assert run("apply", machine) == (0, [])
    assert run("check", machine) == (0, [])
    cpu = machine / CPU.format(11).lstrip("/")
    assert (cpu / "cpuidle/state0/disable").read_text() == "0\n"
    assert (cpu / "cpuidle/state3/disable").read_text() == "1\n"


@pytest.mark.parametrize(("by_firmware", "differences"), [(1, 0), (0, 2)])
def test_states_that_the_bios_may_own_can_be_absent(by_firmware: int, differences: int, machine: Path) -> None:
    assert run("apply", machine) == (0, [])
    for cpu in (0, 11):
        for part in ("cpufreq", "cpuidle"):
            shutil.rmtree(machine / CPU.format(cpu).lstrip("/") / part)
    write_files(machine, {"/etc/clusterctl/os-tuning.conf": f"{CONF}cpu_power_by_firmware={by_firmware}\n"})
    code, lines = run("check", machine)
    assert (code, len(lines)) == (bool(differences), differences)


@pytest.mark.parametrize(
    ("cpuinfo", "differences"), [("CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n", 0), ("vendor_id\t: GenuineIntel\n", 1)]
)
def test_an_arm_processor_without_cpuidle_has_no_idle_state_to_switch_off(cpuinfo: str, differences: int, machine: Path) -> None:
    for cpu in (0, 11):
        shutil.rmtree(machine / CPU.format(cpu).lstrip("/") / "cpuidle")
    write_files(machine, {"/proc/cpuinfo": "processor\t: 0\n" + cpuinfo})
    code, lines = run("apply", machine)
    assert (code, len(lines)) == (differences, differences)


def test_states_that_the_bios_may_own_are_set_where_the_kernel_has_them(machine: Path) -> None:
    write_files(machine, {"/etc/clusterctl/os-tuning.conf": CONF + "cpu_power_by_firmware=1\n"})
    assert len(run("check", machine)[1]) == 1 + 2 + 4


@pytest.mark.parametrize(
    ("biases", "flags", "found"),
    [
        (("6", "0"), "epb", ["6, declared 0"]),
        (("0", "0"), "epb", []),
        ((), "sse", []),
        ((), "epb", ["absent, declared 0"]),
        (("6",), "sse", ["6, declared 0"]),
    ],
    ids=["one CPU differs", "all have it", "no such hint", "the kernel lacks it", "the flag is hidden"],
)
def test_the_energy_bias_is_set_where_the_processor_has_it(biases: tuple[str, ...], flags: str, found: list[str], machine: Path) -> None:
    files = {CPU.format(cpu) + "power/energy_perf_bias": bias + "\n" for cpu, bias in zip((0, 11), biases, strict=False)}
    write_files(machine, {**files, "/proc/cpuinfo": f"flags\t\t: fpu {flags}\n", "/etc/clusterctl/os-tuning.conf": "energy_perf_bias=0\n"})
    code, lines = run("check", machine)
    assert (code, [line.partition(": ")[2] for line in lines]) == (bool(found), found)
    if biases:
        assert run("apply", machine) == (0, [])


@pytest.mark.parametrize("limit", ["0", ""])
def test_zero_is_a_limit_and_empty_is_none(limit: str, machine: Path) -> None:
    write_files(machine, {"/etc/clusterctl/os-tuning.conf": f"thp_enabled=\nthp_defrag=\ngovernor=\nidle_latency_max_us={limit}\n"})
    assert len(run("check", machine)[1]) == (4 if limit else 0)


def test_a_machine_without_governors_or_idle_states_is_reported(tmp_path: Path) -> None:
    write_files(tmp_path, {"/etc/clusterctl/os-tuning.conf": "governor=performance\nidle_latency_max_us=3\nthp_enabled=never\n"})
    code, lines = run("apply", tmp_path)
    assert code == 1
    assert len(lines) == 3
    assert all("absent" in line for line in lines)


@pytest.mark.parametrize(("own", "kept"), [(67584, 135168), (135168, 135168), (185363, 185363)])
def test_free_memory_is_raised_and_never_lowered(own: int, kept: int, machine: Path) -> None:
    write_files(machine, {"/proc/sys/vm/min_free_kbytes": f"{own}\n", "/etc/clusterctl/os-tuning.conf": "min_free_kib=135168\n"})
    assert run("check", machine)[0] == int(own < kept)
    assert run("apply", machine) == (0, [])
    assert (machine / "proc/sys/vm/min_free_kbytes").read_text() == f"{kept}\n"
    assert run("check", machine) == (0, [])


def test_a_kernel_that_does_not_show_what_it_keeps_free(machine: Path) -> None:
    write_files(machine, {"/etc/clusterctl/os-tuning.conf": "min_free_kib=135168\n"})
    assert run("apply", machine) == (1, ["/proc/sys/vm/min_free_kbytes: absent, declared 135168"])


def test_a_file_that_rejects_the_value_is_reported(machine: Path) -> None:
    file = machine / (THP + "enabled").lstrip("/")
    file.unlink()
    file.symlink_to("/dev/null")
    assert run("apply", machine) == (1, ["/sys/kernel/mm/transparent_hugepage/enabled: , declared madvise"])


def test_the_policy_is_set_after_tuned() -> None:
    """NVIDIA's profile nvidia-gb200-performance sets vm.min_free_kbytes to 65536 (nodewright-packages), hpc-compute sets huge pages to always."""
    unit = (SCRIPT.parents[1] / "templates" / "clusterctl-os-tuning.service.j2").read_text()
    after = [line.partition("=")[2].split() for line in unit.splitlines() if line.startswith("After=")]
    assert "tuned.service" in after[0]


def test_lines_as_sysctl_prints_them() -> None:
    declared = {"vm.swappiness": 0, "net/ipv4/conf/eth0.100/rp_filter": 2, "net.ipv4.tcp_rmem": "4096\t1  2"}
    lines = ["vm.swappiness = 0", "net.ipv4.conf.eth0/100.rp_filter = 2", "net.ipv4.tcp_rmem = 4096 1 2"]
    assert plugin.sysctl_lines(declared) == lines


@pytest.mark.parametrize(
    ("line", "taken_back"),
    [
        ("/etc/sysctl.d/99-late.conf:vm.swappiness=80", True),
        ("/etc/sysctl.d/99-late.conf:vm/swappiness = 80", True),
        ("/etc/sysctl.d/99-late.conf:-vm.swappiness = 80", True),
        ("/etc/sysctl.conf:vm.swappiness = 80", True),
        ("/etc/sysctl.d/99-late.conf:vm.swappiness = 10", False),
        ("/etc/sysctl.d/99-late.conf:#vm.swappiness = 80", False),
        ("/etc/sysctl.d/99-late.conf:# vm.swappiness = 80", False),
        ("/etc/sysctl.d/10-early.conf:vm.swappiness = 80", False),
        ("/etc/sysctl.d/90-clusterctl.conf:vm.swappiness = 80", False),
        ("/etc/sysctl.d/99-late.conf:vm.swappiness_other = 80", False),
    ],
)
def test_only_later_and_different_assignments_are_removed(line: str, taken_back: bool) -> None:
    found = plugin.sysctl_conflicts([line], {"vm.swappiness": 10})
    path, _, text = line.partition(":")
    assert found == ([{"path": path, "line": text}] if taken_back else [])


LATER = "/etc/security/limits.d/99-unlimited.conf:"
LIMITS = [
    {"domain": "*", "type": "-", "item": "stack", "value": "unlimited"},
    {"domain": "root", "type": "hard", "item": "nofile", "value": "1048576"},
]


@pytest.mark.parametrize(
    ("line", "taken_back"),
    [
        # The form of a file that Google's images of A3, A4 and A4X have (cluster-toolkit, a4xmax-bm-slurm-blueprint.yaml).
        (LATER + "* - stack 8192", True),
        (LATER + "*   soft\tstack 8192  # small", True),
        ("/etc/security/limits.d/nv-limits.conf:* hard stack 8192", True),
        (LATER + "root - nofile 50000", True),
        (LATER + "root soft nofile 50000", False),
        (LATER + "* - stack unlimited", False),
        (LATER + "* hard stack -1", False),
        (LATER + "* - nofile 1048576", False),
        (LATER + "#* - stack 8192", False),
        (LATER + "@users - stack 8192", False),
        (LATER + "* - stack", False),
        ("/etc/security/limits.d/50-hpc-limits.conf:* - stack 8192", False),
        ("/etc/security/limits.d/90-clusterctl.conf:* - stack 8192", False),
    ],
)
def test_only_later_and_different_limits_are_removed(line: str, taken_back: bool) -> None:
    found = plugin.limit_conflicts([line], LIMITS)
    path, _, text = line.partition(":")
    assert found == ([{"path": path, "line": text}] if taken_back else [])
    assert plugin.limit_conflicts([line], []) == []


SHOWN = """LoadState=loaded
ActiveState=active
UnitFileState=enabled

LoadState=not-found
ActiveState=inactive
UnitFileState=

LoadState=masked
ActiveState=inactive
UnitFileState=masked

LoadState=not-found
ActiveState=active
UnitFileState=
"""


def test_units_that_need_a_change() -> None:
    names = ["on.service", "gone.service", "masked.service", "orphan.service"]
    states = plugin.unit_states(SHOWN, names)
    assert plugin.units_to_start(states, names) == ["gone.service", "masked.service", "orphan.service"]
    assert plugin.units_to_stop(states, names) == ["on.service"]
    assert plugin.units_running(states, names) == ["on.service"]
    assert plugin.units_orphaned(states, names) == ["orphan.service"]
    assert plugin.units_to_mask(states, names) == ["on.service", "gone.service", "orphan.service"]
    assert plugin.unit_states("", []) == {}


def test_an_answer_for_other_units_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        plugin.unit_states(SHOWN, ["a", "b", "c", "d", "e"])


def test_swap_is_last_and_its_boot_setting_before_swapoff() -> None:
    """A swapoff that fails for lack of memory prevents no other change."""
    tasks = ROOT / "roles" / "os_tuning" / "tasks"
    kinds = ("ansible.builtin.import_tasks", "ansible.builtin.include_tasks")
    files = [t[kind] for t in load_yaml((tasks / "main.yml").read_text()) for kind in kinds if kind in t]
    assert files[-2:] == ["swap.yml", "verify.yml"]
    assert "ansible.builtin.command" in load_yaml((tasks / "swap.yml").read_text())[-1]
