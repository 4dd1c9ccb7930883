"""Where real BMCs leave the schema, as NVIDIA/nv-redfish (7ac2181, bmc_quirks.rs) lists them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.bmc.access import BmcAccess
from clusterctl.adapters.bmc.event_log import log_entry, without_copies
from clusterctl.adapters.bmc.host_power import BmcLimits, HostPower
from clusterctl.adapters.bmc.query import query_bmc
from clusterctl.adapters.bmc.read_report import read_report
from clusterctl.model.bmc_report import BmcSection
from clusterctl_tools.bios import VENDOR_WORDS
from clusterctl_tools.boot_order import BootOption
from clusterctl_tools.boot_place import boot_place
from clusterctl_tools.redfish import ROOT, Redfish, members
from support.declared_profiles import declared_profile
from support.redfish_bmc import PASSWORD, USER, Bmc
from support.redfish_tree import invented, recorded_tree

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from support.redfish_tree import Tree

CHILDREN = ("Systems", "Managers", "Chassis", "UpdateService", "Registries")
BIOS_VARIABLES: dict[str, Any] = {"bios_attributes": {}, "bios_timeout_s": 20, "bios_verify_certificates": True}
PINS = {"dell": [{"name": "bios", "ids": ["Installed-*BIOS*"], "version": "1.8.2"}]}


def access(bmc: Bmc) -> BmcAccess:
    return BmcAccess("r12-n01", url=bmc.url, user=USER, password=PASSWORD, ca_file=str(bmc.ca_file))


@pytest.mark.parametrize("tree", ["libredfish-nvidia_viking", "libredfish-nvidia_gb200"])
def test_a_root_without_links(tmp_path: Path, tree: str) -> None:
    whole = recorded_tree(tree)
    bare = {**whole, "/redfish/v1": {k: v for k, v in whole["/redfish/v1"].items() if k not in CHILDREN}}
    found = []
    for number, known in enumerate((whole, bare)):
        with Bmc(known, tmp_path / str(number), writable=False) as bmc:
            report = read_report(access(bmc), BmcLimits(5), [s for s in BmcSection if s is not BmcSection.ACCOUNTS], 3)
            found.append((report, HostPower(access(bmc), BmcLimits(5)).view(), query_bmc(access(bmc), "bios", BIOS_VARIABLES).current))
    assert found[0] == found[1]
    assert not found[1][0].problem


def test_the_firmware_of_a_root_without_links(tmp_path: Path) -> None:
    tree = invented()
    del tree["/redfish/v1"]["UpdateService"]
    with Bmc(tree, tmp_path, writable=False) as bmc:
        found = query_bmc(access(bmc), "bios", {**BIOS_VARIABLES, "bios_firmware_pins": PINS})
    assert found.firmware == {"Installed-159-1.8.2__BIOS.Setup.1-1": "1.8.2"}


@pytest.mark.parametrize("value", [None, [], "none"])
def test_a_collection_whose_members_are_null_is_empty(value: object) -> None:
    tree: Tree = {f"{ROOT}Chassis": {} if value == "none" else {"Members": value}}
    assert list(members(lambda path: tree[path], f"{ROOT}Chassis")) == []


SENSOR = f"{ROOT}Chassis/1/Sensors/T1"
WHOLE = {"@odata.id": SENSOR, "Id": "T1", "Name": "CPU1 Temp", "Reading": 45.5, "ReadingType": "Temperature", "ReadingUnits": "Cel"}


@pytest.mark.parametrize("lost", [(), ("Id",), ("Name",), ("Id", "Name", "Reading")], ids=str)
def test_expanded_members_without_what_is_required_are_read_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: tuple[str, ...]
) -> None:
    tree = service()
    expanded = {"Members": [{k: v for k, v in WHOLE.items() if k not in lost}]}
    get = Redfish.get

    def expand(self: Redfish, path: str) -> dict[str, Any]:
        return expanded if "?$expand" in path else get(self, path)

    monkeypatch.setattr(Redfish, "get", expand)
    with Bmc(tree, tmp_path, writable=False) as bmc:
        report = read_report(access(bmc), BmcLimits(5), [BmcSection.SENSORS], 3)
        assert ((("GET", SENSOR) in bmc.requests), report.missing) == (bool(lost), ())
    assert [(s.name, s.reading) for s in report.sensors] == [("CPU1 Temp", 45.5)]


def service() -> Tree:
    """A machine that expands collections, whose chassis has sensors and no Thermal."""
    system, sensors = f"{ROOT}Systems/1", f"{ROOT}Chassis/1/Sensors"
    return {
        "/redfish/v1": {"ProtocolFeaturesSupported": {"ExpandQuery": {"Levels": True}}},
        f"{ROOT}Systems": {"Members": [{"@odata.id": system}]},
        system: {"Id": "1", "PowerState": "On", "Actions": {"#ComputerSystem.Reset": {}}, "Bios": {"@odata.id": f"{system}/Bios"}},
        f"{system}/Bios": {"Attributes": {}},
        f"{ROOT}Managers": {"Members": None},
        f"{ROOT}Chassis": {"Members": [{"@odata.id": f"{ROOT}Chassis/1"}]},
        f"{ROOT}Chassis/1": {"Id": "1", "Sensors": {"@odata.id": sensors}},
        sensors: {"Members": [{"@odata.id": SENSOR}]},
        SENSOR: WHOLE,
    }


def test_entries_of_a_boot_order_with_their_names() -> None:
    disk = {"BootOptionReference": "Boot0019", "DisplayName": "Ubuntu", "UefiDevicePath": "HD(1,GPT,x)/EFI"}
    tree: dict[str, Mapping[str, Any]] = {"/o": {"Members": [{"@odata.id": "/o/19"}]}, "/o/19": disk}
    boot = {"BootOrder": ["Boot0019: Ubuntu", "Boot0000: gone"], "BootOptions": {"@odata.id": "/o"}}
    place = boot_place(lambda path: tree.get(path, {}), lambda path: members(lambda p: tree[p], path), {"@odata.id": "/s", "Boot": boot})
    assert place.current == (
        BootOption("Boot0019: Ubuntu", "Ubuntu", disk["UefiDevicePath"]),
        BootOption("Boot0000: gone", "Boot0000: gone"),
    )
    assert place.body(place.current) == {"Boot": {"BootOrder": boot["BootOrder"]}}, "written as it was read"


def test_no_tray_of_a_known_maker_is_refused_for_the_name_of_its_bmc() -> None:
    """The BMC of a GB300 tray may be AMI's, or the maker's own."""
    for profile in ("profile_gb200_nvl72", "profile_gb300_nvl72"):
        declared = declared_profile(profile).roles["bios"]["bios_attributes"]
        assert [vendor for vendor in VENDOR_WORDS.values() if declared.get(vendor) is None] == []


XIDS = "/redfish/v1/Chassis/HGX_GPU_1/LogServices"


def test_logs_of_chassis(tmp_path: Path) -> None:
    """The links are recorded of a GB200; the log XID below them is that of a GH200, whose entries are not public."""
    tree = recorded_tree("libredfish-nvidia_gb200")
    tree[XIDS] = {"Members": [{"@odata.id": f"{XIDS}/XID"}]}
    tree[f"{XIDS}/XID"] = {"Id": "XID", "Entries": {"@odata.id": f"{XIDS}/XID/Entries"}}
    tree[f"{XIDS}/XID/Entries"] = {
        "Members": [{"Id": "3", "Created": "2026-11-20T09:00:00+00:00", "Message": "XID 79", "Severity": "Critical"}]
    }
    with Bmc(tree, tmp_path, writable=False) as bmc:
        found = read_report(access(bmc), BmcLimits(5), [BmcSection.LOG], 3)
    assert [(e.log, e.message) for e in found.log] == [("HGX_GPU_1/XID", "XID 79")]
    with Bmc(tree, tmp_path, writable=False) as bmc:
        read_report(access(bmc), BmcLimits(5), [s for s in BmcSection if s is not BmcSection.ACCOUNTS], 3)
        chassis = [path for method, path in bmc.requests if re.fullmatch(r"/redfish/v1/Chassis/[^/]+/?", path)]
    assert len(chassis) == len(set(chassis)), "each is read once, for its sensors and its logs"


def test_an_event_of_two_logs_is_shown_once(tmp_path: Path) -> None:
    tree = invented()
    system = next(path for path, r in tree.items() if "Bios" in r)
    tree[system]["LogServices"] = {"@odata.id": f"{system}/LogServices"}
    tree[f"{system}/LogServices"] = {"Members": [{"@odata.id": f"{system}/LogServices/{name}"} for name in ("EventLog", "SEL")]}
    event = {"Id": "205753", "Created": "2024-08-21T05:28:05+00:00", "Severity": "OK", "Message": "TEMP_SSD_02 sensor crossed a threshold"}
    other = {**event, "Id": "205754"}
    for name, members_ in (("EventLog", [event, other]), ("SEL", [{**event, "EntryType": "SEL"}])):
        tree[f"{system}/LogServices/{name}"] = {"Id": name, "Entries": {"@odata.id": f"{system}/LogServices/{name}/Entries"}}
        tree[f"{system}/LogServices/{name}/Entries"] = {"Members": members_}
    with Bmc(tree, tmp_path, writable=False) as bmc:
        found = read_report(access(bmc), BmcLimits(5), [BmcSection.LOG], 3)
    assert [(e.log, e.id) for e in found.log] == [("EventLog", "205753"), ("EventLog", "205754")]


def test_two_events_without_a_time_may_be_different_ones() -> None:
    entry = {"Id": "1", "Message": "Power on"}
    assert len(without_copies([log_entry("Sel", entry), log_entry("Lclog", entry)])) == 2
    timed = {**entry, "Created": "2024-08-21T05:28:05+00:00"}
    assert len(without_copies([log_entry("Sel", timed), log_entry("Lclog", timed)])) == 1


CPER: dict[str, Any] = {"Oem": {"Nvidia": {"NvIpSignature": "PCIe", "NvSeverity": "Corrected", "SectionType": "NVIDIA CPER Error Section"}}}
RECORDS = [
    ({"CPER": CPER}, "Warning", "FaultLog Dump Entry: CPER PCIe Corrected"),
    ({"CPER": {"SectionType": "e19e3d16"}}, "", "FaultLog Dump Entry: CPER e19e3d16"),
    ({"CPER": {"Oem": {"Nvidia": {"Severity": "Fatal"}}}}, "Critical", "FaultLog Dump Entry: CPER Fatal"),
    (
        {"CPER": {"Oem": {"Nvidia": {"NvIpSignature": "DRAM-CHANNELS", "NvSeverity": "None"}}}},
        "",
        "FaultLog Dump Entry: CPER DRAM-CHANNELS",
    ),
    ({"CPER": CPER, "Severity": "OK"}, "OK", "FaultLog Dump Entry: CPER PCIe Corrected"),
    ({"CPER": None}, "", "FaultLog Dump Entry"),
]


@pytest.mark.parametrize(("fields", "severity", "message"), RECORDS)
def test_an_error_record_in_a_log(fields: dict[str, Any], severity: str, message: str) -> None:
    entry = log_entry("FaultLog", {"Id": "7", "Name": "FaultLog Dump Entry", "DiagnosticDataType": "CPER", **fields})
    assert (entry.severity, entry.message) == (severity, message)
