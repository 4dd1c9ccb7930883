from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.bios_utils import bios_utils
from support.redfish_tree import invented, recorded_tree

if TYPE_CHECKING:
    from support.redfish_tree import Tree

service = bios_utils("bios_service")

SERVERS: list[tuple[str, str, str, str, tuple[str, ...], int]] = [
    (
        "libredfish-dell",
        "dell",
        "System.Embedded.1",
        "/redfish/v1/Systems/System.Embedded.1/Bios/Settings",
        ("OnReset", "AtMaintenanceWindowStart", "InMaintenanceWindowOnReset"),
        682,
    ),
    ("libredfish-supermicro", "supermicro", "1", "/redfish/v1/Systems/1/Bios/SD", (), 495),
    ("libredfish-nvidia_viking", "ami", "DGX", "/redfish/v1/Systems/DGX/Bios/SD", (), 223),
    ("libredfish-nvidia_gb200", "nvidia", "System_0", "/redfish/v1/Systems/System_0/Bios/Settings", (), 403),
    ("libredfish-model/bios_lenovo.json", "lenovo", "1", "/redfish/v1/Systems/1/Bios/Pending", ("OnReset",), 0),
]


def opened(tree: Tree, **how: str) -> Any:
    known = {path.rstrip("/"): resource for path, resource in tree.items()}
    return service.open_service(lambda path: known.get(service.local(path).rstrip("/"), {}), **how)


@pytest.mark.parametrize(("tree", "vendor", "system", "settings", "times", "entries"), SERVERS, ids=[s[0] for s in SERVERS])
def test_the_bios_of_a_real_server_is_found_by_links_alone(
    tree: str, vendor: str, system: str, settings: str, times: tuple[str, ...], entries: int
) -> None:
    found = opened(recorded_tree(tree))
    assert (found.vendor, found.system, found.settings_path, found.apply_times) == (vendor, system, settings, times)
    assert len((found.registry.get("RegistryEntries") or {}).get("Attributes", [])) == entries
    assert len(found.current) > 200


def test_an_invented_service() -> None:
    found = opened(invented())
    assert (found.vendor, found.system, found.settings_path) == ("dell", "Node.1", "/redfish/v1/Systems/Node.1/Firmware/Next")
    assert found.registry_id == "BiosAttributeRegistry.v1_0_3"


def test_a_registry_is_found_where_paths_end_with_a_slash() -> None:
    tree = invented()
    registries = tree[tree["/redfish/v1"]["Registries"]["@odata.id"]]
    registries["Members"] = [{"@odata.id": member["@odata.id"].rstrip("/") + "/"} for member in registries["Members"]]
    assert opened(tree).registry == opened(invented()).registry
    assert opened(tree).registry["RegistryEntries"]


def test_the_apply_time_is_on_reset_if_supported() -> None:
    assert opened(invented()).body({"A": 1})["@Redfish.SettingsApplyTime"]["ApplyTime"] == "OnReset"


def test_no_apply_time_without_support() -> None:
    tree = invented()
    del tree["/redfish/v1/Systems/Node.1/Firmware"]["@Redfish.Settings"]["SupportedApplyTimes"]
    assert opened(tree).body({"A": 1}) == {"Attributes": {"A": 1}}


def test_a_machine_that_would_apply_at_once_is_not_written_to() -> None:
    tree = invented()
    tree["/redfish/v1/Systems/Node.1/Firmware"]["@Redfish.Settings"]["SupportedApplyTimes"] = ["Immediate"]
    with pytest.raises(service.ServiceError, match="only Immediate"):
        opened(tree).body({"A": 1})


def test_messages_of_the_last_reset() -> None:
    tree = invented()
    tree["/redfish/v1/Systems/Node.1/Firmware"]["@Redfish.Settings"]["Messages"] = [
        {"MessageId": "Base.1.0.SettingsFailed", "RelatedProperties": ["/Attributes/ProcTurboMode"]},
        {"MessageId": "Base.1.0.Success", "RelatedProperties": ["/Attributes/LogicalProc"]},
    ]
    assert opened(tree).messages == {"ProcTurboMode": "Base.1.0.SettingsFailed"}


def two_systems() -> Tree:
    tree = invented()
    tree["/redfish/v1/Systems/Tray.1"]["Bios"] = {"@odata.id": "/redfish/v1/Systems/Node.1/Firmware"}
    return tree


def test_one_of_several_systems_must_be_declared() -> None:
    with pytest.raises(service.BmcError, match=r"2 systems with a BIOS among: Tray\.1, Node\.1"):
        opened(two_systems())
    assert opened(two_systems(), system_id="Tray.1").system == "Tray.1"


SPOILT: list[tuple[str, str, str, Any, str]] = [
    ("no settings", "/redfish/v1/Systems/Node.1/Firmware", "@Redfish.Settings", {}, "has no @Redfish.Settings"),
    ("no system", "/redfish/v1/Systems", "Members", [], "no systems with a BIOS"),
    ("another host", "/redfish/v1", "Systems", {"@odata.id": "https://192.0.2.1/x"}, "leads to another host"),
    ("another host by //", "/redfish/v1/Systems/Node.1", "Bios", {"@odata.id": "//192.0.2.1/x"}, "leads to another host"),
    ("circle", "/redfish/v1/Systems", "Members@odata.nextLink", "/redfish/v1/Systems", "form a loop"),
]


@pytest.mark.parametrize(("path", "key", "value", "why"), [s[1:] for s in SPOILT], ids=[s[0] for s in SPOILT])
def test_an_unusable_service_is_refused(path: str, key: str, value: Any, why: str) -> None:
    tree = invented()
    tree[path][key] = value
    with pytest.raises(service.BmcError, match=why):
        opened(tree)


VENDORS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = [
    ({"Vendor": "Dell"}, {"Manufacturer": "Lenovo"}, {"OwningEntity": "HPE"}, "dell"),
    ({"Oem": {"Hpe": {}}}, {}, {}, "hpe"),
    ({}, {"Manufacturer": "Lenovo"}, {"OwningEntity": "AMI"}, "ami"),
    ({"Vendor": "Contoso"}, {"Manufacturer": "Lenovo"}, {}, "lenovo"),
    ({}, {}, {}, ""),
]


@pytest.mark.parametrize(("root", "system", "registry", "vendor"), VENDORS)
def test_the_vendor_is_read_from_the_service(root: dict[str, Any], system: dict[str, Any], registry: dict[str, Any], vendor: str) -> None:
    assert service.machine_vendor(root, system, registry) == vendor
