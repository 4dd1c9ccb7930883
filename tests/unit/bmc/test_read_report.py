"""Reports of BMCs: recorded services of real servers, and a fake one for what no recording has (entries of logs)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.bmc import sensors
from clusterctl.adapters.bmc.access import BmcAccess
from clusterctl.adapters.bmc.event_log import log_entry
from clusterctl.adapters.bmc.host_power import BmcLimits
from clusterctl.adapters.bmc.read_report import read_report
from clusterctl.model.bmc_report import BmcReport, BmcSection, LogEntry, Sensor
from clusterctl_tools.redfish import BmcAnswer, Redfish, UnreachableError
from support.recorded import recorded
from support.redfish_bmc import PASSWORD, USER, Bmc
from support.redfish_tree import read_resource, recorded_tree

if TYPE_CHECKING:
    from pathlib import Path

    from support.redfish_tree import Tree

ALL = tuple(s for s in BmcSection if s is not BmcSection.ACCOUNTS)
ROOT, SYSTEM, MANAGER = "/redfish/v1", "/redfish/v1/Systems/1", "/redfish/v1/Managers/1"


def report(bmc: Bmc, sections: tuple[BmcSection, ...] = ALL, entries: int = 3, **changes: str) -> BmcReport:
    access = {"url": bmc.url, "user": USER, "password": PASSWORD, "ca_file": str(bmc.ca_file), **changes}
    return read_report(BmcAccess("r12-n01", **access), BmcLimits(5), sections, entries)


# service, serial, one sensor, IPMI over LAN, HTTP without TLS, consoles
RECORDED: list[tuple[str, str, tuple[str, str, str], bool, bool, list[tuple[str, bool, str]]]] = [
    (
        "libredfish-dell",
        "CNIVC0014M0388",
        ("System.Embedded.1", "CPU1 Temp", "temperature"),
        True,
        True,
        [("serial Serial.1", False, "")],
    ),
    (
        "libredfish-supermicro",
        "S889914X3710910",
        ("1", "CPU1 Temp", "temperature"),
        True,
        True,
        [("SSH", True, "port 22, cd system1/sol1; start"), ("IPMI", True, "port 623"), ("serial 1", True, "115200 bit/s")],
    ),
    (
        "libredfish-nvidia_viking",
        "1662923610124",
        ("DGX", "TEMP_CPU0", "temperature"),
        True,
        True,
        [("IPMI", True, ""), ("SSH", True, ""), ("serial IPMI-SOL", True, "115200 bit/s")],
    ),
    ("libredfish-nvidia_gb200", "", ("", "", ""), True, True, [("SSH", True, "port 2200"), ("IPMI", True, "")]),
]


@pytest.mark.parametrize(
    ("tree", "machine"),
    [("libredfish-nvidia_gb200", ("NVIDIA", "GB200 NVL", "")), ("libredfish-nvidia_viking", ("NVIDIA", "DGXH100", None))],
)
def test_maker_and_model_are_those_of_the_chassis_where_the_system_has_none(
    tmp_path: Path, tree: str, machine: tuple[str, str, str | None]
) -> None:
    with Bmc(recorded_tree(tree), tmp_path, writable=False) as bmc:
        found = report(bmc)
    assert (found.manufacturer, found.model, machine[2] if machine[2] is None else found.serial) == machine


@pytest.mark.parametrize(("tree", "serial", "sensor", "ipmi", "http", "consoles"), RECORDED, ids=[r[0] for r in RECORDED])
def test_recorded_services_of_real_servers(
    tmp_path: Path, tree: str, serial: str, sensor: tuple[str, str, str], ipmi: bool, http: bool, consoles: list[tuple[str, bool, str]]
) -> None:
    with Bmc(recorded_tree(tree), tmp_path, writable=False) as bmc:
        found = report(bmc)
        assert {method for method, _ in bmc.requests} == {"GET"}
    assert (found.problem, found.power, found.serial) == ("", "on", serial)
    # All recordings lack resources that they link to, two of them logs alone.
    assert all(why.endswith("HTTP 404 although it is linked") for _, why in found.missing)
    logs_only = {section for section, _ in found.missing} == {BmcSection.LOG}
    assert logs_only == (tree in {"libredfish-dell", "libredfish-supermicro"})
    assert (found.any_enabled("IPMI"), found.any_enabled("HTTP")) == (ipmi, http)
    assert set(consoles) <= {(c.kind, c.enabled, c.detail) for c in found.consoles}
    if any(sensor):
        assert sensor in [(s.chassis, s.name, s.kind) for s in found.sensors]
    assert found.bmc_versions


TABLES = [
    ("thermal-hpe.json", Sensor("1", "Fan 1", "fan", 62, "Percent", "OK")),
    ("thermal-dell.json", None),
    ("thermal-lenovo.json", None),
    ("power-hpe.json", Sensor("1", "PowerControl", "power", 590, "W", "")),
    ("power-dell.json", None),
    ("power-lenovo_health_critical.json", None),
]


@pytest.mark.parametrize(("name", "first"), TABLES, ids=[t[0] for t in TABLES])
def test_recorded_tables_of_older_schemas(name: str, first: Sensor | None) -> None:
    found = list(sensors.table_sensors("1", read_resource(recorded(f"redfish/libredfish-model/{name}"))))
    assert len(found) > 1
    assert any(s.reading is not None for s in found)
    assert all(s.name for s in found)
    if first:
        assert first in found


def test_a_power_supply_with_a_critical_state() -> None:
    table = read_resource(recorded("redfish/libredfish-model/power-lenovo_health_critical.json"))
    assert "Critical" in {s.health for s in sensors.table_sensors("1", table)}


def test_a_recorded_sensor_resource() -> None:
    resource = read_resource(recorded("redfish/dmtf-public-rackmount1/Chassis-1U-Sensors-CPU1Power-index.json"))
    found = sensors.sensor("1U", resource)
    assert (found.chassis, found.kind, found.unit) == ("1U", "power", "W")
    assert found.reading == resource["Reading"]


def service(*, inline: bool = True, **root: Any) -> Tree:
    """A machine with a log below the system, one below the manager, a dump, and sensors without Thermal."""
    entries = {
        f"{SYSTEM}/LogServices/SEL/Entries/{n}": {
            "@odata.id": f"{SYSTEM}/LogServices/SEL/Entries/{n}",
            "Id": str(n),
            "Created": f"2026-01-0{n}T00:00:00Z",
            "Severity": "Critical" if n == 4 else "OK",
            "Message": f"event {n}",
        }
        for n in range(1, 6)
    }
    logs = [f"{SYSTEM}/LogServices/SEL", f"{SYSTEM}/LogServices/Dump"]
    return {
        ROOT: {**{n: {"@odata.id": f"{ROOT}/{n}"} for n in ("Systems", "Managers", "Chassis")}, **root},
        f"{ROOT}/Systems": {"Members": [{"@odata.id": SYSTEM}]},
        f"{ROOT}/Managers": {"Members": [{"@odata.id": MANAGER}]},
        f"{ROOT}/Chassis": {"Members": [{"@odata.id": f"{ROOT}/Chassis/1"}]},
        SYSTEM: {
            "Id": "1",
            "PowerState": "On",
            "Actions": {"#ComputerSystem.Reset": {}},
            "LogServices": {"@odata.id": f"{SYSTEM}/LogServices"},
            "Bios": {"@odata.id": f"{SYSTEM}/Bios"},
        },
        f"{SYSTEM}/Bios": {"Attributes": {}},
        MANAGER: {"Id": "1", "LogServices": {"@odata.id": f"{MANAGER}/LogServices"}},
        f"{SYSTEM}/LogServices": {"Members": [{"@odata.id": path} for path in logs]},
        logs[0]: {"Id": "SEL", "Entries": {"@odata.id": f"{logs[0]}/Entries"}},
        logs[1]: {"Id": "Dump", "Entries": {"@odata.id": f"{logs[1]}/Entries"}},
        f"{logs[0]}/Entries": {"Members": list(entries.values()) if inline else [{"@odata.id": path} for path in entries]},
        f"{logs[1]}/Entries": {"Members": [{"Message": "a dump", "Created": "2027-01-01T00:00:00Z"}]},
        f"{MANAGER}/LogServices": {"Members": [{"@odata.id": f"{MANAGER}/LogServices/Log1"}]},
        f"{MANAGER}/LogServices/Log1": {"Id": "Log1", "Entries": {"@odata.id": f"{MANAGER}/LogServices/Log1/Entries"}},
        f"{MANAGER}/LogServices/Log1/Entries": {"Members": [{"Id": "1", "MessageId": "login", "EventTimestamp": "2026-01-09T00:00:00Z"}]},
        f"{ROOT}/Chassis/1": {"Id": "1", "Sensors": {"@odata.id": f"{ROOT}/Chassis/1/Sensors"}},
        f"{ROOT}/Chassis/1/Sensors": {"Members": [{"@odata.id": f"{ROOT}/Chassis/1/Sensors/{n}"} for n in ("T1", "T2")]},
        f"{ROOT}/Chassis/1/Sensors/T1": {"Name": "T1", "Reading": 45.5, "ReadingType": "Temperature", "ReadingUnits": "Cel"},
        f"{ROOT}/Chassis/1/Sensors/T2": {"Name": "T2", "Reading": None, "Status": {"State": "Absent"}},
        **entries,
    }


@pytest.mark.parametrize("inline", [True, False])
def test_the_newest_entries_of_every_log_but_dumps(tmp_path: Path, inline: bool) -> None:
    with Bmc(service(inline=inline), tmp_path) as bmc:
        found = report(bmc, (BmcSection.LOG,), entries=2)
    assert [(e.log, e.id, e.severity, e.message) for e in found.log] == [
        ("Log1", "1", "", "login"),
        ("SEL", "5", "OK", "event 5"),
        ("SEL", "4", "Critical", "event 4"),
    ]
    assert (found.sensors, found.protocols, found.consoles) == ((), (), ())


def test_a_login_page_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Redfish, "_send", lambda *_: BmcAnswer(200, "OK", b"<html>log in</html>"))
    access = BmcAccess("r12-n01", url="https://127.0.0.1", user=USER, password=PASSWORD)
    assert Redfish(access, 5, verify=False).answers_without_account(f"{ROOT}/Systems") is None


@pytest.mark.parametrize(("status", "answers"), [(401, False), (403, False), (200, True), (302, None), (500, None), (0, None)])
def test_whether_it_answers_without_an_account(tmp_path: Path, status: int, answers: bool | None) -> None:
    with Bmc(service(), tmp_path) as bmc:
        bmc.anonymous = status
        found = report(bmc, (BmcSection.PROTOCOLS,))
        assert (found.answers_without_account, found.missing) == (answers, ())
        assert report(bmc, (BmcSection.LOG,)).answers_without_account is None


@pytest.mark.parametrize("features", [{}, {"ProtocolFeaturesSupported": {"ExpandQuery": {"Levels": True}}}])
def test_sensors_without_thermal(tmp_path: Path, features: dict[str, Any]) -> None:
    with Bmc(service(**features), tmp_path) as bmc:
        found = report(bmc, (BmcSection.SENSORS,))
    assert found.sensors == (Sensor("1", "T1", "temperature", 45.5, "Cel", ""),)


def test_a_section_that_cannot_be_read_is_named_and_the_others_are_there(tmp_path: Path) -> None:
    tree = service()
    tree[f"{SYSTEM}/LogServices"] = {"Members": [{"@odata.id": "https://192.0.2.1/steal"}]}
    with Bmc(tree, tmp_path) as bmc:
        found = report(bmc)
    assert [(s.value, "leads to another host" in why) for s, why in found.missing] == [("log", True)]
    assert found.sensors


LOST = [
    (f"{SYSTEM}/LogServices/SEL", BmcSection.LOG),
    (f"{SYSTEM}/LogServices/SEL/Entries", BmcSection.LOG),
    (f"{ROOT}/Chassis/1", BmcSection.SENSORS),
    (f"{ROOT}/Chassis/1/Sensors/T1", BmcSection.SENSORS),
]


@pytest.mark.parametrize(("path", "section"), LOST, ids=[path for path, _ in LOST])
def test_what_is_linked_and_not_there_is_named_and_costs_no_other_part(tmp_path: Path, path: str, section: BmcSection) -> None:
    tree = service()
    tree[f"{ROOT}/Chassis"]["Members"].append({"@odata.id": f"{ROOT}/Chassis/2"})
    tree[f"{ROOT}/Chassis/2"] = {"Id": "2", "Sensors": {"@odata.id": f"{ROOT}/Chassis/2/Sensors"}}
    tree[f"{ROOT}/Chassis/2/Sensors"] = {"Members": [{"@odata.id": f"{ROOT}/Chassis/2/Sensors/T3"}]}
    tree[f"{ROOT}/Chassis/2/Sensors/T3"] = {"Name": "T3", "Reading": 40}
    del tree[path]
    with Bmc(tree, tmp_path) as bmc:
        found = report(bmc)
    assert found.missing == ((section, f"{path}: HTTP 404 although it is linked"),)
    assert "Log1" in {e.log for e in found.log}
    assert "T3" in {s.name for s in found.sensors}


@pytest.mark.parametrize(
    ("other", "ipmi"), [({}, None), ({"IPMI": {"ProtocolEnabled": False}}, None), ({"IPMI": {"ProtocolEnabled": True}}, True)]
)
def test_a_bmc_whose_protocols_cannot_be_read_may_have_any_enabled(tmp_path: Path, other: dict[str, Any], ipmi: bool | None) -> None:
    tree = service()
    tree[MANAGER]["NetworkProtocol"] = {"@odata.id": f"{MANAGER}/NetworkProtocol"}
    tree[f"{ROOT}/Managers"]["Members"].append({"@odata.id": f"{ROOT}/Managers/2"})
    tree[f"{ROOT}/Managers/2"] = {"Id": "2", "NetworkProtocol": {"@odata.id": f"{ROOT}/Managers/2/NetworkProtocol"}}
    tree[f"{ROOT}/Managers/2/NetworkProtocol"] = {"Id": "NetworkProtocol", **other}
    with Bmc(tree, tmp_path) as bmc:
        found = report(bmc, (BmcSection.PROTOCOLS,))
    assert [section for section, _ in found.missing] == [BmcSection.PROTOCOLS]
    assert found.any_enabled("IPMI") is ipmi


def test_a_bmc_that_no_longer_answers_is_not_asked_for_every_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    linked = Redfish.linked

    def hang(self: Redfish, path: str) -> dict[str, Any]:
        asked.append(path)
        if "LogServices" in path:
            raise UnreachableError("cannot be reached: no whole answer within 5 s")
        return linked(self, path)

    monkeypatch.setattr(Redfish, "linked", hang)
    with Bmc(service(), tmp_path) as bmc:
        found = report(bmc)
    assert len([p for p in asked if "LogServices" in p]) == 1
    assert [section for section, _ in found.missing] == [BmcSection.LOG]
    assert found.sensors


PROBLEMS = [({"problem": "bmc_url not set"}, "bmc_url not set"), ({"password": "other"}, "HTTP 401"), ({"ca_file": ""}, "certificate")]


@pytest.mark.parametrize(("changes", "why"), PROBLEMS)
def test_a_bmc_that_cannot_be_read(tmp_path: Path, changes: dict[str, str], why: str) -> None:
    with Bmc(service(), tmp_path) as bmc:
        found = report(bmc, ALL, 3, **changes)
    assert why in found.problem
    assert found.any_enabled("IPMI") is None


def test_an_entry_without_anything() -> None:
    assert log_entry("SEL", {}) == LogEntry("SEL", "", "", "", "")
