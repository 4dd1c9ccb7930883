from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.bmc.access import BmcAccess
from clusterctl.adapters.bmc.query import query_bmc
from clusterctl_tools.redfish import BmcError, Redfish
from clusterctl_validators.finding import GOOD, Outcome, Severity
from clusterctl_validators.off_node import check_role
from support.declared_profiles import declared_profile
from support.redfish_bmc import PASSWORD, USER, Bmc
from support.redfish_tree import invented, recorded_tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEFAULTS: dict[str, Any] = {
    "bios_attributes": {},
    "bios_timeout_s": 20,
    "bios_verify_certificates": True,
    "bios_system": "",
    "bios_vendor": "",
    "bios_firmware_pins": {},
}
BIOS_PIN = {"dell": [{"name": "bios", "ids": ["Installed-*BIOS*"], "version": "1.8.2"}]}


@pytest.fixture
def bmc(tmp_path: Path) -> Iterator[Bmc]:
    with Bmc(invented(), tmp_path) as running:
        yield running


def access(bmc: Bmc, **changes: str) -> BmcAccess:
    return BmcAccess("r12-n01", **{"url": bmc.url, "user": USER, "password": PASSWORD, "ca_file": str(bmc.ca_file), **changes})


def test_attributes_and_pinned_firmware_versions_are_read(bmc: Bmc) -> None:
    bmc.pending["LogicalProc"] = "Disabled"
    found = query_bmc(access(bmc), "bios", {**DEFAULTS, "bios_firmware_pins": BIOS_PIN})
    assert (found.vendor, found.current["LogicalProc"], found.next_boot("LogicalProc")) == ("dell", "Enabled", "Disabled")
    assert found.firmware == {"Installed-159-1.8.2__BIOS.Setup.1-1": "1.8.2"}
    assert not [r for r in bmc.requests if r[0] != "GET"]
    assert not [p for _, p in bmc.requests if "Previous" in p]


SERVERS = [
    ("libredfish-dell", "dell", "SysProfile", "PerfOptimized", "Installed-*__BIOS.Setup.*", {"1.8.2"}),
    ("libredfish-supermicro", "supermicro", "SNC_F300", "Auto", "BIOS", {"1.4"}),
    ("libredfish-supermicro", "supermicro", "QuietBoot_002D", True, "HGX_FW_GPU_SXM_*", {"96.00.61.00.01"}),
    ("libredfish-nvidia_viking", "ami", "SRIOVEnable", "Enable", "HostBIOS_0", {"01.01.03"}),
    ("libredfish-nvidia_gb200", "nvidia", "EInj", True, "HGX_FW_CPU_*", {"02.03.13"}),
    ("libredfish-model/bios_lenovo.json", "lenovo", "Processors_SNC", "Disabled", "UEFI", set()),
]


@pytest.mark.parametrize(("tree", "vendor", "attribute", "value", "glob", "versions"), SERVERS, ids=[f"{s[0]}-{s[2]}" for s in SERVERS])
def test_recorded_services_of_real_servers_are_read(
    tmp_path: Path, tree: str, vendor: str, attribute: str, value: object, glob: str, versions: set[str]
) -> None:
    pins = {vendor: [{"name": "component", "ids": [glob], "version": "1"}]}
    with Bmc(recorded_tree(tree), tmp_path, writable=False) as bmc:
        found = query_bmc(access(bmc), "bios", {**DEFAULTS, "bios_firmware_pins": pins})
        assert (found.vendor, found.current[attribute]) == (vendor, value)
        assert set(found.firmware.values()) == versions
        assert bmc.settings_path in [p.rstrip("/") for _, p in bmc.requests]


