"""A running lab rack with two nodes."""

from __future__ import annotations

import base64
import json
import shutil
import ssl
import urllib.request
from typing import TYPE_CHECKING

import pytest

from clusterctl.model.exit_codes import ExitCode
from clusterctl_lab.bmc import server_process
from clusterctl_lab.inventory_layer import bmc_accounts
from clusterctl_lab.layout import lab_node
from clusterctl_lab.podman import podman
from clusterctl_validators import boot_log, link_log
from support.demo_rack import DemoRack, host_kernel_settings
from support.lab_ssh import LabSsh
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed")]

N1, N2 = "r231-n01", "r231-n02"
PINS = "Package: *nvidia*-580* nvidia-modprobe nvidia-persistenced nvidia-settings libxnvctrl0\\nPin: version 580.126.20-1ubuntu1\\nPin-Priority: 1001\\n"
PINNED = "nvidia-driver-580-open=580.126.20-1ubuntu1 nvidia-dkms-580-open=580.126.20-1ubuntu1 nvidia-utils-580=580.126.20-1ubuntu1"


@pytest.fixture(scope="module")
def host_before() -> dict[str, str]:
    return host_kernel_settings()


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory, host_before: dict[str, str]) -> Iterator[DemoRack]:
    made = DemoRack(tmp_path_factory.mktemp("site"), 231)
    made.write_site()
    try:
        made.lab_up("--nodes", "2")
        yield made
    finally:
        made.clusterctl("lab", "down", made.target)


@pytest.fixture(scope="module")
def ssh(rack: DemoRack) -> LabSsh:
    return LabSsh(rack.state_dir)


def test_status_lists_nodes_bmcs_and_faults(rack: DemoRack) -> None:
    status = rack.ok("lab", "status", rack.target, "-o", "json").json
    assert (status["schema_version"], status["kind"], status["simulated"]) == (1, "lab-status", True)
    assert [(n["name"], n["state"], n["bmc_answers"], n["faults"]) for n in status["nodes"]] == [
        (N1, "running", True, []),
        (N2, "running", True, []),
    ]


def test_a_second_up_does_not_restart_running_nodes(rack: DemoRack, ssh: LabSsh) -> None:
    before = ssh.boot_id(N1)
    assert "0 of 2 nodes started" in rack.ok("lab", "up", rack.target, "--nodes", "2").err
    assert ssh.boot_id(N1) == before


def test_ansible_reaches_the_nodes_through_the_inventory_layer(rack: DemoRack) -> None:
    done = rack.run("ansible", "-i", str(rack.state_dir / "lab" / "hosts"), "rack_231", "-m", "ping", ANSIBLE_HOST_KEY_CHECKING="True")
    assert done.code == 0, done.out + done.err
    assert done.out.count("SUCCESS") == 2


def test_a_changed_host_key_is_refused(ssh: LabSsh) -> None:
    key = "/etc/ssh/ssh_host_ed25519_key"
    ssh(N2, f"mkdir /var/tmp/kept && mv {key} {key}.pub /var/tmp/kept && ssh-keygen -q -t ed25519 -N '' -f {key} && systemctl restart ssh")
    try:
        refused = ssh.run(N2, "true")
        assert refused.returncode == 255
        assert "HOST IDENTIFICATION HAS CHANGED" in refused.stderr
    finally:
        podman("exec", N2, "sh", "-c", f"mv /var/tmp/kept/* /etc/ssh/ && rmdir /var/tmp/kept && chmod 600 {key} && systemctl restart ssh")
    assert ssh(N2, "hostname") == N2


def test_tools_on_the_node_show_the_simulated_hardware(ssh: LabSsh) -> None:
    assert ssh(N1, "lspci | grep -c 'H100 SXM5'") == "8"
    assert ssh(N1, "lscpu | sed -n 's/^NUMA node(s): *//p'") == "2"
    assert ssh(N1, "cat /sys/class/infiniband/mlx5_3/ports/1/rate") == "400 Gb/sec (4X NDR)"
    assert ssh(N1, "systemctl is-enabled nvidia-fabricmanager; systemctl is-active nvidia-fabricmanager", check=False).split() == [
        "disabled",
        "inactive",
    ], "its package enables nothing"
    refused = ssh(N1, "systemctl start nvidia-fabricmanager; journalctl -u nvidia-fabricmanager | tail -9", check=False)
    assert "interface version 580.82.07 don't match with driver version 580.65.06" in refused


