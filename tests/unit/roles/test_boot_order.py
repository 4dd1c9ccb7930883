"""Boot orders of recorded machines: kinds, the declared order, and where it is written."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_tools import boot_order as options
from clusterctl_tools.boot_order import BootOption
from clusterctl_tools.boot_place import BootPlace, boot_place, override_places
from clusterctl_tools.redfish import link, members, one_system
from support.redfish_tree import recorded_tree

if TYPE_CHECKING:
    from support.redfish_tree import Tree

DECLARABLE = ("disk", "network", "cd", "usb", "shell")


def place_of(tree: Tree, system_id: str) -> BootPlace:
    known = {path.rstrip("/"): resource for path, resource in tree.items()}

    def get(path: str) -> Any:
        return known.get(path.rstrip("/"), {})

    system = one_system(get, get("/redfish/v1"), system_id, lambda s: bool(link(s, "Bios")), what="a BIOS", setting="")
    return boot_place(get, partial(members, get), system)


RECORDED = [
    (
        "libredfish-supermicro",
        "1",
        "/redfish/v1/Systems/1/Oem/Supermicro/FixedBootOrder",
        ["disk", "cd", "usb", "usb", "usb", "usb", "network", "network", "shell"],
    ),
    ("libredfish-dell", "System.Embedded.1", "/redfish/v1/Systems/System.Embedded.1", ["network", "disk", "disk", "disk", "disk"]),
    ("libredfish-nvidia_viking", "DGX", "/redfish/v1/Systems/DGX/SD", ["network"] * 20 + ["disk"]),
    (
        "libredfish-nvidia_gb200",
        "System_0",
        "/redfish/v1/Systems/System_0/Settings",
        ["disk", "disk", "usb"] + ["network"] * 12 + ["shell"],
    ),
]


@pytest.mark.parametrize(("tree", "system", "path", "kinds"), RECORDED, ids=[r[0] for r in RECORDED])
def test_kinds_and_place_of_a_recorded_machine(tree: str, system: str, path: str, kinds: list[str]) -> None:
    found = place_of(recorded_tree(tree), system)
    assert [o.kind for o in found.current] == kinds
    assert found.path == path


def test_the_recorded_dgx_boots_from_the_network_and_gets_its_disk_first() -> None:
    found = place_of(recorded_tree("libredfish-nvidia_viking"), "DGX")
    assert options.first_kind(found.current) == "network"
    desired = options.declared_order(["disk"], found.current)
    assert [o.name for o in desired[:2]] == ["DGX OS", "UEFI: PXE IPv4 Nvidia Network Adapter - A0:88:C2:82:6E:52"]
    assert found.body(desired)["Boot"]["BootOrder"][:2] == ["Boot0000", "Boot0026"]


def test_the_recorded_dell_skips_systems_whose_disk_is_gone() -> None:
    found = place_of(recorded_tree("libredfish-dell"), "System.Embedded.1")
    assert (options.first_kind(found.current), found.shows_pending) == ("network", False)
    assert next(o.name for o in options.declared_order(["disk"], found.current) if o.usable).startswith("PCIe SSD in Slot 2")


def test_a_disk_that_is_declared_first_must_be_usable() -> None:
    network, gone = BootOption("Boot0001", "NIC 1 PXE"), BootOption("Boot0002", "Unavailable: ubuntu", usable=False)
    with pytest.raises(options.BootOrderError, match="no usable boot option is a disk"):
        options.declared_order(["disk"], [network, gone])
    with pytest.raises(options.BootOrderError, match="named rocky"):
        options.declared_order(["network", "rocky*"], [network])
    assert options.declared_order(["network", "cd"], [network, gone]) == [network, gone]


# As a ProLiant DL385 Gen10 Plus v2 has them (NVIDIA/libredfish c094c9e, tests/mockups/hpe).
HPE_SYSTEM, HPE_BOOT = "/redfish/v1/Systems/1", "/redfish/v1/Systems/1/Bios/oem/hpe/boot"
HPE_SOURCES = (
    (
        "OCP.Slot.10.1.IPv4",
        "OCP Slot 10 Port 1 : Intel(R) Ethernet (PXE IPv4)",
        "PciRoot(0x3)/Pci(0x1,0x1)/MAC(507C6F11F2A6,0x1)/IPv4(0.0.0.0)",
    ),
    ("HD.Slot.12.1", "Slot 12 : HPE NS204i-p Gen10+ Boot Controller", "PciRoot(0x1)/Pci(0x1,0x1)/Pci(0x0,0x0)/NVMe(0x1,71-FF-67)"),
    ("Unknown.Unknown.200.1", "Windows Boot Manager - sSATA port1", "HD(2,GPT,3F26,0x1,0x2)/\\EFI\\Microsoft\\Boot\\bootmgfw.efi"),
)


def hpe() -> Tree:
    order = [reference for reference, _, _ in HPE_SOURCES]
    sources = [{"StructuredBootString": r, "BootString": name, "UEFIDevicePath": path} for r, name, path in HPE_SOURCES]
    return {
        "/redfish/v1": {"Systems": {"@odata.id": "/redfish/v1/Systems"}},
        "/redfish/v1/Systems": {"Members": [{"@odata.id": HPE_SYSTEM}]},
        HPE_SYSTEM: {"@odata.id": HPE_SYSTEM, "Id": "1", "Bios": {"@odata.id": f"{HPE_SYSTEM}/Bios"}},
        f"{HPE_SYSTEM}/Bios": {"Oem": {"Hpe": {"Links": {"Boot": {"@odata.id": HPE_BOOT}}}}},
        HPE_BOOT: {
            "PersistentBootConfigOrder": [*order, "Generic.USB.1.1"],
            "BootSources": sources,
            "@Redfish.Settings": {"SettingsObject": {"@odata.id": f"{HPE_BOOT}/settings"}},
        },
        f"{HPE_BOOT}/settings": {"PersistentBootConfigOrder": [*order, "Generic.USB.1.1"]},
    }


def test_the_order_of_an_hpe_has_the_names_and_the_paths_of_its_sources() -> None:
    found = place_of(hpe(), "1")
    assert [o.kind for o in found.current] == ["network", "disk", "disk", "usb"]
    assert found.pending == found.current
    for declared in ("Windows Boot Manager*", "Unknown.Unknown.*"):
        desired = options.declared_order([declared], found.pending)
        assert [o.reference for o in desired] == ["Unknown.Unknown.200.1", "OCP.Slot.10.1.IPv4", "HD.Slot.12.1", "Generic.USB.1.1"]
    assert found.body(desired)["PersistentBootConfigOrder"][0] == "Unknown.Unknown.200.1"
    assert found.path == f"{HPE_BOOT}/settings"


def test_a_settings_object_that_shows_no_order_takes_one_and_cannot_be_read_back() -> None:
    tree = recorded_tree("libredfish-dell")
    system = "/redfish/v1/Systems/System.Embedded.1"
    tree[system]["@Redfish.Settings"] = {"SettingsObject": {"@odata.id": f"{system}/Settings"}}
    tree[f"{system}/Settings"] = {"Boot": {"BootOrder": [], "BootSourceOverrideMode": None}}
    found = place_of(tree, "System.Embedded.1")
    assert (found.path, found.shows_pending) == (f"{system}/Settings", False)
    assert found.pending == found.current


OVERRIDE = {"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled"}
PLACES: list[tuple[str, dict[str, Any], dict[str, Any] | None, list[tuple[str, str]]]] = [
    # iDRAC9 7.10 (NVIDIA/libredfish c094c9e, tests/mockups/dell_multi_dpu)
    ("Dell", {**OVERRIDE, "BootSourceOverrideMode": "UEFI"}, {"BootOrder": [], "BootSourceOverrideMode": None}, [("system", "")]),
    ("Dell in legacy mode", {**OVERRIDE, "BootSourceOverrideMode": "Legacy"}, None, [("system", "UEFI")]),
    # iDRAC10 lists the targets in its settings only (dell/iDRAC-Redfish-Scripting issue 324)
    ("iDRAC10", OVERRIDE, {"BootSourceOverrideTarget@Redfish.AllowableValues": ["Hdd"]}, [("settings", ""), ("system", "")]),
    (
        "DGX H100",
        {**OVERRIDE, "BootSourceOverrideMode": None},
        {**OVERRIDE, "BootSourceOverrideMode": None},
        [("settings", "UEFI"), ("system", "UEFI")],
    ),
    ("GB200", OVERRIDE, OVERRIDE, [("settings", ""), ("system", "")]),
    ("none", {"BootOrder": []}, None, []),
]


@pytest.mark.parametrize(("boot", "settings", "places"), [p[1:] for p in PLACES], ids=[p[0] for p in PLACES])
def test_an_override_is_written_where_a_target_is_and_with_its_mode_only_where_that_is_another(
    boot: dict[str, Any], settings: dict[str, Any] | None, places: list[tuple[str, str]]
) -> None:
    system: dict[str, Any] = {"@odata.id": "system", "Boot": boot, "@Redfish.Settings": {"SettingsObject": {"@odata.id": "settings"}}}
    found = override_places(lambda _: {"Boot": settings} if settings else {}, system)
    assert [(p.path, p.mode) for p in found] == places


def test_a_supermicro_gets_the_mode_whatever_it_is() -> None:
    boot = {**OVERRIDE, "BootSourceOverrideMode": "UEFI"}
    (place,) = override_places(lambda _: {}, {"@odata.id": "system", "Boot": boot, "Oem": {"Supermicro": {}}})
    assert place.mode == "UEFI"


OPTION = st.builds(
    BootOption,
    reference=st.sampled_from([f"Boot{i:04}" for i in range(9)]),
    name=st.sampled_from(["PXE IPv4 NIC", "Ubuntu", "UEFI Shell", "USB Key", "DVD", "Samsung NVMe", "x"]),
    path=st.sampled_from(
        ["", "HD(1,GPT)", "PciRoot(0x0)/USB(0x1)/HD(1,GPT)", "PciRoot(0x0)/MAC(00)/IPv4(0.0.0.0)", "VenHw(1)", "PciRoot(0x0)/NVMe(0x1)"]
    ),
    alias=st.sampled_from(["", "Pxe", "UefiHttp", "Hdd", "None", "Usb"]),
    usable=st.booleans(),
)
LISTS = st.lists(OPTION, unique_by=lambda o: o.reference, min_size=1)


@given(declared=st.lists(st.sampled_from(DECLARABLE), unique=True, min_size=1), listed=LISTS)
def test_an_order_is_a_permutation_that_keeps_what_it_does_not_name_and_is_found_in_order(declared: list[str], listed: list[Any]) -> None:
    try:
        ordered = options.declared_order(declared, listed)
    except options.BootOrderError:
        assert not any(o.usable and o.kind == declared[0] for o in listed)
        assert not options.in_order(declared, listed)
        return
    assert sorted(ordered, key=listed.index) == listed
    assert options.declared_order(declared, ordered) == ordered
    others = [o for o in listed if o.kind not in declared]
    assert ordered[len(listed) - len(others) :] == others
    assert options.first_kind(ordered) == declared[0]
    assert options.in_order(declared, ordered)
    assert options.in_order(declared, listed) == (ordered == listed)