def test_components_whose_ids_name_nothing_are_found_by_their_names(bmc: Bmc) -> None:
    inventory = "/redfish/v1/UpdateService/FirmwareInventory"
    names = {
        "1": "iLO 5",
        "16": "ConnectX-6 100GE 1P NIC",
        "17": "ConnectX-6 100GE 1P NIC",
        "AB86B73D_8D56_41E4_971E_B11DB71F2E33": "BIOS Firmware",
    }
    bmc.tree[inventory] = {"Members": [{"@odata.id": f"{inventory}/{ident}"} for ident in (*names, "Installed-1__NIC")]}
    bmc.tree |= {f"{inventory}/{ident}": {"Id": ident, "Name": name, "Version": f"v{ident[:2]}"} for ident, name in names.items()}

    def read(*ids: str) -> dict[str, str]:
        pins = {"dell": [{"name": "component", "ids": [i], "version": "1"} for i in ids]}
        return dict(query_bmc(access(bmc), "bios", {**DEFAULTS, "bios_firmware_pins": pins}).firmware)

    assert read("ConnectX-6*") == {"ConnectX-6 100GE 1P NIC (16)": "v16", "ConnectX-6 100GE 1P NIC (17)": "v17"}
    assert read("16", "BIOS Firmware*") == {"16": "v16", "BIOS Firmware (AB86B73D_8D56_41E4_971E_B11DB71F2E33)": "vAB"}
    before = len(bmc.requests)
    assert read("1") == {"1": "v1"}
    assert [p for _, p in bmc.requests[before:] if p.startswith(inventory)] == [inventory, f"{inventory}/1"]


OVERRIDES = [("Disabled", "Pxe", ""), ("Once", "Pxe", "Pxe"), ("Continuous", "Hdd", "Hdd"), ("Continuous", "None", ""), (None, None, "")]


@pytest.mark.parametrize(("enabled", "target", "read"), OVERRIDES)
@pytest.mark.parametrize("tree", ["libredfish-dell", "libredfish-nvidia_gb200"])
def test_a_boot_override_is_read(tmp_path: Path, tree: str, enabled: str | None, target: str | None, read: str) -> None:
    with Bmc(recorded_tree(tree), tmp_path, writable=False) as bmc:
        system = next(r for r in bmc.tree.values() if "Bios" in r)
        system["Boot"] |= {"BootSourceOverrideEnabled": enabled, "BootSourceOverrideTarget": target}
        found = query_bmc(access(bmc), "bios", {**DEFAULTS, "bios_boot_order": ["disk"]})
        assert found.boot_override == read
        assert query_bmc(access(bmc), "bios", DEFAULTS).boot_override == ""


REFUSED: list[tuple[str, dict[str, str], dict[str, Any], str]] = [
    ("wrong password", {"password": "other"}, {}, "HTTP 401"),
    ("unknown authority", {"ca_file": ""}, {}, "certificate"),
    ("no authority", {"ca_file": "/nonexistent.pem"}, {}, "bmc_ca_file /nonexistent.pem"),
    ("not https", {"url": "http://192.0.2.1"}, {}, "not https"),
    ("password in the URL", {"url": "https://admin:x@192.0.2.1"}, {}, "not https"),
    ("no listener", {"url": "https://127.0.0.1:1"}, {}, "cannot be reached"),
    ("no such system", {}, {"bios_system": "Node.7"}, "no systems with a BIOS among: Tray.1, Node.1; set bios_system"),
    ("no access", {"problem": "bmc_url not set: the BMC cannot be queried"}, {}, "bmc_url not set"),
]


