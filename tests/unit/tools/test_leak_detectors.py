"""Leak detectors are found by links, of the declared chassis only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.bmc.access import BmcAccess
from clusterctl_tools.leak_detectors import leak_problems, leak_states
from clusterctl_tools.redfish import ROOT, BmcError, Redfish
from support.redfish_bmc import PASSWORD, USER, Bmc
from support.redfish_tree import invented, recorded_tree

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from support.redfish_tree import Tree

CHASSIS = f"{ROOT}Chassis/Tray"
THERMAL = f"{CHASSIS}/ThermalSubsystem"
DETECTORS = f"{THERMAL}/LeakDetection/LeakDetectors"


def tray() -> Tree:
    """A service whose one chassis has a detector in place, one that is absent, and one that its collection shows whole."""
    tree = invented()
    tree["/redfish/v1"]["Chassis"] = {"@odata.id": f"{ROOT}Chassis"}
    return {
        **tree,
        f"{ROOT}Chassis": {"Members": [{"@odata.id": CHASSIS}]},
        CHASSIS: {"Id": "Tray", "ThermalSubsystem": {"@odata.id": THERMAL}},
        THERMAL: {"LeakDetection": {"@odata.id": f"{THERMAL}/LeakDetection"}},
        f"{THERMAL}/LeakDetection": {"LeakDetectors": {"@odata.id": DETECTORS}},
        DETECTORS: {
            "Members": [
                {"@odata.id": f"{DETECTORS}/Plate"},
                {"@odata.id": f"{DETECTORS}/Spare"},
                {"@odata.id": f"{DETECTORS}/Hose", "Id": "Hose", "DetectorState": "Warning"},
            ]
        },
        f"{DETECTORS}/Plate": {"Id": "Plate", "DetectorState": "OK", "Status": {"State": "Enabled"}},
        f"{DETECTORS}/Spare": {"Id": "Spare", "Status": {"State": "Absent"}},
    }


def states(tree: Tree, folder: Path, chassis: Collection[str]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """The states, and the paths that were read for them."""
    with Bmc(tree, folder, writable=False) as bmc:
        client = Redfish(BmcAccess("n", url=bmc.url, user=USER, password=PASSWORD, ca_file=str(bmc.ca_file)), 5)
        root = client.get(ROOT)
        before = len(bmc.requests)
        return leak_states(client, root, chassis), [path for _, path in bmc.requests[before:]]


def test_the_detectors_of_a_recorded_tray(tmp_path: Path) -> None:
    found, read = states(recorded_tree("libredfish-nvidia_gb200"), tmp_path, ["Chassis_0"])
    assert {name.removeprefix("Chassis_0_"): state for name, state in found["Chassis_0"].items()} == {
        "LeakDetector_0_ColdPlate": "OK",
        "LeakDetector_0_Manifold": "OK",
        "LeakDetector_1_ColdPlate": "Critical",
        "LeakDetector_1_Manifold": "OK",
    }
    assert len(read) == len(("chassis", "chassis 0", "thermal", "detection", "collection", *found["Chassis_0"]))


def test_detectors_in_place_count(tmp_path: Path) -> None:
    assert states(tray(), tmp_path, ["Tray"])[0] == {"Tray": {"Plate": "OK", "Hose": "Warning"}}


@pytest.mark.parametrize("chassis", [[], ["Shelf"]], ids=["none", "other"])
def test_of_a_chassis_that_is_not_there_nothing_is_read(tmp_path: Path, chassis: list[str]) -> None:
    found, read = states(tray(), tmp_path, chassis)
    assert (found, len(read)) == ({}, len(chassis))


@pytest.mark.parametrize("path", [CHASSIS, THERMAL])
def test_a_chassis_without_leak_detection_has_no_detectors(tmp_path: Path, path: str) -> None:
    tree = tray()
    tree[path] = {"Id": "x"}
    assert states(tree, tmp_path, ["Tray"])[0] == {"Tray": {}}


@pytest.mark.parametrize("path", [CHASSIS, THERMAL, f"{THERMAL}/LeakDetection", DETECTORS, f"{DETECTORS}/Plate"])
def test_what_is_linked_and_not_there_is_an_error(tmp_path: Path, path: str) -> None:
    tree = tray()
    del tree[path]
    with pytest.raises(BmcError, match="although it is linked"):
        states(tree, tmp_path, ["Tray"])


@pytest.mark.parametrize(
    ("state", "reading", "found"),
    [
        ("Degraded", "Critical", {"Plate": "Critical"}),
        ("Fault", "Critical", {"Plate": "Fault"}),
        ("UnavailableOffline", "OK", {"Plate": "UnavailableOffline"}),
        ("Enabled", "Unavailable", {"Plate": "Unavailable"}),
        ("Enabled", "Absent", {}),
        ("Disabled", "Critical", {}),
        (None, "Warning", {"Plate": "Warning"}),
        ("Enabled", None, {"Plate": ""}),
    ],
)
def test_only_what_a_detector_that_measures_reports_is_a_leak(
    tmp_path: Path, state: str | None, reading: str | None, found: dict[str, str]
) -> None:
    tree = tray()
    tree[DETECTORS]["Members"] = [{"@odata.id": f"{DETECTORS}/Plate"}]
    tree[f"{DETECTORS}/Plate"] = {"Id": "Plate", "DetectorState": reading, "Status": {"State": state}}
    assert states(tree, tmp_path, ["Tray"])[0] == {"Tray": found}


PROBLEMS: list[tuple[dict[str, int], dict[str, dict[str, str]], dict[str, str]]] = [
    ({}, {}, {}),
    ({"C": 2}, {"C": {"A": "OK", "B": "OK"}}, {}),
    ({"C": 1}, {"C": {"A": "OK", "B": "Critical"}}, {"C": "B Critical"}),
    ({"C": 0}, {"C": {"A": "Warning", "B": ""}}, {"C": "A Warning, B unknown"}),
    ({"C": 2}, {"C": {"A": "Fault", "B": "Critical"}}, {"C": "B Critical, A Fault"}),
    ({"C": 2, "D": 1}, {"C": {"A": "OK"}}, {"C": "1 of 2 leak detectors are in place", "D": "0 of 1 leak detectors are in place"}),
]


@pytest.mark.parametrize(("declared", "states", "problems"), PROBLEMS)
def test_what_is_wrong_with_the_detectors(declared: dict[str, int], states: dict[str, dict[str, str]], problems: dict[str, str]) -> None:
    assert leak_problems(declared, states) == problems
