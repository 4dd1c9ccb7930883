from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.findings import NodeFindings, NodeStatus, findings_exit_code, status_hint, status_hints
from clusterctl.terminal import findings as view
from clusterctl.terminal import out
from clusterctl_validators.finding import Finding, Outcome, Severity
from support.plain_yaml import load_yaml
from support.roles import ROOT

PASS = Finding("kernel.release.running", "kernel", Outcome.PASS, Severity.MAJOR, "6.8", "6.8")
FAIL = Finding("hugepages.pages[1G].node0.running", "hugepages", Outcome.FAIL, Severity.CRITICAL, "64", "0", hint="run provision")
EXPIRED = Finding("hugepages.mounts", "hugepages", Outcome.FAIL, Severity.MAJOR, "/mnt", "", "run provision", "the waiver of ops expired")
BLIND = Finding("nccl.library", "nccl", Outcome.COULD_NOT_RUN, Severity.MINOR, reason="no ldconfig")
WAIVED = Finding("nccl.conf", "nccl", Outcome.WAIVED, Severity.MAJOR, "1", "0", reason="waived by ops until 2026-12-31: why")
OTHER = Finding("nccl.topology", "nccl", Outcome.NOT_APPLICABLE, Severity.MINOR, reason="none declared")
WARNING = Finding("hardware.link_flaps", "hardware", Outcome.WARN, Severity.MINOR, "none", "3 of mlx5_0", hint="look at the cable")
SCHEMA = json.loads((ROOT / "docs/reference/schemas/validation.schema.json").read_text())
RESULTS = (
    NodeFindings("n1", NodeStatus.OK, "", (PASS, WAIVED, OTHER), 0.5),
    NodeFindings("n2", NodeStatus.OK, "", (PASS, FAIL, EXPIRED, BLIND), 0.5),
    NodeFindings("n3", NodeStatus.UNREACHABLE, "Connection refused", (), 0.1),
)


def test_the_owner_of_a_finding_and_the_check_above_it_are_in_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    found = (replace(FAIL, owner="the image"), replace(FAIL, check="hugepages.a", above="hardware.rack.shelf"))
    view.show_findings((NodeFindings("n1", NodeStatus.OK, "", found, 0.5),), "json", "run-1")
    data = json.loads(capsys.readouterr().out)
    Draft202012Validator(SCHEMA).validate(data)
    owned, behind = data["nodes"][0]["findings"]
    assert (owned["owner"], behind["above"]) == ("the image", "hardware.rack.shelf")


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    view.show_findings(RESULTS, "table", "run-1")
    assert capsys.readouterr().out == (
        "n2  3 of 4 checks\n"
        "    critical  hugepages.pages[1G].node0.running  failed: expected 64, found 0\n"
        "    major     hugepages.mounts  failed: expected /mnt, found nothing (the waiver of ops expired)\n"
        "              hint: run provision\n"
        "    minor     nccl.library  could not run: no ldconfig\n"
        "n3  unreachable: Connection refused\n"
        "    hint: check its power, network and SSH, then run again\n"
        "3 nodes: 1 as declared, 1 not as declared, 1 unreachable. "
        "7 checks: 2 pass, 2 fail, 1 could not run, 1 not applicable, 1 waived.\n"
    )


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_machine_readable(capsys: pytest.CaptureFixture[str], output: str) -> None:
    view.show_findings(RESULTS, output, "run-1")
    text = capsys.readouterr().out
    data = json.loads(text) if output == "json" else load_yaml(text)
    Draft202012Validator(SCHEMA).validate(data)
    assert data["run_id"] == "run-1"
    assert data["summary"]["nodes"] == {"as_declared": 1, "not_as_declared": 1, "unreachable": 1}
    assert data["summary"]["checks"] == {"pass": 2, "warn": 0, "fail": 2, "could_not_run": 1, "not_applicable": 1, "waived": 1}
    assert [n["status"] for n in data["nodes"]] == ["ok", "ok", "unreachable"]
    assert [Finding.from_json(f) for f in data["nodes"][1]["findings"]] == [PASS, FAIL, EXPIRED, BLIND]


@pytest.mark.parametrize("items", [[], [{"x": 1}], [{"x": 1}, {"x": [2, "\u00e9"]}]])
def test_a_list_at_the_end_of_yaml_is_a_list(items: list[dict[str, object]], capsys: pytest.CaptureFixture[str]) -> None:
    out.emit_parts("yaml", "validation", {"a": 1}, "nodes", items)
    said = load_yaml(capsys.readouterr().out)
    assert (said["a"], said["nodes"]) == (1, items)


@given(st.lists(st.dictionaries(st.text(), st.text() | st.lists(st.text())), max_size=3))
def test_json_in_pieces_is_json(items: list[dict[str, object]]) -> None:
    text = "".join(out.json_parts({"a": 1}, "items", items))
    assert json.loads(text) == {"a": 1, "items": items}
    if items:
        assert text == out._json({"a": 1, "items": items}) + "\n"


def test_no_node_is_rendered_before_it_is_written() -> None:
    made: list[str] = []
    parts = out.json_parts({"a": 1}, "nodes", (made.append(r.node) or {"name": r.node} for r in RESULTS))  # type: ignore[func-returns-value]
    next(parts)
    assert made == []
    next(parts)
    assert made == ["n1"]