def test_huge_pages_can_be_allocated_up_to_the_memory(ssh: LabSsh) -> None:
    node = "/sys/devices/system/node/node1/hugepages/hugepages-1048576kB"
    ssh(
        N1, f"echo 3 > {node}/nr_hugepages; for i in $(seq 100); do [ $(cat {node}/free_hugepages) = 3 ] && exit 0; sleep 0.1; done; exit 1"
    )
    ssh(
        N1,
        f"echo 999999 > {node}/nr_hugepages; for i in $(seq 100); do [ $(cat {node}/nr_hugepages) = 900 ] && exit 0; sleep 0.1; done; exit 1",
    )


def test_a_reboot_keeps_only_persisted_settings(rack: DemoRack, ssh: LabSsh) -> None:
    before, address = ssh.boot_id(N1), ssh(N1, "hostname -I")
    ssh(N1, "sysctl -qw vm.swappiness=5; echo vm.dirty_ratio=33 > /etc/sysctl.d/50-test.conf; modprobe msr; test -d /sys/module/msr")
    ssh(N1, """echo 'GRUB_CMDLINE_LINUX="iommu=pt hugepagesz=1G hugepages=4"' > /etc/default/grub.d/50-test.cfg; update-grub""")
    devices = '{"provision_out_of_pool": true, "reboot_gpus": 8, "reboot_links": [{"device": "mlx5_0"}, {"device": "mlx5_7", "port": 1}]}'
    layer = str(rack.state_dir / "lab" / "hosts")
    done = rack.run("ansible-playbook", "-i", layer, str(ROOT / "playbooks" / "reboot.yml"), "-l", N1, "-e", devices)
    assert done.code == 0, done.out + done.err
    assert "Check that the GPUs are back" in done.out
    assert "Check that the links are up" in done.out
    assert ssh.boot_id(N1) != before
    assert ssh(N1, "hostname -I") == address
    assert ssh(N1, "grep -o 'iommu=pt hugepagesz=1G hugepages=4' /proc/cmdline")
    assert ssh(N1, "cat /sys/devices/system/node/node*/hugepages/hugepages-1048576kB/nr_hugepages").split() == ["2", "2"]
    assert ssh(N1, "sysctl -n vm.swappiness vm.dirty_ratio").split() == ["60", "33"]
    assert ssh(N1, "test -d /sys/module/msr || echo gone") == "gone"


def test_a_driver_upgrade_takes_effect_after_a_reboot(ssh: LabSsh) -> None:
    query = "nvidia-smi --query-gpu=driver_version --format=csv,noheader | sort -u"
    assert ssh(N1, query) == "580.65.06"
    refused = ssh.run(N1, f"DEBIAN_FRONTEND=noninteractive apt-get install -y -q {PINNED}")
    assert "Depends: nvidia-firmware-580 (= 580.126.20-1ubuntu1) but 580.178.04-1ubuntu1 is to be installed" in refused.stdout
    ssh(N1, f"printf '{PINS}' > /etc/apt/preferences.d/test")
    ssh(N1, f"DEBIAN_FRONTEND=noninteractive apt-get install -y -q {PINNED} && apt-mark hold nvidia-utils-580")
    assert ssh(N1, "apt-mark showhold; dpkg-query -W -f '${Version}' nvidia-utils-580") == "nvidia-utils-580\n580.126.20-1ubuntu1"
    assert "Driver/library version mismatch" in ssh(N1, "nvidia-smi", check=False)
    before = ssh.boot_id(N1)
    ssh(N1, "systemctl reboot", check=False)
    ssh.wait_for_reboot(N1, before)
    assert ssh(N1, query) == "580.126.20"


def test_a_tool_that_is_not_installed_is_not_found(ssh: LabSsh) -> None:
    assert ssh.run(N2, "ib_write_bw --version").returncode == 127


def test_two_nodes_measure_each_other_and_a_fault_reduces_the_bandwidth(rack: DemoRack, ssh: LabSsh) -> None:
    for node in (N1, N2):
        ssh(node, "DEBIAN_FRONTEND=noninteractive apt-get install -y -q perftest")
    healthy = bandwidth(ssh)
    rack.ok("lab", "fault", N2, "hca_degraded", "--device", "mlx5_3")
    assert ssh(N2, "cat /sys/class/infiniband/mlx5_3/ports/1/rate") == "400 Gb/sec (4X NDR)"
    assert 385 < healthy < 400
    assert 190 < bandwidth(ssh) < 200
    rack.ok("lab", "fault", N2, "hca_degraded", "--clear")
    assert bandwidth(ssh) == healthy


