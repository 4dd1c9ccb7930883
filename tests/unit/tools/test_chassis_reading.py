"""Power supplies and fans are found by links of the system, in both forms that services have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.bmc.access import BmcAccess
from clusterctl_tools.chassis_part import KINDS, ChassisPart
from clusterctl_tools.chassis_reading import chassis_parts
from clusterctl_tools.redfish import ROOT, BmcError, Redfish
from support.recorded import recorded
from support.redfish_bmc import PASSWORD, USER, Bmc
from support.redfish_tree import invented, recorded_tree

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from support.redfish_tree import Tree

CHASSIS = f"{ROOT}Chassis/1"
SYSTEM = {"Links": {"Chassis": [{"@odata.id": CHASSIS}]}}


def parts(
    tree: Tree, folder: Path, system: Mapping[str, Any], kinds: Collection[str] = tuple(KINDS)
) -> tuple[dict[str, tuple[ChassisPart, ...]], list[str]]:
    """The parts, and the paths that were read for them."""
    with Bmc(tree, folder, writable=False) as bmc:
        client = Redfish(BmcAccess("n", url=bmc.url, user=USER, password=PASSWORD, ca_file=str(bmc.ca_file)), 5)
        return chassis_parts(client, system, kinds), [path for _, path in bmc.requests]


def with_chassis(**resources: dict[str, Any]) -> Tree:
    """A service whose one chassis has these resources."""
    links = {name: {"@odata.id": f"{CHASSIS}/{name}"} for name in resources}
    return {**invented(), CHASSIS: {"Id": "1", **links}, **{f"{CHASSIS}/{name}": body for name, body in resources.items()}}


@pytest.mark.parametrize(
    ("tree", "system", "numbers"),
    [
        ("libredfish-nvidia_viking", "DGX", (6, 36)),
        ("libredfish-supermicro", "1", (8, 6)),
        ("libredfish-dell", "System.Embedded.1", (2, 6)),
        # The power supplies are those of the rack, and the fans of a tray are in another chassis.
        ("libredfish-nvidia_gb200", "System_0", (0, 0)),
    ],
)
def test_the_parts_of_recorded_machines_in_order(tree: str, system: str, numbers: tuple[int, int], tmp_path: Path) -> None:
    service = recorded_tree(tree)
    found, _ = parts(service, tmp_path, service[f"{ROOT}Systems/{system}"])
    assert (len(found["power_supplies"]), len(found["fans"])) == numbers
    everything = [*found["power_supplies"], *found["fans"]]
    # The power supplies of the DGX H100 state no health.
    assert {(p.health, p.without_input) for p in everything} <= ({("OK", False), ("", False)} if system == "DGX" else {("OK", False)})
    assert len({p.name for p in everything}) == len(everything)


def test_a_recorded_power_supply_without_a_cord(tmp_path: Path) -> None:
    power = json.loads(recorded("redfish/libredfish-model/power-lenovo_health_critical.json").read_text())
    found, _ = parts(with_chassis(Power=power), tmp_path, SYSTEM)
    assert found["power_supplies"] == (ChassisPart("PSU1", "OK"), ChassisPart("PSU2", "Critical"))


def test_supplies_of_one_name_are_numbered(tmp_path: Path) -> None:
    power = json.loads(recorded("redfish/libredfish-model/power-hpe.json").read_text())
    found, _ = parts(with_chassis(Power=power), tmp_path, SYSTEM)
    assert [p.name for p in found["power_supplies"]] == ["HpServerPowerSupply 1", "HpServerPowerSupply 2"]


def test_the_newer_form(tmp_path: Path) -> None:
    supplies = f"{CHASSIS}/PowerSubsystem/PowerSupplies"
    tree = with_chassis(Power={"PowerControl": []}, PowerSubsystem={"PowerSupplies": {"@odata.id": supplies}}, ThermalSubsystem={})
    members = [
        {"@odata.id": f"{supplies}/A"},
        {"@odata.id": f"{supplies}/gone"},
        {"@odata.id": f"{supplies}/B", "Id": "B", "LineInputStatus": "LossOfInput"},
    ]
    tree[supplies] = {
        "Members": [*members, {"@odata.id": f"{supplies}/C", "Name": "C", "Status": {"State": "Absent", "Health": "Critical"}}]
    }
    tree[f"{supplies}/A"] = {"Id": "A", "Name": "Left", "Status": {"State": "Enabled", "Health": "Warning"}, "LineInputStatus": "Normal"}
    found, _ = parts(tree, tmp_path, SYSTEM)
    assert found == {"power_supplies": (ChassisPart("Left", "Warning"), ChassisPart("B", "", without_input=True)), "fans": ()}


def test_only_what_is_declared_is_read(tmp_path: Path) -> None:
    tree = with_chassis(Power={"PowerSupplies": [{"Name": "1"}, None]}, Thermal={"Fans": [{"FanName": "Fan 1", "Status": None}]})
    found, read = parts(tree, tmp_path, SYSTEM, ["fans"])
    assert found == {"fans": (ChassisPart("Fan 1", ""),)}
    assert f"{CHASSIS}/Power" not in read
    assert parts(tree, tmp_path, SYSTEM, [])[1] == []
    assert parts(tree, tmp_path, {"Links": None})[0] == {"power_supplies": (), "fans": ()}


def test_what_is_linked_and_absent_has_no_parts(tmp_path: Path) -> None:
    assert parts(invented(), tmp_path, SYSTEM)[0] == {"power_supplies": (), "fans": ()}


def test_a_service_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterctl_tools.redfish.time.sleep", lambda _s: None)
    with Bmc(with_chassis(Power={}), tmp_path, writable=False) as bmc:
        bmc.down = True
        client = Redfish(BmcAccess("n", url=bmc.url, user=USER, password=PASSWORD, ca_file=str(bmc.ca_file)), 5)
        with pytest.raises(BmcError, match="HTTP 503"):
            chassis_parts(client, SYSTEM, ["fans"])
