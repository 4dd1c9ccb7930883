"""A run as OCP Test & Validation output: what the specification demands, and nothing that is not known."""

from __future__ import annotations

import json
import operator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from clusterctl.model.errors import ConfigError
from clusterctl.model.findings import NodeStatus
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl.model.part import Part
from clusterctl.model.records import RunStatus
from clusterctl.model.run_report import Earlier, NodeTestRun
from clusterctl.model.state import State
from clusterctl.report.ocptv_dut import NodeHardware
from clusterctl.report.ocptv_output import output_lines
from clusterctl.workflows.collect_report import collect
from clusterctl.workflows.collect_test_runs import collect_test_runs
from clusterctl_validators.finding import Severity
from support.big_report import big_report
from support.ocptv_rules import bodies, read_output
from support.rack_after_run import NAMES, provisioned_rack
from support.recorded import recorded
from support.stores import a_finding, a_result, findings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clusterctl.adapters.store import Store
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.records import RunRow
    from clusterctl.model.run_report import RunReport
    from clusterctl_validators.finding import Finding

HCA = Part("nic", "0000:1a:00.0", "mlx5_3", "ConnectX-7", "MT2304X00001")
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {"GREATER_THAN_OR_EQUAL": operator.ge, "LESS_THAN_OR_EQUAL": operator.le}


@pytest.fixture
def rack(tmp_path: Path) -> Iterator[tuple[Store, RunRow]]:
    store, run = provisioned_rack(tmp_path)
    with store:
        yield store, run


def runs_of(rack: tuple[Store, RunRow]) -> tuple[RunReport, dict[str, NodeTestRun]]:
    report = collect(rack[0], rack[1], Path(rack[1].directory))
    return report, {t.section.name: t for t in collect_test_runs(rack[0], report)}


def test_a_disk_is_its_part_by_each_of_its_names() -> None:
    hardware = NodeHardware(
        [HCA, Part("nvme", "0000:b7:00.0", "nvme6 (nvme10n1)", "M", "S1"), Part("nvme", "0000:b8:00.0", "nvme7 (nvme6n1)", "M", "S2")]
    )
    named = {name: hardware.place(name)[0] for name in ("mlx5_3", "nvme10n1", "nvme6", "nvme6n1", "nvme10")}
    assert list(named.values()) == ["nic:0000:1a:00.0", "nvme:0000:b7:00.0", "nvme:0000:b7:00.0", "nvme:0000:b8:00.0", ""]


def told(report: RunReport, test_run: NodeTestRun) -> list[dict[str, Any]]:
    return read_output("".join(output_lines(report, test_run)))


def start_of(messages: list[dict[str, Any]]) -> dict[str, Any]:
    (start,) = bodies(messages, "testRunStart")
    return start


def end_of(messages: list[dict[str, Any]]) -> tuple[str, str]:
    (end,) = bodies(messages, "testRunEnd")
    return end["status"], end["result"]


def node_with(*results: GateResult, checks: tuple[Finding, ...] = (), status: RunStatus = RunStatus.DONE) -> list[dict[str, Any]]:
    """The output of an admitted node with these results."""
    report = big_report(1)
    section = replace(report.sections[0], gate_results=results, findings=findings(*checks, node="r012-n01") if checks else None)
    report = replace(report, run=replace(report.run, status=status))
    return told(report, NodeTestRun(section, (), "", {}))


def test_every_node_has_a_test_run_of_its_own(rack: tuple[Store, RunRow]) -> None:
    report, test_runs = runs_of(rack)
    ends = {}
    for name, one in test_runs.items():
        messages = told(report, one)
        assert start_of(messages)["dutInfo"]["name"] == name
        assert start_of(messages)["metadata"] | {"runId": rack[1].id, "simulated": True} == start_of(messages)["metadata"]
        ends[name] = end_of(messages)
    assert list(ends) == list(NAMES)
    assert {n for n, end in ends.items() if end == ("COMPLETE", "FAIL")} == {"r12-n02", "r12-n04"}
    assert set(ends.values()) == {("COMPLETE", "FAIL"), ("COMPLETE", "PASS")}