def test_the_stored_document_is_the_printed_one_without_its_envelope(capsys: pytest.CaptureFixture[str]) -> None:
    view.show_findings(RESULTS, "json", "run-1")
    printed = json.loads(capsys.readouterr().out)
    stored = json.loads("".join(view.findings_json_parts(RESULTS, "run-1")))
    assert {**stored, "schema_version": 1, "kind": "validation"} == printed


def test_junit() -> None:
    root = ET.fromstring("".join(view.junit_parts(RESULTS)))  # noqa: S314 our own text
    told = {s.get("name"): {k: s.get(k) for k in ("tests", "failures", "errors", "skipped")} for s in root}
    assert told == {
        "n1": {"tests": "3", "failures": "0", "errors": "0", "skipped": "2"},
        "n2": {"tests": "4", "failures": "2", "errors": "1", "skipped": "0"},
        "n3": {"tests": "1", "failures": "0", "errors": "1", "skipped": "0"},
    }
    failure = root.find(f".//testcase[@name='{FAIL.check}']/failure")
    assert failure is not None
    assert failure.get("message") == "expected 64, found 0"
    assert failure.text == "run provision"


TEXT = st.text(st.characters(exclude_categories=[]))


@pytest.mark.parametrize("evil", ["\x1b[2J", "\r", "\n  n9 admitted", "\x00", "\ud800"])
def test_no_node_moves_the_cursor_or_adds_a_line(evil: str, capsys: pytest.CaptureFixture[str]) -> None:
    findings = tuple(
        Finding(f"a{evil}", "role", o, Severity.MAJOR, evil, evil, evil, f"why{evil}") for o in (Outcome.FAIL, Outcome.COULD_NOT_RUN)
    )
    view.show_findings(
        [NodeFindings("n", NodeStatus.OK, "", findings, 0.0), NodeFindings("m", NodeStatus.CRASHED, evil, (), 0.0)], "table", "run-1"
    )
    lines = capsys.readouterr().out.split("\n")
    assert all(line.isprintable() for line in lines)
    assert len([line for line in lines if line.startswith(("n ", "m "))]) == 2


@given(TEXT, TEXT, st.sampled_from(Outcome))
def test_junit_is_xml_whatever_a_node_says(check: str, said: str, outcome: Outcome) -> None:
    finding = Finding(check, "role", outcome, Severity.MAJOR, said, said, said, said)
    ET.fromstring("".join(view.junit_parts([NodeFindings("n", NodeStatus.OK, "", (finding,), 0.0)])))  # noqa: S314


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (NodeStatus.UNREACHABLE, ExitCode.UNREACHABLE),
        (NodeStatus.AUTH_FAILED, ExitCode.UNREACHABLE),
        (NodeStatus.HOST_KEY_UNKNOWN, ExitCode.UNREACHABLE),
        (NodeStatus.HOST_KEY_CHANGED, ExitCode.UNREACHABLE),
        (NodeStatus.TIMED_OUT, ExitCode.UNREACHABLE),
        (NodeStatus.PYTHON_MISSING, ExitCode.VALIDATOR_FAILED),
        (NodeStatus.BUNDLE_REFUSED, ExitCode.VALIDATOR_FAILED),
        (NodeStatus.CRASHED, ExitCode.VALIDATOR_FAILED),
        (NodeStatus.OK, ExitCode.OK),
    ],
)
def test_exit_code_of_a_status(status: NodeStatus, code: ExitCode) -> None:
    assert findings_exit_code([NodeFindings("n1", status, "", (PASS,), 0.0)]) is code


def test_a_warning_is_shown_and_the_node_is_as_declared(capsys: pytest.CaptureFixture[str]) -> None:
    results = [NodeFindings("n1", NodeStatus.OK, "", (PASS, WARNING), 0.5)]
    view.show_findings(results, "table", "run-1")
    assert capsys.readouterr().out == (
        "n1  1 of 2 checks\n"
        "    minor     hardware.link_flaps  warning: expected none, found 3 of mlx5_0\n"
        "              hint: look at the cable\n"
        "1 node: 1 as declared. 2 checks: 1 pass, 1 warn.\n"
    )
    cases = list(ET.fromstring("".join(view.junit_parts(results))).iter("testcase"))  # noqa: S314 our own
    assert [[child.tag for child in case] for case in cases] == [[], ["system-out"]]


def test_every_status_but_ok_has_a_hint() -> None:
    assert all(status_hint(status, "n1") for status in set(NodeStatus) - {NodeStatus.OK})


def test_unknown_host_keys_have_one_command_for_all_of_their_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    status = {"n1": NodeStatus.HOST_KEY_UNKNOWN, "n2": NodeStatus.OK, "n3": NodeStatus.HOST_KEY_UNKNOWN, "n4": NodeStatus.UNREACHABLE}
    assert set(status_hints(status.items())) == {"n1", "n4"}
    view.show_findings([NodeFindings(n, s, "", (), 0.1) for n, s in status.items()], "table", "run-1")
    assert capsys.readouterr().out.count("ssh-keyscan -H n1 n3 >> ~/.ssh/known_hosts") == 1


@pytest.mark.parametrize(("outcome", "good"), [(o, o not in (Outcome.FAIL, Outcome.COULD_NOT_RUN)) for o in Outcome])
def test_exit_code_of_an_outcome(outcome: Outcome, good: bool) -> None:
    results = [RESULTS[0], NodeFindings("n1", NodeStatus.OK, "", (Finding("a.b", "a", outcome, Severity.MINOR),), 0.0)]
    assert findings_exit_code(results) is (ExitCode.OK if good else ExitCode.VALIDATOR_FAILED)
