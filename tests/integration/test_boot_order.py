"""The boot order by the role bios, and the one-time boot from the disk by its playbook, against a fake BMC on loopback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from support.bios_play import run_bios_role
from support.redfish_bmc import PASSWORD, USER, Bmc
from support.redfish_tree import invented
from support.roles import ROLES_ENVIRONMENT, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.redfish_tree import Tree

pytestmark = pytest.mark.slow

SYSTEM = "/redfish/v1/Systems/Node.1"
NETWORK_FIRST, DISK_FIRST = ["Boot0001", "Boot0002"], ["Boot0002", "Boot0001"]
# as a DGX H100 has it where an override is written
NO_OVERRIDE = {"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None", "BootSourceOverrideMode": None}
ATTRIBUTES = {"dell": [{"name": "LogicalProc", "value": "Disabled"}]}


def machine(*, settings: bool) -> Tree:
    """A machine that boots from the network first. With a settings resource, as NVIDIA's and AMI's, else as Dell's."""
    tree = invented()
    options = f"{SYSTEM}/BootOptions"
    tree[SYSTEM] |= {
        "@odata.id": SYSTEM,
        "Boot": {
            "BootOrder": list(NETWORK_FIRST),
            "BootOptions": {"@odata.id": options},
            "BootSourceOverrideTarget@Redfish.AllowableValues": ["None", "Pxe", "Hdd"],
            "BootSourceOverrideMode": "UEFI",
        },
    }
    tree[options] = {"Members": [{"@odata.id": f"{options}/{name}"} for name in NETWORK_FIRST]}
    tree[f"{options}/Boot0001"] = {"BootOptionReference": "Boot0001", "DisplayName": "NIC in Slot 3 Port 1: PXE"}
    tree[f"{options}/Boot0002"] = {"BootOptionReference": "Boot0002", "DisplayName": "ubuntu", "UefiDevicePath": "HD(1,GPT,94E38211)/EFI"}
    if settings:
        tree["/redfish/v1"] |= {"Vendor": "AMI", "Oem": {"Ami": {}}}
        tree[SYSTEM]["@Redfish.Settings"] = {"SettingsObject": {"@odata.id": f"{SYSTEM}/Later"}}
        tree[f"{SYSTEM}/Later"] = {"@odata.id": f"{SYSTEM}/Later", "Boot": {"BootOrder": list(NETWORK_FIRST), **NO_OVERRIDE}}
    return tree


@pytest.fixture(params=[True, False], ids=["settings resource", "the system itself"])
def bmc(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bmc]:
    with Bmc(machine(settings=request.param), tmp_path / "bmc") as one:
        yield one


def order(bmc: Bmc) -> Any:
    return bmc.tree[SYSTEM]["Boot"]["BootOrder"]


def test_the_order_is_shown_then_written_then_in_force(bmc: Bmc, tmp_path: Path) -> None:
    dry = run_bios_role(bmc, tmp_path / "play", check=True, bios_boot_order=["disk"])
    assert (dry.ok, dry.changed, bmc.order) == (True, 1, []), dry.output
    assert "boot order: NIC in Slot 3 Port 1: PXE (network), ubuntu (disk) ->" in dry.output
    held = run_bios_role(bmc, tmp_path / "play", bios_boot_order=["disk"], bios_apply=False)
    assert (held.ok, held.changed, held.reboot, bmc.order) == (True, 0, False, []), held.output
    first = run_bios_role(bmc, tmp_path / "play", bios_boot_order=["disk"])
    assert (first.ok, first.changed, first.reboot, first.again) == (True, 1, True, True), first.output
    assert (bmc.order, order(bmc)) == (DISK_FIRST, NETWORK_FIRST)
    bmc.reset()
    second = run_bios_role(bmc, tmp_path / "play", bios_boot_order=["disk"])
    assert (second.ok, second.changed, second.reboot, second.again) == (True, 0, False, False), second.output
    assert order(bmc) == DISK_FIRST


def test_dell_gets_its_order_after_the_reset_that_applies_the_attributes(tmp_path: Path) -> None:
    with Bmc(machine(settings=False), tmp_path / "bmc") as bmc:
        first = run_bios_role(bmc, tmp_path / "play", bios_boot_order=["disk"], bios_attributes=ATTRIBUTES)
        assert (first.ok, first.reboot, first.again, bmc.order) == (True, True, True, []), first.output
        bmc.reset()
        second = run_bios_role(bmc, tmp_path / "play", bios_boot_order=["disk"], bios_attributes=ATTRIBUTES)
        assert (second.ok, second.reboot, second.again, bmc.order) == (True, True, True, DISK_FIRST), second.output