def test_a_measurement_has_its_floor_and_a_diagnosis_its_reason(rack: tuple[Store, RunRow]) -> None:
    report, test_runs = runs_of(rack)
    messages = told(report, replace(test_runs["r12-n04"], parts=(HCA,)))
    (low,) = [m for m in bodies(messages, "measurement") if m["value"] == 98.1]
    assert low == {
        "name": "bandwidth_average",
        "value": 98.1,
        "unit": "Gb/s",
        "validators": [{"name": "floor", "type": "GREATER_THAN_OR_EQUAL", "value": 180.0, "metadata": {"source": "vendor data sheet"}}],
        "hardwareInfoId": "nic:0000:1a:00.0",
        "metadata": {"rule": "floor", "simulated": True, "peers": ["r12-n02"]},
    }
    (failed,) = [d for d in bodies(messages, "diagnosis") if d["type"] == "FAIL"]
    assert (failed["verdict"], failed["hardwareInfoId"]) == ("rdma_pair-below_floor", "nic:0000:1a:00.0")
    assert "next check the cable of mlx5_3" in failed["message"]
    other = next(m for m in bodies(messages, "measurement") if m["value"] != 98.1)
    assert (other.get("hardwareInfoId"), other["subcomponent"]) == (None, {"name": "mlx5_0"})


def test_a_step_has_the_time_of_its_commands(rack: tuple[Store, RunRow]) -> None:
    report, test_runs = runs_of(rack)
    messages = told(report, test_runs["r12-n01"])
    steps = [m for m in messages if m.get("testStepArtifact", {}).get("testStepId") == "gate.rdma_pair"]
    assert (steps[0]["timestamp"], steps[-1]["timestamp"]) == ("2026-03-14T09:00:00.000000Z", "2026-03-14T09:00:10.000000Z")


def test_a_step_without_a_known_time_has_that_of_the_end(rack: tuple[Store, RunRow]) -> None:
    file = Path(rack[1].directory) / "gates/rdma_pair/r12-n01.json"
    file.write_text(file.read_text().replace("2026-03-14T09:00:00.000000Z", "never"))
    report, test_runs = runs_of(rack)
    assert test_runs["r12-n01"].spans == {}
    assert {m["timestamp"] for m in told(report, test_runs["r12-n01"])[-5:]} == {rack[1].finished_at}


def test_parts_are_those_of_the_run_and_nothing_is_invented(rack: tuple[Store, RunRow]) -> None:
    store, run = rack
    report, test_runs = runs_of(rack)
    assert "hardwareInfos" not in start_of(told(report, test_runs["r12-n01"]))["dutInfo"]
    store.save_parts("19990101-000000-inventory-0000", "r12-n01", [replace(HCA, serial="BEFORE")])
    store.save_parts(run.id, "r12-n01", [HCA, Part("system", "", "", "", "S1")])
    store.save_parts("20990101-000000-inventory-0000", "r12-n01", [replace(HCA, serial="AFTER")])
    infos = start_of(told(report, runs_of(rack)[1]["r12-n01"]))["dutInfo"]["hardwareInfos"]
    assert infos == [
        {
            "hardwareInfoId": "nic:0000:1a:00.0",
            "name": "mlx5_3 ConnectX-7",
            "partType": "NIC",
            "location": "0000:1a:00.0",
            "serialNumber": "MT2304X00001",
            "computerSystem": "r12-n01",
        },
        {"hardwareInfoId": "system", "name": "system", "partType": "SYSTEM", "serialNumber": "S1", "computerSystem": "r12-n01"},
    ]