def bandwidth(ssh: LabSsh) -> float:
    words = "ib_write_bw -d mlx5_3 -p 18777 -s 8388608 -q 4 -D 1 -F --report_gbits"
    listening = "for i in $(seq 100); do ss -Hltn 'sport = 18777' | grep -q . && break; sleep 0.1; done"
    ssh(N2, f"(nohup {words} > /tmp/server.txt 2>&1 &); {listening}")
    text = ssh(N1, f"{words} {lab_node(N2).address}")
    return float(next(line.split()[3] for line in text.splitlines() if line.split()[:1] == ["8388608"]))


def test_an_xid_is_in_the_kernel_log_until_the_next_boot(rack: DemoRack, ssh: LabSsh) -> None:
    rack.ok("lab", "fault", N2, "xid", "--device", "3")
    seen = "journalctl -k -b 0 -q | grep -c 'NVRM: Xid'"
    ssh(N2, f"for i in $(seq 100); do [ $({seen}) = 1 ] && exit 0; sleep 0.1; done; exit 1")
    assert ssh(N2, "dmesg | grep -c 'Xid (PCI:0000:66:00): 79'") == "1"
    assert "Unknown Error" in ssh(N2, "nvidia-smi", check=False)
    before = ssh.boot_id(N2)
    ssh(N2, "systemctl reboot", check=False)
    ssh.wait_for_reboot(N2, before)
    assert ssh(N2, seen, check=False) == "0"
    assert ssh(N2, "nvidia-smi -L | grep -c UUID") == "8"
    assert rack.ok("lab", "status", "-o", "json").json["nodes"][1]["faults"] == []


def test_the_losses_of_a_link_that_flaps_are_counted_until_the_next_boot(rack: DemoRack, ssh: LabSsh) -> None:
    rack.ok("lab", "fault", N2, "link_flaps", "--device", "mlx5_5", "--option", "12")
    counter = "/sys/class/infiniband/mlx5_5/ports/1/counters/link_downed"
    ssh(N2, f"for i in $(seq 100); do [ $(cat {counter}) = 12 ] && exit 0; sleep 0.1; done; exit 1")
    assert link_log.parse(ssh(N2, "dmesg --time-format iso")).losses == ()  # InfiniBand
    before = ssh.boot_id(N2)
    ssh(N2, "systemctl reboot", check=False)
    ssh.wait_for_reboot(N2, before)
    assert ssh(N2, f"cat {counter}") == "0"


def test_the_kernel_log_of_a_node_reaches_back_to_its_boot(ssh: LabSsh) -> None:
    for argv in (boot_log.JOURNAL, boot_log.DMESG):
        log = boot_log.parse_log(ssh(N1, " ".join(argv)))
        assert log.whole
        assert log.missed == ()
        assert len(link_log.parse(log.text).bandwidths) == 8


@pytest.mark.parametrize(
    ("kind", "words"), [("training", "(sleep) computes on the GPUs"), ("slurm_step", "(sleep) runs a job on this node")]
)
def test_a_node_on_which_a_foreign_program_runs_is_not_measured(rack: DemoRack, ssh: LabSsh, kind: str, words: str) -> None:
    rack.ok("lab", "fault", N2, "foreign_program", "--option", kind)
    try:
        ssh(N2, "for i in $(seq 100); do pgrep -f 'infinit[y]' > /dev/null && exit 0; sleep 0.1; done; exit 1")
        done = rack.clusterctl("burnin", N2, "--level", "quick", "--gates", "dcgm_diag", "-o", "json")
        found = next(r for r in done.json["nodes"][0]["results"] if r["gate"] == "dcgm_diag")
        assert (found["outcome"], found["reason"]) == ("could_not_run", "in_use")
        assert words in found["detail"]
        assert "gates_allowed_programs" in found["hint"]
        assert (done.code, done.json["nodes"][0]["passed"]) == (ExitCode.GATE_FAILED, False)
    finally:
        rack.ok("lab", "fault", N2, "foreign_program", "--clear")
    ssh(N2, "for i in $(seq 100); do pgrep -f 'infinit[y]' > /dev/null || exit 0; sleep 0.1; done; exit 1")


def reset(ssh: LabSsh, kind: str) -> None:
    """Reset N2 by its BMC and wait until it is back."""
    before = ssh.boot_id(N2)
    account = bmc_accounts(ssh.paths)[0]
    request = urllib.request.Request(  # noqa: S310 always https
        f"{lab_node(N2).bmc_url}/redfish/v1/Systems/System.1/Actions/ComputerSystem.Reset",
        data=json.dumps({"ResetType": kind}).encode(),
        headers={"Authorization": "Basic " + base64.b64encode(f"{account.user}:{account.password}".encode()).decode()},
    )
    trusted = ssl.create_default_context(cafile=str(ssh.paths.bmc_certificate))
    with urllib.request.urlopen(request, context=trusted, timeout=60) as answer:  # noqa: S310
        assert answer.status == 204
    ssh.wait_for_reboot(N2, before)


