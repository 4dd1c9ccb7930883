"""The roles kernel, hugepages and os_tuning on a VM with its own kernel: applied by `clusterctl provision`, checked across two reboots."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clusterctl.model.exit_codes import ExitCode

if TYPE_CHECKING:
    from support.vm import Vm
    from support.vm_site import Provisioned, VmSite

WORDS = ("iommu=pt", "init_on_alloc=0", "nohz_full=1", "default_hugepagesz=2M", "hugepagesz=2M", "hugepages=64")
BOOT_FILES = "/boot/grub/grub.cfg /etc/default/grub /etc/default/grub.d/*"


def pages(vm: Vm) -> list[str]:
    return vm.shell("cat /sys/devices/system/node/node[01]/hugepages/hugepages-2048kB/nr_hugepages").split()


def test_running_and_persisted_values_of_a_new_machine_differ_from_the_spec(provisioned: Provisioned) -> None:
    faults = provisioned.faults_before
    assert faults["kernel.cmdline[iommu].running"] == "(absent)"
    assert faults["kernel.cmdline[iommu].persisted"] == "(absent)"
    assert faults["kernel.cmdline[quiet].running"] == "quiet"
    assert faults["kernel.modules_absent[i2c_piix4].running"] == "loaded"
    assert faults["hugepages.pages[2M].node1.running"] == "0"
    assert faults["hugepages.cmdline.persisted"] == "(absent)"
    assert faults["os_tuning.sysctl[vm.swappiness].running"] == "60"
    assert faults["os_tuning.swap.running"] == "/dev/vda2"
    assert "LABEL=swap" in faults["os_tuning.swap.persisted"]


def test_provision_applies_and_reboots_and_quarantines_a_machine_without_gpus(provisioned: Provisioned) -> None:
    done = provisioned.done
    assert done.code == ExitCode.GATE_FAILED, f"{done.code}\n{done.out}\n{done.err}"
    (node,) = done.json["nodes"]
    assert node["state"] == "quarantined"
    assert {r["kind"] for r in node["reasons"]} <= {"gate_failed", "gate_could_not_run", "gate_missing"}, node["reasons"]
    assert node["changed"] > 0
    assert provisioned.boot_before != provisioned.boot_after


def test_all_validators_pass_for_running_and_persisted_values(provisioned: Provisioned, site: VmSite) -> None:
    found = site.findings()
    assert {check: f for check, f in found.items() if f["outcome"] not in {"pass", "not_applicable"}} == {}
    passed = {check for check, f in found.items() if f["outcome"] == "pass"}
    for what in (
        "kernel.cmdline[iommu]",
        "kernel.release",
        "hugepages.pages[2M].node0",
        "os_tuning.sysctl[vm.swappiness]",
        "os_tuning.swap",
    ):
        assert {f"{what}.running", f"{what}.persisted"} <= passed


def test_the_kernel_was_started_with_each_parameter_once(provisioned: Provisioned, vm: Vm) -> None:
    given = Counter(vm.shell("cat /proc/cmdline").split())
    assert {word: given[word] for word in WORDS} == dict.fromkeys(WORDS, 1)
    assert "quiet" not in given
    menu = vm.shell(r"grep -E '^\s+linux\s.*iommu=pt' /boot/grub/grub.cfg").splitlines()
    assert menu
    assert all(line.split().count(word) == 1 for line in menu for word in WORDS)


def test_the_kernel_parameters_are_effective(provisioned: Provisioned, vm: Vm) -> None:
    assert "iommu: Default domain type: Passthrough" in vm.shell("dmesg")
    assert vm.shell("cat /sys/devices/system/cpu/nohz_full").strip() == "1"
    assert "HugePages_Total:      64" in vm.shell("cat /proc/meminfo")


def test_huge_pages_are_allocated_on_the_declared_numa_nodes(provisioned: Provisioned, vm: Vm) -> None:
    assert pages(vm) == ["24", "40"]
    # A program can map all of them, but no more.
    program = "import mmap; m = mmap.mmap(-1, {} << 21, flags=0x40022); [m.__setitem__(i << 21, 1) for i in range({})]; print('mapped')"
    assert vm.shell(f'python3 -c "{program.format(64, 64)}"') == "mapped\n"
    assert vm.shell(f'python3 -c "{program.format(65, 65)}" 2>&1', check=False).endswith("Cannot allocate memory\n")
    assert "hugetlbfs" in vm.shell("findmnt -no FSTYPE /dev/hugepages2M")


def test_modules_and_their_options_are_as_declared(provisioned: Provisioned, vm: Vm) -> None:
    loaded = vm.shell("ls /sys/module").split()
    assert "i2c_piix4" in provisioned.modules_before
    assert "i2c_piix4" not in loaded
    assert {"loop", "tcp_bbr"} <= set(loaded)
    assert vm.shell("cat /sys/module/loop/parameters/max_loop").strip() == "4"
    assert vm.shell("modprobe i2c_piix4 && echo loaded", check=False) == ""


def test_settings_limits_and_swap_are_as_declared(provisioned: Provisioned, vm: Vm) -> None:
    assert vm.shell("sysctl -n vm.swappiness net.ipv4.tcp_congestion_control kernel.numa_balancing").split() == ["10", "bbr", "0"]
    assert "[madvise]" in vm.shell("cat /sys/kernel/mm/transparent_hugepage/enabled")
    assert vm.shell("su -s /bin/sh -c 'ulimit -l' nobody").strip() == "unlimited"
    assert vm.shell("systemctl show --value -p DefaultLimitMEMLOCK").strip() == "infinity"
    assert "/dev/vda2" in provisioned.swaps_before
    assert len(vm.shell("cat /proc/swaps").splitlines()) == 1


def test_a_second_apply_changes_nothing_and_does_not_touch_the_boot_menu(provisioned: Provisioned, site: VmSite, vm: Vm) -> None:
    before = vm.shell(f"stat -c '%n %Y' {BOOT_FILES}; sha256sum {BOOT_FILES}")
    again = site.play("provision.yml")
    assert (again.ok, again.changed) == (True, 0), again.output
    assert vm.shell(f"stat -c '%n %Y' {BOOT_FILES}; sha256sum {BOOT_FILES}") == before


def test_all_settings_survive_a_second_reboot(provisioned: Provisioned, site: VmSite, vm: Vm) -> None:
    site.reboot()
    assert vm.boot_id() not in {provisioned.boot_before, provisioned.boot_after}
    assert site.faults() == {}
    assert pages(vm) == ["24", "40"]


CHANGES = {
    "os_tuning.sysctl[vm.swappiness].running": "sysctl -qw vm.swappiness=60",
    "os_tuning.sysctl[vm.max_map_count].persisted": "echo vm.max_map_count=65530 > /etc/sysctl.d/99-zz-other.conf",
    "os_tuning.thp_enabled.running": "echo always > /sys/kernel/mm/transparent_hugepage/enabled",
    "os_tuning.thp_defrag.persisted": "sed -i s/^thp_defrag=.*/thp_defrag=always/ /etc/clusterctl/os-tuning.conf",
    "hugepages.pages[2M].node1.running": "echo 8 > /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages",
    "hugepages.service.persisted": "systemctl -q disable clusterctl-hugepages.service",
    "kernel.cmdline[iommu].persisted": "sed -i s/iommu=pt/iommu=off/ /etc/default/grub.d/zz-clusterctl.cfg && update-grub 2>/dev/null",
    "kernel.modules[tcp_bbr].persisted": "sed -i /tcp_bbr/d /etc/modules-load.d/90-clusterctl.conf",
}


def test_out_of_band_changes_are_detected_by_their_own_findings_and_repaired(provisioned: Provisioned, site: VmSite, vm: Vm) -> None:
    for change in CHANGES.values():
        vm.shell(change)
    assert set(site.faults()) == set(CHANGES)
    repaired = site.play("provision.yml")
    assert repaired.ok, repaired.output
    assert repaired.changed >= len(CHANGES)
    assert site.faults() == {}
    assert pages(vm) == ["24", "40"]
