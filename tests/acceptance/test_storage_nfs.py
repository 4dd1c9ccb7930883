"""The role storage_client with the kernel's NFS: server and client on one VM, connected through the VM's address."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.vm import Vm
    from support.vm_site import VmSite

ADDRESS = "10.0.2.15"
# Below the limit of a check (`validate --check-timeout`), so that the touch has its own finding.
TIMEOUT_S = 12
# A server with so little memory grants at most 128 KiB.
MOUNT: dict[str, Any] = {
    "name": "data",
    "kind": "nfs",
    "source": f"{ADDRESS}:/srv/data",
    "path": "/mnt/data",
    "options": ["vers=4.2", "hard", "noatime", "nosuid", "rsize=65536", "wsize=65536"],
    "nconnect": 2,
    "timeout_s": TIMEOUT_S,
    "after": ["nfs-server.service"],
}
TOUCH = "storage_client.mount[data].touch"
READ_AHEAD = {"kind": "read_ahead_kib", "name": "/mnt/data", "value": "4096"}
SLOTS = {"kind": "sysctl", "name": "sunrpc.tcp_max_slot_table_entries", "value": "128"}
SERVER = """set -e
mkdir -p /srv/data /etc/nfs.conf.d
echo here > /srv/data/file
printf '[nfsd]\\ngrace-time=10\\nlease-time=10\\n' > /etc/nfs.conf.d/short.conf
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends nfs-kernel-server >/dev/null
echo '/srv/data *(rw,sync,no_root_squash,no_subtree_check)' > /etc/exports
systemctl restart nfs-server"""


def mounts(vm: Vm) -> dict[str, str]:
    """The NFS mounts: `{path: options}`."""
    rows = [line.split() for line in vm.shell("cat /proc/mounts").splitlines()]
    return {row[1]: row[3] for row in rows if row[2] in ("nfs", "nfs4")}


@pytest.fixture(scope="module")
def refused(site: VmSite, vm: Vm) -> str:
    """The output of the first apply, which fails because the server is not installed."""
    version = vm.shell("apt-get update -qq && apt-cache madison nfs-common").split("|")[1].strip()
    site.declare(
        node_roles=["storage_client"],
        storage_client_mounts=[MOUNT],
        storage_client_packages=[{"kind": "nfs", "name": "nfs-common", "version": version}],
        storage_client_tunables=[READ_AHEAD, SLOTS],
    )
    applied = site.play("provision.yml")
    assert not applied.ok
    return applied.output


@pytest.fixture(scope="module")
def mounted(refused: str, site: VmSite, vm: Vm, report: Callable[[str], None]) -> Iterator[None]:
    vm.shell(SERVER, timeout_s=300)
    applied = site.play("provision.yml")
    assert applied.ok, applied.output
    report(f"mounted by NFS with {mounts(vm)['/mnt/data']}")
    yield
    # A mount without its server would block the shutdown.
    vm.shell("systemctl start nfs-server")


def wait_for_answers(vm: Vm) -> None:
    """Wait until the client has reconnected."""
    deadline = time.monotonic() + 150
    while vm.shell(f"timeout -s KILL {TIMEOUT_S} stat -f /mnt/data >/dev/null && echo yes", check=False) != "yes\n":
        assert time.monotonic() < deadline, "the client did not come back to its server"
        time.sleep(1)


def test_the_client_is_installed_and_held_and_an_apply_without_a_server_fails(refused: str, vm: Vm) -> None:
    assert "mnt-data.mount" in refused
    assert vm.shell("dpkg-query -W -f '${db:Status-Abbrev}' nfs-common").strip() == "hi"


def test_the_mount_has_the_declared_options_and_connections(mounted: None, vm: Vm) -> None:
    shown = mounts(vm)["/mnt/data"].split(",")
    assert {"vers=4.2", "hard", "noatime", "nosuid", "rsize=65536", "wsize=65536", "proto=tcp", "nconnect=2", f"addr={ADDRESS}"} <= set(
        shown
    )
    vm.shell("echo written > /mnt/data/written && sync -f /mnt/data/written")
    assert vm.shell("cat /srv/data/written") == "written\n"
    client_ends = vm.shell("ss -Htn state established dport = :2049").splitlines()
    assert len(client_ends) == 2
    assert vm.shell("cat /sys/class/bdi/$(mountpoint -d /mnt/data)/read_ahead_kb").strip() == "4096"
    assert vm.shell("sysctl -n sunrpc.tcp_max_slot_table_entries").strip() == "128"


def test_all_validators_pass_and_a_second_apply_changes_nothing(mounted: None, site: VmSite) -> None:
    assert site.faults() == {}
    again = site.play("provision.yml")
    assert (again.ok, again.changed) == (True, 0), again.output


def test_a_missing_mount_is_detected_and_repaired(mounted: None, site: VmSite, vm: Vm) -> None:
    vm.shell("umount /mnt/data")
    faults = site.faults()
    assert faults.pop("storage_client.mount[data].running") == "not mounted"
    assert set(faults) <= {"storage_client.tunable[read_ahead_kib:/mnt/data].running"}
    repaired = site.play("provision.yml")
    assert repaired.ok, repaired.output
    assert site.faults() == {}


def test_options_changed_out_of_band_are_detected_and_repaired(mounted: None, site: VmSite, vm: Vm) -> None:
    vm.shell(f"umount /mnt/data && mount -t nfs4 -o vers=4.1,hard,nosuid,rsize=65536,wsize=65536 {ADDRESS}:/srv/data /mnt/data")
    faults = site.faults()
    assert faults["storage_client.mount[data].options"] == "vers=4.1, no noatime, nconnect=1"
    repaired = site.play("provision.yml")
    assert repaired.ok, repaired.output
    assert site.faults() == {}


def test_a_stopped_server_is_detected_in_time(mounted: None, site: VmSite, vm: Vm) -> None:
    assert site.faults() == {}
    usual = site.clusterctl("validate", "vm-n01", "-o", "json").wall_s
    vm.shell("systemctl stop nfs-server")
    began = time.monotonic()
    faults = site.faults()
    took = time.monotonic() - began
    vm.shell("systemctl start nfs-server")
    assert faults == {TOUCH: f"timed out after {TIMEOUT_S} s"}
    assert took < usual + TIMEOUT_S + 20
    wait_for_answers(vm)
    assert site.faults() == {}


def test_a_size_that_the_server_does_not_grant_is_reported(mounted: None, site: VmSite) -> None:
    options = [*MOUNT["options"][:-2], "rsize=1048576", "wsize=65536"]
    site.declare(storage_client_mounts=[MOUNT | {"options": options}])
    applied = site.play("provision.yml")
    findings = site.findings()
    site.declare(storage_client_mounts=[MOUNT])
    assert applied.ok, applied.output
    wrong = {check: f for check, f in findings.items() if f["outcome"] == "fail"}
    assert set(wrong) == {"storage_client.mount[data].sizes"}
    finding = wrong["storage_client.mount[data].sizes"]
    assert finding["severity"] == "minor"
    assert finding["found"].startswith("rsize=")
    assert site.play("provision.yml").ok
    assert site.faults() == {}


def test_the_mount_survives_a_reboot(mounted: None, site: VmSite, vm: Vm) -> None:
    site.reboot("-e", "provision_out_of_pool=true")
    assert "nconnect=2" in mounts(vm)["/mnt/data"]
    wait_for_answers(vm)
    assert site.faults() == {}
    assert vm.shell("cat /mnt/data/file") == "here\n"


def test_a_mount_that_is_no_longer_declared_is_removed(mounted: None, site: VmSite, vm: Vm) -> None:
    site.declare(storage_client_mounts=[], storage_client_tunables=[])
    assert "storage_client.stale_units" in site.faults()
    removed = site.play("provision.yml")
    assert removed.ok, removed.output
    assert mounts(vm) == {}
    assert site.faults() == {}
