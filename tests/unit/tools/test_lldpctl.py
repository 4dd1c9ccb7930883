from __future__ import annotations

import json

import pytest

from clusterctl_tools.lldpctl import UnreadableLldpError, parse
from support.recorded import recorded

CHASSIS = {"leaf1": {"id": {"type": "mac", "value": "0c:29:ef:d9:1c:20"}}}
PORT = {"id": {"type": "ifname", "value": "swp3"}, "descr": "rail 3"}


def test_a_recorded_answer() -> None:
    found = parse(recorded("lldp/infra-controller-lldp_query.json").read_text())
    assert set(found) == {"oob_net0", "p0", "p1"}
    (neighbour,) = found["p0"]
    assert neighbour.name == "RNO1-M03-B17-IPMI-01"
    assert neighbour.ports == ["swp7", "RNO1-M03-B17-CPU-10:B17:15:DPU/BMC"]


@pytest.mark.parametrize(
    "interface",
    [
        {"eth0": {"chassis": CHASSIS, "port": PORT}, "eth1": {"chassis": CHASSIS, "port": PORT}},
        [{"eth0": {"chassis": CHASSIS, "port": PORT}}, {"eth1": {"chassis": CHASSIS, "port": PORT}}],
    ],
)
def test_one_object_or_a_list_of_them(interface: object) -> None:
    found = parse(json.dumps({"lldp": {"interface": interface}}))
    assert {n: (x.name, x.ports) for n, (x,) in found.items()} == {n: ("leaf1", ["swp3", "rail 3"]) for n in ("eth0", "eth1")}


def test_all_neighbours_of_an_interface() -> None:
    other = {"chassis": {"leaf2": CHASSIS["leaf1"]}, "port": PORT}
    rows = [{"eth0": {"chassis": CHASSIS, "port": PORT}}, {"eth0": other}, {"eth0": {"chassis": CHASSIS, "port": PORT, "age": "1 day"}}]
    assert [n.name for n in parse(json.dumps({"lldp": {"interface": rows}}))["eth0"]] == ["leaf1", "leaf2"]


def test_no_neighbour() -> None:
    assert parse('{"lldp": {}}') == {}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"lldp": 3}', '{"lldp": {"interface": {"eth0": {}}}}', '{"lldp": {"interface": [3]}}'])
def test_another_format_is_refused(text: str) -> None:
    with pytest.raises(UnreadableLldpError):
        parse(text)