def test_what_could_not_run_is_an_error_and_no_measurement() -> None:
    lost = replace(a_result(Outcome.COULD_NOT_RUN), reason=GateReason.TIMED_OUT, value=3.0)
    messages = node_with(lost, a_result(), checks=(a_finding(Outcome.COULD_NOT_RUN),))
    assert [e["symptom"] for e in bodies(messages, "error")] == ["hugepages.pages[*].running-could_not_run", "rdma_pair-timed_out"]
    assert [m["value"] for m in bodies(messages, "measurement")] == [196.4]
    assert [e["status"] for e in bodies(messages, "testStepEnd")] == ["ERROR", "ERROR"]
    assert end_of(messages) == ("ERROR", "NOT_APPLICABLE")


@pytest.mark.parametrize(
    ("outcomes", "status", "end"),
    [
        ((Outcome.PASS,), RunStatus.DONE, ("COMPLETE", "PASS")),
        ((Outcome.PASS, Outcome.WARN, Outcome.WAIVED, Outcome.NOT_APPLICABLE), RunStatus.DONE, ("COMPLETE", "PASS")),
        ((Outcome.PASS, Outcome.FAIL, Outcome.COULD_NOT_RUN), RunStatus.DONE, ("COMPLETE", "FAIL")),
        ((Outcome.FAIL,), RunStatus.INTERRUPTED, ("COMPLETE", "FAIL")),
        ((Outcome.PASS,), RunStatus.INTERRUPTED, ("SKIP", "NOT_APPLICABLE")),
        ((Outcome.PASS,), RunStatus.FAILED, ("ERROR", "NOT_APPLICABLE")),
        ((Outcome.PASS,), RunStatus.ABANDONED, ("ERROR", "NOT_APPLICABLE")),
        ((), RunStatus.DONE, ("SKIP", "NOT_APPLICABLE")),
    ],
)
def test_the_end_says_no_more_than_is_known(outcomes: tuple[Outcome, ...], status: RunStatus, end: tuple[str, str]) -> None:
    assert end_of(node_with(*(a_result(o, device=f"mlx5_{i}") for i, o in enumerate(outcomes)), status=status)) == end


def test_what_is_no_verdict_is_a_line_of_the_log() -> None:
    outcomes = (Outcome.WARN, Outcome.WAIVED, Outcome.NOT_APPLICABLE)
    messages = node_with(checks=tuple(a_finding(o, Severity.MINOR, f"hugepages.{o.value}") for o in outcomes))
    assert not list(bodies(messages, "diagnosis"))
    logged = [(m["severity"], m["message"].partition(":")[0]) for m in bodies(messages, "log")]
    assert logged == [("WARNING", "warn"), ("WARNING", "waived"), ("INFO", "not applicable")]


def test_a_step_of_which_nothing_applies_is_skipped() -> None:
    messages = node_with(checks=(a_finding(Outcome.NOT_APPLICABLE),))
    assert [e["status"] for e in bodies(messages, "testStepEnd")] == ["SKIP"]


def test_evidence_of_another_run_is_left_out(rack: tuple[Store, RunRow]) -> None:
    report, test_runs = runs_of(rack)
    one = test_runs["r12-n04"]
    earlier = Earlier(("19990101-000000-burnin-0000",), counts=True)
    messages = told(report, replace(one, section=replace(one.section, gates_earlier=earlier, findings_earlier=earlier)))
    assert not [m for m in messages if "testStepArtifact" in m]
    assert [(e["symptom"], "98.1 of 200 Gb/s" in e["message"]) for e in bodies(messages, "error")] == [("quarantined", True)]
    assert end_of(messages) == ("ERROR", "NOT_APPLICABLE")


def test_a_node_that_did_not_answer_is_an_error(rack: tuple[Store, RunRow]) -> None:
    report, test_runs = runs_of(rack)
    one = test_runs["r12-n01"]
    lost = replace(findings(node="r12-n01", status=NodeStatus.UNREACHABLE, detail="No route to host"), findings=())
    section = replace(one.section, findings=lost, gate_results=(), state=State.QUARANTINED)
    messages = told(report, replace(one, section=section))
    assert list(bodies(messages, "error")) == [{"symptom": "validation-unreachable", "message": "unreachable; No route to host"}]


