"""The power switch of hosts, on recorded services of real servers and on a fake one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.bmc import ac_power
from clusterctl.adapters.bmc.access import BmcAccess
from clusterctl.adapters.bmc.host_power import BmcLimits, HostPower
from clusterctl_tools.redfish import BmcError
from support.redfish_bmc import PASSWORD, USER, Bmc
from support.redfish_tree import recorded_tree

if TYPE_CHECKING:
    from pathlib import Path

    from support.redfish_tree import Tree

SYSTEM = "/redfish/v1/Systems/Node.1"
RESET = f"{SYSTEM}/Actions/ComputerSystem.Reset"


def service(**system: Any) -> Tree:
    """A server whose GPU baseboard is a second system, without a power switch."""
    action = {"#ComputerSystem.Reset": {"target": RESET, "ResetType@Redfish.AllowableValues": ["On", "GracefulShutdown"]}}
    own = {"Id": "Node.1", "PowerState": "On", "SerialNumber": "S1", "Actions": action, "Bios": {"@odata.id": f"{SYSTEM}/Bios"}}
    return {
        "/redfish/v1": {"Systems": {"@odata.id": "/redfish/v1/Systems"}},
        "/redfish/v1/Systems": {"Members": [{"@odata.id": SYSTEM}, {"@odata.id": "/redfish/v1/Systems/HGX_Baseboard_0"}]},
        "/redfish/v1/Systems/HGX_Baseboard_0": {"Id": "HGX_Baseboard_0", "PowerState": "On", "SerialNumber": "G1"},
        SYSTEM: {**own, **system},
        f"{SYSTEM}/Bios": {"Attributes": {}},
    }


def host(bmc: Bmc, limits: BmcLimits | None = None, **changes: str) -> HostPower:
    access = {"url": bmc.url, "user": USER, "password": PASSWORD, "ca_file": str(bmc.ca_file), **changes}
    return HostPower(BmcAccess("r12-n01", **access), limits or BmcLimits(5))


# The third offers neither a graceful restart nor a power cycle.
RECORDED = [
    ("libredfish-dell", "CNIVC0014M0388", {"GracefulRestart", "GracefulShutdown", "PowerCycle", "On"}, set[str]()),
    ("libredfish-supermicro", "S889914X3710910", {"GracefulRestart", "GracefulShutdown", "PowerCycle", "On"}, set[str]()),
    ("libredfish-nvidia_viking", "1662923610124", {"GracefulShutdown", "ForceOff", "On"}, {"GracefulRestart", "PowerCycle"}),
    ("libredfish-nvidia_gb200", "", {"GracefulRestart", "GracefulShutdown", "PowerCycle", "On"}, set[str]()),
]


@pytest.mark.parametrize(("tree", "serial", "offered", "lacking"), RECORDED, ids=[r[0] for r in RECORDED])
def test_recorded_services_of_real_servers(tmp_path: Path, tree: str, serial: str, offered: set[str], lacking: set[str]) -> None:
    with Bmc(recorded_tree(tree), tmp_path, writable=False) as bmc:
        view = host(bmc).view()
    assert (view.power, view.serial) == ("on", serial)
    assert offered <= set(view.resets)
    assert not lacking & set(view.resets)


def test_a_reset_is_an_action_of_the_server_not_of_its_baseboard(tmp_path: Path) -> None:
    with Bmc(service(), tmp_path) as bmc:
        power = host(bmc)
        assert power.view().resets == ("On", "GracefulShutdown")
        power.reset("GracefulShutdown")
        assert (bmc.resets, power.view().power) == (["GracefulShutdown"], "off")
        assert ("POST", RESET) in bmc.requests


def test_a_refused_reset_says_why(tmp_path: Path) -> None:
    with Bmc(service(), tmp_path) as bmc:
        bmc.refused = {"PowerCycle"}
        with pytest.raises(BmcError, match=r"HTTP 400 The value 'PowerCycle' for the property ResetType"):
            host(bmc).reset("PowerCycle")


@pytest.mark.parametrize(
    ("said", "means"),
    [("On", "on"), ("Off", "off"), ("PoweringOff", "on"), ("PoweringOn", "off"), (None, "unknown"), ("Sleeping", "unknown")],
)
def test_power_states(tmp_path: Path, said: str | None, means: str) -> None:
    with Bmc(service(PowerState=said), tmp_path) as bmc:
        assert host(bmc).view().power == means


def test_a_bmc_that_does_not_say_what_it_offers(tmp_path: Path) -> None:
    with Bmc(service(Actions={"#ComputerSystem.Reset": {"target": RESET}}), tmp_path) as bmc:
        assert host(bmc).view().resets == ()


REFUSED: list[tuple[str, dict[str, str], BmcLimits, dict[str, Any], str]] = [
    ("no power switch", {}, BmcLimits(5), {"Actions": {}}, "no systems with a power switch among: Node.1, HGX_Baseboard_0"),
    ("no such system", {}, BmcLimits(5, system_id="Node.7"), {}, "no systems with a power switch"),
    ("no access", {"problem": "bmc_url not set"}, BmcLimits(5), {}, "bmc_url not set"),
    ("wrong password", {"password": "other"}, BmcLimits(5), {}, "HTTP 401"),
    (
        "target elsewhere",
        {},
        BmcLimits(5),
        {"Actions": {"#ComputerSystem.Reset": {"target": "https://192.0.2.1/x"}}},
        "leads to another host",
    ),
]


@pytest.mark.parametrize(("changes", "limits", "system", "why"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_what_cannot_be_switched_is_an_error(
    tmp_path: Path, changes: dict[str, str], limits: BmcLimits, system: dict[str, Any], why: str
) -> None:
    with Bmc(service(**system), tmp_path) as bmc:
        with pytest.raises(BmcError, match=why):
            host(bmc, limits, **changes).reset("On")
        assert bmc.resets == []


def test_limits_are_those_of_the_role_that_asks_the_same_bmc() -> None:
    declared = {"bios": {"bios_timeout_s": 7, "bios_verify_certificates": False, "bios_system": "Node.1"}}
    assert BmcLimits.of(declared) == BmcLimits(7.0, verify=False, system_id="Node.1", setting="bios_system")
    assert BmcLimits.of({}) == BmcLimits()


AC_RECORDED = [
    ("libredfish-nvidia_gb200", "/redfish/v1/Chassis/BMC_0/Actions/Oem/NvidiaChassis.AuxPowerReset"),
    ("libredfish-supermicro", ""),
    ("libredfish-nvidia_viking", ""),
]


@pytest.mark.parametrize(("tree", "path"), AC_RECORDED, ids=[r[0] for r in AC_RECORDED])
def test_the_ac_power_cycle_of_recorded_services(tmp_path: Path, tree: str, path: str) -> None:
    with Bmc(recorded_tree(tree), tmp_path, writable=False) as bmc:
        machine = host(bmc)
        assert machine.offers_ac_cycle() is bool(path)
        asked = len(bmc.requests)
        with pytest.raises(BmcError, match="HTTP 405" if path else "offers no AC power cycle"):
            machine.ac_cycle()
        assert len(bmc.requests) == asked + bool(path), "the way is looked for once"
        assert [p for method, p in bmc.requests if method == "POST"] == [path][: bool(path)]


# As the trees of NVIDIA/libredfish c094c9e have them (dell_multi_dpu, hpe, lenovo).
AC_ACTIONS: list[tuple[str, str, dict[str, Any], dict[str, str]]] = [
    (
        "Chassis/System.Embedded.1",
        "DellOemChassis.ExtendedReset",
        {"Actions": {"Oem": {"#DellOemChassis.ExtendedReset": {"ResetType@Redfish.AllowableValues": ["PowerCycle"]}}}},
        {"ResetType": "PowerCycle", "FinalPowerState": "On"},
    ),
    (
        "Systems/1",
        "HpeComputerSystemExt.SystemReset",
        {"Oem": {"Hpe": {"Actions": {"#HpeComputerSystemExt.SystemReset": {}, "#HpeComputerSystemExt.PowerButton": {}}}}},
        {"ResetType": "AuxCycle"},
    ),
    (
        "Systems/1",
        "LenovoComputerSystem.SystemReset",
        {"Actions": {"#ComputerSystem.Reset": {}, "Oem": {"#LenovoComputerSystem.SystemReset": {"title": "SystemReset"}}}},
        {"ResetType": "ACPowerCycle"},
    ),
]


@pytest.mark.parametrize(("owner", "name", "resource", "body"), AC_ACTIONS, ids=[a[1] for a in AC_ACTIONS])
def test_each_vendor_has_its_own_way(owner: str, name: str, resource: dict[str, Any], body: dict[str, str]) -> None:
    target = f"/redfish/v1/{owner}/Actions/Oem/{name}"
    found = dict(ac_power.actions_of(resource))
    found[f"#{name}"]["target"] = target
    tree = {"/redfish/v1/Systems": {"Members": []}, "/redfish/v1/Chassis": {"Members": []}, f"/redfish/v1/{owner}": resource}
    tree[f"/redfish/v1/{owner.partition('/')[0]}"] = {"Members": [{"@odata.id": f"/redfish/v1/{owner}"}]}
    assert ac_power.find_ac_cycle(lambda path: tree[path], {}) == (target, body)
