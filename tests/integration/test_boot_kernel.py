"""A new kernel on two lab nodes: examined before the reboot, booted once by one node, kept by those that came back with it."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from clusterctl.model.exit_codes import ExitCode
from support.demo_rack import DemoRack
from support.lab_ssh import LabSsh
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed")]

N1, N2 = "r237-n01", "r237-n02"
NEW = "6.8.0-1046-nvidia"
FOLDER = f"/lib/modules/{NEW}"
# os_tuning is never applied here, so that every run ends before the burn-in.
DECLARED = {
    "node_roles": ["kernel", "os_tuning"],
    "kernel_package": "",
    "kernel_version": "",
    "kernel_extra_packages": [],
    "kernel_release": NEW,
    "kernel_modules": [],
    "kernel_cmdline": {"panic": 5},
}
INSTALLED = f"mkdir -p {FOLDER} && echo simulated > /boot/vmlinuz-{NEW} && update-grub && printf '%s' \"$modules\" > {FOLDER}/modules.dep"
WITHOUT_ADAPTER = "modules='kernel/drivers/nvme/host/nvme.ko:\n'"
COMPLETE = (
    "modules='kernel/drivers/nvme/host/nvme.ko:\nkernel/drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.ko.zst: kernel/x/mlxfw.ko.zst\n'"
)


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoRack]:
    site = tmp_path_factory.mktemp("site")
    made = DemoRack(site, 237)
    declare(made, DECLARED)
    made.write_site(str(site / "kernel.yml"))
    try:
        made.lab_up("--nodes", "2")
        yield made
    finally:
        made.clusterctl("lab", "down", made.target)


@pytest.fixture(scope="module")
def ssh(rack: DemoRack) -> LabSsh:
    return LabSsh(rack.state_dir)


def declare(rack: DemoRack, variables: Mapping[str, object]) -> None:
    (rack.site / "kernel.yml").write_text(json.dumps({"rack_237": {"hosts": dict.fromkeys((N1, N2), variables)}}))


def boots(ssh: LabSsh) -> list[str]:
    return [ssh.boot_id(N1), ssh.boot_id(N2)]


def running(ssh: LabSsh) -> list[str]:
    return [ssh(name, "uname -r") for name in (N1, N2)]


def provision(rack: DemoRack) -> dict[str, str]:
    """The reason of each node."""
    done = rack.clusterctl("provision", rack.target, "--roles", "kernel", "--retest", "--yes", "-o", "json")
    assert done.code not in (ExitCode.OK, ExitCode.USAGE), done.err
    return {node["name"]: node["reason"] for node in done.json["nodes"]}


def test_a_kernel_without_the_driver_of_the_adapters_is_refused_before_any_reboot(rack: DemoRack, ssh: LabSsh) -> None:
    for name in (N1, N2):
        ssh(name, f"{WITHOUT_ADAPTER}; {INSTALLED}")
    before = boots(ssh)
    for reason in provision(rack).values():
        assert f"kernel {NEW} lacks drivers that this node runs with: mlx5_core (mlx5_0, " in reason
        assert f"install linux-modules-extra-{NEW}" in reason
    assert boots(ssh) == before


def test_the_playbook_starts_it_on_one_node_of_a_class_at_a_time(rack: DemoRack, ssh: LabSsh) -> None:
    for name in (N1, N2):
        ssh(name, f"{COMPLETE}; {INSTALLED}")
    before = boots(ssh)
    layers = [w for layer in (rack.state_dir / "lab/hosts", rack.site / "kernel.yml") for w in ("-i", str(layer))]
    playbook = str(ROOT / "playbooks" / "reboot.yml")
    done = rack.run("ansible-playbook", *layers, playbook, "-l", rack.target.replace("-", "_"), "-e", "provision_out_of_pool=true")
    assert f"not rebooted: 2 nodes of one class would start {NEW} for the first time" in done.out
    assert all(f"fatal: [{name}]" in done.out for name in (N1, N2)), done.out
    assert boots(ssh) == before


def test_a_kernel_that_does_not_start_costs_one_node_which_falls_back(rack: DemoRack, ssh: LabSsh) -> None:
    before, kernels = boots(ssh), running(ssh)
    rack.ok("lab", "fault", N1, "kernel_panic")
    reasons = provision(rack)
    assert f"{NEW} was chosen for one boot and did not start: the node came back with {kernels[0]}" in reasons[N1]
    assert reasons[N2].startswith(f"not rebooted: {N1} was to boot {NEW} first and failed")
    after = boots(ssh)
    assert (after[0] != before[0], after[1] == before[1]) == (True, True)
    assert running(ssh) == kernels
    assert set(rack.states().values()) == {"quarantined"}
    assert NEW not in ssh(N1, "cat /boot/grub/grubenv")


def test_a_kernel_that_hangs_costs_one_node_until_its_power_cycle(rack: DemoRack, ssh: LabSsh) -> None:
    before, kernels = boots(ssh), running(ssh)
    declare(rack, {**DECLARED, "kernel_cmdline": {}, "reboot_timeout_s": 15})
    reasons = provision(rack)
    assert f"{NEW} was chosen for one boot, and the next power cycle starts {kernels[0]}" in reasons[N1]
    assert reasons[N2].startswith(f"not rebooted: {N1} was to boot {NEW} first and failed")
    assert set(rack.states().values()) == {"quarantined"}
    rack.ok("power", "cycle", N1)
    after = boots(ssh)
    assert (after[0] != before[0], after[1] == before[1]) == (True, True)
    assert running(ssh) == kernels
    declare(rack, DECLARED)


def test_a_kernel_that_starts_becomes_the_default(rack: DemoRack, ssh: LabSsh) -> None:
    rack.ok("lab", "fault", N1, "--clear")
    provision(rack)
    assert running(ssh) == [NEW, NEW]
    for name in (N1, N2):
        kept = ssh(name, "grub-editenv - list")
        assert f"saved_entry=gnulinux-advanced>gnulinux-{NEW}-advanced" in kept
        assert "next_entry" not in kept
    last = max((rack.state_dir / "runs").iterdir())
    alone, other = (command.read_text() for command in sorted(last.glob("ansible/*-reboot/command.txt")))
    assert (N1 in alone, N2 in alone, N1 in other, N2 in other) == (True, False, False, True)