def test_a_run_that_goes_on_has_no_end_to_tell(rack: tuple[Store, RunRow]) -> None:
    report = replace(collect(rack[0], rack[1], Path(rack[1].directory)), status="running")
    with pytest.raises(ConfigError, match="has not ended"):
        list(collect_test_runs(rack[0], report))


def test_what_a_node_says_cannot_leave_its_text(tmp_path: Path) -> None:
    store, run = provisioned_rack(tmp_path, hostile='\x1b[2J\u202e\x7f\n{"testRunArtifact":{}}')
    with store:
        report, test_runs = runs_of((store, run))
        lines = [line for one in test_runs.values() for line in output_lines(report, one)]
    assert all(line.isascii() and line[:-1].isprintable() and line.endswith("\n") for line in lines)
    assert any("\\u202e" in line for line in lines)


def test_the_validator_of_a_measurement_agrees_with_its_diagnosis() -> None:
    """What a reader works out from value and limit is what the gate said."""
    report, compared = big_report(60), 0
    for section in report.sections:
        messages = told(report, NodeTestRun(section, (), "", {}))
        for one, after in pairwise(messages):
            measured = one.get("testStepArtifact", {}).get("measurement")
            said = after.get("testStepArtifact", {}).get("diagnosis")
            for v in measured.get("validators", ()) if measured and said else ():
                assert OPERATORS[v["type"]](measured["value"], v["value"]) == (said["type"] == "PASS")
                compared += 1
    assert compared > 1000


def test_the_output_follows_the_schemas_of_the_specification(rack: tuple[Store, RunRow]) -> None:
    folder = recorded("ocptv/json_spec/output")
    schemas = {f.name: json.loads(f.read_text()) for f in folder.glob("*.json")}
    registry: Registry[Any] = Registry().with_resources((s["$id"], Resource.from_contents(s)) for s in schemas.values())
    validator = Draft202012Validator(schemas["root.json"], registry=registry)
    report, test_runs = runs_of(rack)
    for one in test_runs.values():
        for line in output_lines(report, replace(one, parts=(HCA,))):
            validator.validate(json.loads(line))


def _swapped(messages: list[dict[str, Any]]) -> None:
    messages[1], messages[2] = messages[2], messages[1]


SPOILERS: dict[str, Callable[[list[dict[str, Any]]], object]] = {
    "a lost message": lambda m: m.pop(3),
    "no end": lambda m: m.pop(),
    "two that changed places": _swapped,
    "an unknown field": lambda m: m[1]["testRunArtifact"]["testRunStart"].update(host="n1"),
    "a missing field": lambda m: m[1]["testRunArtifact"]["testRunStart"].pop("version"),
    "an unknown word": lambda m: m[-1]["testRunArtifact"]["testRunEnd"].update(status="DONE"),
    "an end that cannot be": lambda m: m[-1]["testRunArtifact"]["testRunEnd"].update(status="ERROR"),
    "two artifacts": lambda m: m[-1].update(testStepArtifact={"testStepId": "1", "testStepStart": {"name": "x"}}),
    "unknown hardware": lambda m: next(bodies(m, "diagnosis")).update(hardwareInfoId="gpu:9"),
    "a number as text": lambda m: m[1].update(timestamp=5),
}


@pytest.mark.parametrize("name", SPOILERS)
def test_these_rules_refuse(rack: tuple[Store, RunRow], name: str) -> None:
    report, test_runs = runs_of(rack)
    messages = told(report, test_runs["r12-n01"])
    SPOILERS[name](messages)
    with pytest.raises(ValueError, match=r"."):
        read_output("".join(json.dumps(m) + "\n" for m in messages))
