"""Names of RDMA devices: the declared ones, those that wait for the next boot, and the udev rule."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators.test_ofed import _RENAMED
from support.filters import filter_plugin
from support.local_play import role_tasks, run_play

if TYPE_CHECKING:
    from pathlib import Path

plugin = filter_plugin("ofed_names")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="the role gives its file to root")
OURS = "# Written by clusterctl, role ofed; changes are overwritten."
SITES = 'ACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %k NAME_FIXED mlx5_ib0"\n'
ADDRESSES = ("0000:18:00.0", "0000:3d:00.0")
BROADCOM = "0000:c1:00.0"


def sysfs(*names: str, beside: str = "") -> dict[str, Any]:
    """A node whose NVIDIA adapters have these names, `beside` a device of another vendor."""
    devices = {n: {"address": a} for n, a in zip(names, ADDRESSES, strict=False)}
    return {"adapters": dict.fromkeys(ADDRESSES, "1021"), "devices": devices | ({beside: {"address": BROADCOM}} if beside else {})}


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("mlx5_0", "kernel"),
        ("bnxt_re0", "kernel"),
        ("mlx5_ib0", "kernel"),
        ("irdma0", "kernel"),
        ("ib_storage", "kernel"),
        ("ibp24s0", "pci"),
        ("ibP2p3s0", "pci"),
        ("roces5f1v4", "pci"),
        ("ibo3", "onboard"),
        ("rocex525400c0fe123455", "guid"),
    ],
)
def test_owner_of_the_names(name: str, scheme: str) -> None:
    assert plugin.scheme_of(name) == scheme
    assert bool(_RENAMED.match(name)) == (scheme != "kernel"), "role and validator must agree"


@pytest.mark.parametrize(
    ("declared", "scheme", "node", "awaited"),
    [
        (["mlx5_0", "mlx5_1"], "kernel", sysfs("ibp24s0", "rocep61s0"), ["mlx5_0", "mlx5_1"]),
        (["mlx5_0", "mlx5_1"], "kernel", sysfs("mlx5_0", "ibp61s0"), ["mlx5_1"]),
        (["mlx5_0", "mlx5_1"], "kernel", sysfs("mlx5_0", "mlx5_1"), []),
        # as declared: a device of the site's own that has another name is nobody's reason to reboot
        (["mlx5_0"], "kernel", sysfs("mlx5_0", "ibp61s0"), []),
        # missing, which no boot changes
        (["mlx5_0", "mlx5_1"], "kernel", sysfs("mlx5_0"), []),
        (["mlx5_0"], "kernel", sysfs(), []),
        (["mlx5_0", "mlx5_1"], "kernel", sysfs("mlx5_0", beside="rocep193s0"), []),
        # names are left alone
        (["mlx5_0"], "", sysfs("ibp24s0"), []),
        (["ibp24s0"], "pci", sysfs("mlx5_0"), ["ibp24s0"]),
        (["ibp24s0"], "pci", sysfs("ibp61s0"), []),
        (["ibx946dae0300fe1234"], "guid", sysfs("ibp24s0"), ["ibx946dae0300fe1234"]),
    ],
)
def test_devices_of_the_next_boot(declared: list[str], scheme: str, node: dict[str, Any], awaited: list[str]) -> None:
    assert plugin.awaited(declared, scheme, node) == awaited


@pytest.mark.parametrize(
    ("declared", "scheme", "refused"),
    [
        (["mlx5_0"], "kernel", []),
        (["mlx5_0", "ibp24s0"], "", []),
        (["mlx5_0", "ibp24s0"], "kernel", ["ofed_devices: ibp24s0 is not a name of the scheme kernel (ofed_device_names)"]),
        (["mlx5_0", "ibp24s0"], "pci", ["ofed_devices: mlx5_0 is not a name of the scheme pci (ofed_device_names)"]),
        (["ibp24s0"], "guid", ["ofed_devices: ibp24s0 is not a name of the scheme guid (ofed_device_names)"]),
    ],
)
def test_a_name_that_the_scheme_never_gives_is_refused(declared: list[str], scheme: str, refused: list[str]) -> None:
    assert plugin.name_errors(declared, scheme) == refused


FIXED = dict(zip(("mlx5_r0", "mlx5_r1"), ADDRESSES, strict=True))


@pytest.mark.parametrize(
    ("node", "scheme", "managed", "awaited", "absent"),
    [
        (sysfs("mlx5_r0", "mlx5_r1"), "kernel", ADDRESSES, [], []),
        # Before the next boot: by address, whatever the kernel's order is.
        (sysfs("mlx5_0", "mlx5_3"), "kernel", ADDRESSES, ["mlx5_r0", "mlx5_r1"], []),
        (sysfs("ibp24s0", "ibp61s0"), "pci", ADDRESSES, ["mlx5_r0", "mlx5_r1"], []),
        # One is dead: no boot brings it, and the other keeps its name.
        (sysfs("mlx5_r0"), "kernel", ADDRESSES[:1], [], ["mlx5_r1 at 0000:3d:00.0"]),
        (sysfs("mlx5_0"), "kernel", ADDRESSES[:1], ["mlx5_r0"], ["mlx5_r1 at 0000:3d:00.0"]),
    ],
)
def test_a_device_with_an_address_is_found_there(
    node: dict[str, Any], scheme: str, managed: list[str], awaited: list[str], absent: list[str]
) -> None:
    declared = list(FIXED)
    assert [d["address"] for d in plugin.managed(declared, FIXED, node).values()] == list(managed)
    assert plugin.awaited(declared, scheme, node, FIXED) == awaited
    assert plugin.absent(declared, FIXED, node, awaited) == absent
    assert plugin.name_errors(declared, scheme, FIXED) == []


def test_consent_means_the_card_whatever_its_name_is_now() -> None:
    assert plugin.names_now(["mlx5_r1", "mlx5_7"], FIXED, sysfs("mlx5_0", "mlx5_3")) == ["mlx5_3", "mlx5_7"]


@pytest.mark.parametrize(
    ("addresses", "error"),
    [
        ({"mlx5_3": "0000:18:00.0"}, "mlx5_3 is a name that the kernel or udev gives to another device"),
        ({"mlx5_bond_0": "0000:18:00.0"}, "mlx5_bond_0 is a name that"),
        ({"bnxt_re0": "0000:18:00.0"}, "bnxt_re0 is a name that"),
        ({"ibp24s0": "0000:18:00.0"}, "ibp24s0 is a name that"),
        ({"rail 0": "0000:18:00.0"}, "rail 0 is a name that"),
        ({"mlx5_r0": "18:00.0"}, "ofed_device_addresses.mlx5_r0: 18:00.0 is not a PCI address such as 0000:18:00.0"),
        ({"mlx5_r0": "0000:18:00.0", "mlx5_r1": "0000:18:00.0"}, "0000:18:00.0 is declared twice"),
    ],
)
def test_addresses_that_cannot_work_are_refused(addresses: dict[str, str], error: str) -> None:
    assert error in "; ".join(plugin.name_errors(list(addresses), "kernel", addresses))


def test_addresses_need_the_udev_rule() -> None:
    assert "ofed_device_names is empty" in "; ".join(plugin.name_errors(list(FIXED), "", FIXED))


def play(root: Path, tasks_from: str, *, check: bool = False, **variables: Any) -> tuple[int, str]:
    """Run one task file of the role; the number of changed tasks and the output. Facts for provision are in facts.json."""
    told = "{{ {'reboot': ofed_reboot_required | default(none), 'again': ofed_apply_again | default(none)} | to_json }}"
    tasks = [
        *role_tasks("ofed", tasks_from),
        {
            "ansible.builtin.copy": {"content": told, "dest": str(root / "facts.json"), "mode": "0600"},
            "check_mode": False,
            "changed_when": False,
        },
    ]
    done = run_play(root, tasks, *(["--check"] if check else []), variables=variables)
    assert done.code == 0, done.output
    return done.changed, done.output


@needs_root
def test_the_file_is_written_and_only_the_roles_own_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "rules.d" / "60-rdma-persistent-naming.rules"

    def apply(scheme: str, *, check: bool = False, **more: Any) -> int:
        # No handler: it would reload the udev of this machine.
        ours = {"__ofed_device_names_file": str(file), "ofed_device_names": scheme, "__ofed_udev": NO_UDEV, **more}
        return play(tmp_path, "names", check=check, **ours)[0]

    assert apply("kernel", check=True) == 1
    assert not file.exists()
    assert apply("") == 0
    assert apply("kernel") == 2
    header, rule = file.read_text().splitlines()
    assert header.startswith(OURS)
    assert rule == 'ACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %k NAME_KERNEL"'
    assert file.stat().st_mode & 0o777 == 0o644
    assert apply("kernel") == 0
    fixed = {"ofed_device_addresses": FIXED}
    assert apply("kernel", **fixed) == 1
    assert file.read_text().splitlines()[1:] == [
        *(
            f'ACTION=="add", SUBSYSTEM=="infiniband", KERNELS=="{address}", PROGRAM="rdma_rename %k NAME_FIXED {name}", GOTO="rdma_named"'
            for name, address in FIXED.items()
        ),
        'ACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %k NAME_KERNEL"',
        'LABEL="rdma_named"',
    ]
    assert apply("guid") == 1
    assert "%k NAME_GUID" in file.read_text()
    assert apply("", check=True) == 1
    assert file.exists()
    assert apply("") == 1
    assert not file.exists()
    file.write_text(SITES)
    assert apply("") == 0
    assert file.read_text() == SITES
    assert apply("pci") == 1
    assert "%k NAME_PCI" in file.read_text()


# Extra variables win over what a handler registers, so that it sees no udev to reload.
NO_UDEV = {"stat": {"exists": False}}


@pytest.mark.parametrize(
    ("node", "facts"),
    [
        (sysfs("ibp24s0", "rocep61s0"), {"reboot": True, "again": True}),
        (sysfs("mlx5_0", "mlx5_1"), {"reboot": False, "again": False}),
        (sysfs("mlx5_0"), {"reboot": False, "again": False}),
    ],
)
def test_reboot_and_second_run(node: dict[str, Any], facts: dict[str, bool], tmp_path: Path) -> None:
    declared = ["mlx5_0", "mlx5_1"]
    _, output = play(
        tmp_path, "report", ofed_device_names="kernel", ofed_devices=declared, __ofed_sysfs=node, __ofed_is_loaded=True, __ofed_present={}
    )
    assert json.loads((tmp_path / "facts.json").read_text()) == facts
    assert ("mlx5_1 is absent: the next boot" in output) == facts["reboot"]


@pytest.mark.parametrize(
    ("current", "stored", "facts"),
    [
        ("True(1)", "False(0)", {"reboot": True, "again": True, "waiting": ["0000:18:00.0 SRIOV_EN: True(1) in force, False(0) stored"]}),
        ("False(0)", "False(0)", {"reboot": False, "again": False, "waiting": []}),
    ],
)
def test_a_stored_parameter_is_read_again_after_the_reboot(current: str, stored: str, facts: dict[str, Any], tmp_path: Path) -> None:
    text = f"Configurations:   Default   Current   Next Boot\n  SRIOV_EN   False(0)   {current}   {stored}\n"
    answers = [{"address": "0000:18:00.0", "link_layer": "", "text": text}]
    node = sysfs("mlx5_0")
    told = "{{ {'reboot': ofed_reboot_required, 'again': ofed_apply_again, 'waiting': ofed_settings_waiting} | to_json }}"
    tasks = [
        {"ansible.builtin.set_fact": {"__ofed_nv_waiting": "{{ __ofed_answers | clusterctl.gpu.ofed_nv_waiting(ofed_mlxconfig) }}"}},
        *role_tasks("ofed", "report"),
        {"ansible.builtin.copy": {"content": told, "dest": str(tmp_path / "facts.json"), "mode": "0600"}},
    ]
    declared = {"ofed_device_names": "", "ofed_devices": ["mlx5_0"], "ofed_mlxconfig": {"SRIOV_EN": False}}
    done = run_play(
        tmp_path,
        tasks,
        variables={**declared, "__ofed_sysfs": node, "__ofed_is_loaded": True, "__ofed_present": {}, "__ofed_answers": answers},
    )
    assert done.code == 0, done.output
    assert json.loads((tmp_path / "facts.json").read_text()) == facts


def test_devices_waiting_for_their_names_are_accepted(tmp_path: Path) -> None:
    node = {**sysfs("ibp24s0", "rocep61s0"), "loaded": True}
    stack = {"flavour": "inbox", "version": "", "driver": ""}
    play(tmp_path, "adapters", ofed_device_names="kernel", ofed_devices=["mlx5_0"], __ofed_sysfs=node, __ofed_stack=stack)