@pytest.mark.parametrize(("changes", "variables", "why"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_a_bmc_that_cannot_be_read_is_an_error(bmc: Bmc, changes: dict[str, str], variables: dict[str, Any], why: str) -> None:
    with pytest.raises(BmcError, match=why):
        query_bmc(access(bmc, **changes), "bios", {**DEFAULTS, **variables})


def test_the_certificate_is_not_verified_if_the_site_disables_it(bmc: Bmc) -> None:
    assert query_bmc(access(bmc, ca_file=""), "bios", {**DEFAULTS, "bios_verify_certificates": False}).vendor == "dell"


def test_a_service_that_is_starting_is_an_error_after_three_tries(bmc: Bmc, monkeypatch: pytest.MonkeyPatch) -> None:
    bmc.down, pauses_s = True, list[float]()
    monkeypatch.setattr("clusterctl_tools.redfish.time.sleep", pauses_s.append)
    with pytest.raises(BmcError, match="HTTP 503 The service is starting"):
        query_bmc(access(bmc), "bios", DEFAULTS)
    assert (len(bmc.requests), pauses_s) == (3, [1.0, 1.0])


def test_a_service_that_was_busy_is_read(bmc: Bmc, monkeypatch: pytest.MonkeyPatch) -> None:
    bmc.down = True
    monkeypatch.setattr("clusterctl_tools.redfish.time.sleep", lambda _s: setattr(bmc, "down", False))
    assert query_bmc(access(bmc), "bios", DEFAULTS).vendor == "dell"


INVALID: list[tuple[str, str, str, Any, str]] = [
    ("no settings", "/redfish/v1/Systems/Node.1/Firmware", "@Redfish.Settings", None, "no settings resource"),
    ("no attributes", "/redfish/v1/Systems/Node.1/Firmware", "Attributes", None, "no attributes"),
    ("link to another host", "/redfish/v1", "Systems", {"@odata.id": "https://192.0.2.1/steal"}, "leads to another host"),
    ("link to another host by //", "/redfish/v1", "Systems", {"@odata.id": "//192.0.2.1/steal"}, "leads to another host"),
    ("looping pages", "/redfish/v1/Systems", "Members@odata.nextLink", "/redfish/v1/Systems", "form a loop"),
]


@pytest.mark.parametrize(("path", "key", "value", "why"), [s[1:] for s in INVALID], ids=[s[0] for s in INVALID])
def test_an_invalid_service_is_an_error(tmp_path: Path, path: str, key: str, value: Any, why: str) -> None:
    tree = invented()
    tree[path][key] = value
    with Bmc(tree, tmp_path) as bmc, pytest.raises(BmcError, match=why):
        query_bmc(access(bmc), "bios", DEFAULTS)


def test_the_password_is_in_no_repr() -> None:
    declared = BmcAccess("n", "https://192.0.2.1", USER, PASSWORD)
    assert PASSWORD not in repr(declared)
    client = Redfish(declared, 1.0)
    assert PASSWORD not in repr(client)
    assert "Basic" not in repr(client)


@pytest.mark.parametrize("profile", ["profile_gb200_nvl72", "profile_gb300_nvl72"])
def test_a_recorded_compute_tray_is_as_its_profile_declares(tmp_path: Path, profile: str) -> None:
    declared = dict(declared_profile(profile).roles["bios"])
    with Bmc(recorded_tree("libredfish-nvidia_gb200"), tmp_path, writable=False) as bmc:
        view = query_bmc(access(bmc), "bios", declared)
    findings = {f.check: f for f in check_role("bios", declared, view)}
    # The recorded tray reports a leak.
    leak = findings.pop("bios.leak_detectors[Chassis_0]")
    assert (leak.outcome, leak.severity) == (Outcome.FAIL, Severity.CRITICAL)
    assert (leak.expected, leak.found) == ("4 OK", "Chassis_0_LeakDetector_1_ColdPlate Critical")
    assert {f.outcome for f in findings.values()} <= GOOD
    assert {f"bios.attributes[{a['name']}].current" for a in declared["bios_attributes"]["nvidia"]} <= {
        name for name, f in findings.items() if f.outcome is Outcome.PASS
    }
    # Extended GPU Memory takes the host's memory away; Supermicro's tray has NVIDIA's BIOS, and reports its own name as vendor.
    dry = {"Chassis_0": dict.fromkeys(view.leak_detectors["Chassis_0"], "OK")}
    changed = replace(view, vendor="supermicro", current={**view.current, "EGM": True}, leak_detectors=dry)
    assert {f.check for f in check_role("bios", declared, changed) if f.outcome is Outcome.FAIL} == {
        "bios.attributes[EGM].current",
        "bios.attributes[EGM].pending",
    }