def test_an_order_that_the_reset_did_not_apply_is_an_error(tmp_path: Path) -> None:
    with Bmc(machine(settings=True), tmp_path / "bmc") as bmc:
        assert run_bios_role(bmc, tmp_path / "play", bios_boot_order=["disk"]).ok
        bmc.order = list(NETWORK_FIRST)
        bmc.tree[f"{SYSTEM}/Later"]["Boot"]["BootOrder"] = list(NETWORK_FIRST)
        found = run_bios_role(bmc, tmp_path / "play", bios_boot_order=["disk"])
        assert not found.ok
        assert "was written, is no longer pending, but NIC in Slot 3 Port 1: PXE (network), ubuntu (disk) is in force" in found.output


def test_a_disk_that_is_not_there_is_an_error_before_anything_is_written(bmc: Bmc, tmp_path: Path) -> None:
    bmc.tree[f"{SYSTEM}/BootOptions/Boot0002"]["DisplayName"] = "Unavailable: ubuntu"
    found = run_bios_role(bmc, tmp_path / "play", bios_boot_order=["disk"])
    assert not found.ok
    assert "no usable boot option is a disk, which is declared first" in found.output
    assert bmc.order == []


def disk_once(bmc: Bmc, folder: Path, **variables: Any) -> subprocess.CompletedProcess[str]:
    known = {"bmc_url": bmc.url, "bmc_user": USER, "bmc_password": PASSWORD, "bmc_ca_file": str(bmc.ca_file)}
    declared = {"node_roles": ["bios"], "bios_boot_order": ["disk"]}
    (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": {"r12-n01": known | declared | variables}}}))
    argv = [
        str(Path(sys.executable).with_name("ansible-playbook")),
        "-i",
        str(folder / "hosts.yml"),
        str(ROOT / "playbooks" / "disk_once.yml"),
    ]
    kept = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    environment = kept | ROLES_ENVIRONMENT | {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCAL_TEMP": str(folder / "tmp")}
    return subprocess.run(argv, env=environment, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


ONCE = {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Hdd"}
IN_UEFI_MODE = {**ONCE, "BootSourceOverrideMode": "UEFI"}


def test_the_next_boot_starts_from_the_disk(bmc: Bmc, tmp_path: Path) -> None:
    done = disk_once(bmc, tmp_path)
    assert done.returncode == 0, done.stdout
    assert bmc.overrides == [IN_UEFI_MODE if f"{SYSTEM}/Later" in bmc.tree else ONCE]


def test_a_mode_that_cannot_be_written_does_not_keep_the_target_from_it(tmp_path: Path) -> None:
    with Bmc(machine(settings=False), tmp_path / "bmc") as bmc:
        bmc.tree[SYSTEM]["Boot"]["BootSourceOverrideMode"] = "Legacy"
        bmc.mode_is_read_only = True
        done = disk_once(bmc, tmp_path)
        assert done.returncode == 0, done.stdout
        assert bmc.overrides == [ONCE]


@pytest.mark.parametrize(
    "variables", [{"bios_boot_order": ["network", "disk"]}, {"bios_boot_order": []}, {"node_roles": []}, {"reboot_from_disk": False}]
)
def test_only_nodes_that_are_declared_to_boot_from_their_disk_are_directed(bmc: Bmc, tmp_path: Path, variables: dict[str, Any]) -> None:
    done = disk_once(bmc, tmp_path, **variables)
    assert done.returncode == 0, done.stdout
    assert bmc.requests == []


def test_an_order_that_starts_with_the_disk_needs_no_override(bmc: Bmc, tmp_path: Path) -> None:
    for path in (SYSTEM, f"{SYSTEM}/Later"):
        if path in bmc.tree:
            bmc.tree[path]["Boot"]["BootOrder"] = list(DISK_FIRST)
    bmc.no_override = "not supported"
    assert disk_once(bmc, tmp_path).returncode == 0
    assert bmc.overrides == []


def test_a_refusal_ends_the_node_that_would_start_from_the_network(bmc: Bmc, tmp_path: Path) -> None:
    bmc.no_override = "The property BootSourceOverrideTarget is read only."
    done = disk_once(bmc, tmp_path)
    assert done.returncode == 2
    assert "HTTP 400: The property BootSourceOverrideTarget is read only." in done.stdout + done.stderr
    assert "would start from NIC in Slot 3" in done.stdout + done.stderr


def test_a_refusal_is_a_warning_where_the_order_after_the_reset_starts_with_the_disk(tmp_path: Path) -> None:
    with Bmc(machine(settings=True), tmp_path / "bmc") as bmc:
        bmc.tree[f"{SYSTEM}/Later"]["Boot"]["BootOrder"] = list(DISK_FIRST)
        bmc.no_override = "not supported"
        done = disk_once(bmc, tmp_path)
        assert done.returncode == 0, done.stdout
        assert "the BMC took no boot override (HTTP 400: not supported)" in done.stdout + done.stderr


def test_an_override_of_somebody_else_is_left_and_named(bmc: Bmc, tmp_path: Path) -> None:
    bmc.tree[SYSTEM]["Boot"] |= {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"}
    done = disk_once(bmc, tmp_path)
    assert done.returncode == 2
    assert "an override to Pxe is set" in done.stdout + done.stderr
    assert bmc.overrides == []