def test_the_bmc_resets_its_node(ssh: LabSsh) -> None:
    reset(ssh, "ForceRestart")


def test_an_adapter_that_keeps_its_nv_configuration_until_it_loses_power(rack: DemoRack, ssh: LabSsh) -> None:
    rack.ok("lab", "fault", N2, "nv_config_cold", "--device", "mlx5_0", "--option", "SRIOV_EN")
    tool = "python3 -IS /opt/clusterctl-lab/image_files/run.py nv_config -d $(basename $(readlink -f /sys/class/infiniband/mlx5_0/device))"
    ssh(N2, f"{tool} -y set SRIOV_EN=0")
    assert nv_value(ssh, tool) == ["True(1)", "False(0)"]
    before = ssh.boot_id(N2)
    ssh(N2, "systemctl reboot", check=False)
    ssh.wait_for_reboot(N2, before)
    assert nv_value(ssh, tool) == ["True(1)", "False(0)"]
    reset(ssh, "GracefulRestart")
    assert nv_value(ssh, tool) == ["True(1)", "False(0)"]
    reset(ssh, "PowerCycle")
    assert nv_value(ssh, tool) == ["False(0)", "False(0)"]
    rack.ok("lab", "fault", N2, "nv_config_cold", "--clear")


def nv_value(ssh: LabSsh, tool: str) -> list[str]:
    """The value in force and that of the next boot."""
    return ssh(N2, f"{tool} -e query SRIOV_EN | grep SRIOV_EN").split()[-2:]


@pytest.mark.parametrize(
    "script",
    [
        "sysctl -qw vm.nr_hugepages=77 vm.swappiness=1 kernel.sysrq=1 kernel.nmi_watchdog=0 kernel.pid_max=100000 fs.file-max=1000000",
        "echo never > /sys/kernel/mm/transparent_hugepage/enabled",
        "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor > /dev/null",
        "[ ! -e /proc/sysrq-trigger ] || echo b > /proc/sysrq-trigger",
        "swapoff --all",
        "modprobe nouveau",
    ],
)
def test_kernel_settings_can_be_changed_on_a_node(ssh: LabSsh, script: str) -> None:
    ssh(N1, script)
    assert ssh(N1, "hostname") == N1


@pytest.mark.parametrize("script", ["date -s @1", "insmod /dev/null", "mount -t debugfs none /mnt && echo 1 > /mnt/provoke-crash/DIRECT"])
def test_operations_that_would_affect_the_host_are_refused(ssh: LabSsh, script: str) -> None:
    assert ssh.run(N1, script).returncode != 0


def test_no_host_device_is_visible(ssh: LabSsh) -> None:
    assert ssh(N1, "ls /dev/vd* /dev/sd* /dev/nvme* /dev/kvm /dev/mem 2>/dev/null", check=False) == ""


def test_another_lab_cannot_use_the_rack(rack: DemoRack, tmp_path: Path) -> None:
    other = DemoRack(tmp_path, 231)
    other.write_site()
    done = other.clusterctl("lab", "up", other.target, "--nodes", "1")
    assert done.code == 1
    assert f"rack-231 is already up in the lab of {rack.state_dir}" in done.err
    assert "lab down rack-231" in done.err
    assert other.clusterctl("lab", "down", other.target).code == 0
    assert len(rack.ok("lab", "status", "-o", "json").json["nodes"]) == 2


def test_a_fault_needs_a_node_of_this_lab(rack: DemoRack) -> None:
    assert rack.clusterctl("lab", "fault", "r231-n09", "gpu_missing").code == 1
    done = rack.clusterctl("lab", "fault", N1, "meteor")
    assert done.code == 2
    assert "hint: faults: hca_degraded" in done.err


def test_down_removes_everything(rack: DemoRack, ssh: LabSsh, host_before: dict[str, str]) -> None:
    rack.ok("lab", "down", rack.target)
    assert podman("ps", "--all", "--quiet", "--filter", "name=r231-").stdout == ""
    assert podman("network", "exists", "clusterctl-lab-231", check=False).returncode == 1
    assert server_process.running_server(ssh.paths) == (0, [])
    assert not (ssh.paths.hosts_dir / "hosts.yml").exists()
    assert not ssh.paths.node_dir(N1).exists()
    assert host_kernel_settings() == host_before
