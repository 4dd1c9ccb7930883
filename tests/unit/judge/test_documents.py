"""The JSON of `parse` and `judge` is what its schema says, and bad input ends with the documented exit status."""

from __future__ import annotations

import json
import tarfile
from itertools import combinations
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from clusterctl.adapters.raw_records import gate_document
from clusterctl.adapters.run_bundle import bundle_files, write_archive
from clusterctl.adapters.run_directory import RunDir
from clusterctl.core.gates.planning.coverage import coverage
from clusterctl.core.gates.planning.header import header_of
from clusterctl.main import call
from clusterctl.model.gate_reason import GateReason
from support.gates import CASES, meeting, nccl, nodes, plan, record
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.model.gate_result import RawRecord

SCHEMAS = ROOT / "docs" / "reference" / "schemas"


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text())


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunDir:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLUSTERCTL_STATE_DIR", str(tmp_path / "state"))
    some = nodes(3, rails=1)
    run = RunDir.create(tmp_path, "burnin")
    gates = ("nccl_node", "rdma_pair")
    header = header_of("standard", gates, some, (), impossible={}, pairs=coverage(some, plan(some, gates)))
    run.write_json("gates/burnin.json", header.to_json())
    records: list[RawRecord] = [record("nccl_node", n.name, nccl(477.0), simulated=True) for n in some]
    for number, (one, other) in enumerate(combinations([n.name for n in some], 2)):
        records += meeting(one, other, 0, number, 196.0 if "n2" in (one, other) else 392.0)
    for gate in gates:
        for n in some:
            run.write_json(
                f"gates/{gate}/{n.name}.json", gate_document(gate, n.name, [r for r in records if (r.gate, r.node) == (gate, n.name)])
            )
    return run


def test_judge_prints_what_its_schema_says(stored: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["judge", str(stored.path), "--recorded", "-o", "json"]) == 7
    data = json.loads(capsys.readouterr().out)
    jsonschema.validate(data, schema("judge"))
    assert [(n["name"], n["passed"]) for n in data["nodes"]] == [("n1", True), ("n2", False), ("n3", True)]
    assert data["pair_coverage"]["pairs"] == 3
    slow = next(r for n in data["nodes"] for r in n["results"] if r["outcome"] == "fail")
    assert (slow["reason"], slow["value"], slow["limit"], slow["unit"]) == ("below_floor", 196.0, 360.0, "Gb/s")


def test_the_archive_of_a_run_is_judged_as_the_run_is(stored: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_archive(tmp_path / "run.tar.gz", stored.path, bundle_files(stored.path).names, {}, "2026-03-14T09:00:00.000000Z")
    with tarfile.open(tmp_path / "run.tar.gz") as archive:
        archive.extractall(tmp_path / "elsewhere", filter="data")
    judged = []
    for folder in (stored.path, tmp_path / "elsewhere" / stored.id):
        assert call(["judge", str(folder), "--recorded", "-o", "json"]) == 7
        judged.append(json.loads(capsys.readouterr().out)["nodes"])
    assert judged[0] == judged[1]


@pytest.mark.parametrize("result", [schema("judge")["$defs"]["result"], schema("history")["properties"]["gate_results"]["items"]])
def test_the_schemas_list_every_reason(result: dict[str, Any]) -> None:
    assert result["properties"]["reason"]["enum"] == [None, *GateReason]


def test_judge_tells_people_what_is_wrong_and_what_to_do(stored: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["judge", str(stored.path), "--recorded"]) == 7
    said = capsys.readouterr().out
    assert "n2: rdma_pair mlx5_0 reads 196 of 400 Gb/s (floor 360 Gb/s, source tests); both partners were fine with others" in said
    assert "hint: it runs at half its rate" in said
    assert "3 nodes: 2 passed, 1 did not (n2)" in said
    assert "Simulated numbers." in said


def test_judging_one_gate_exits_by_that_gate(stored: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["judge", str(stored.path), "--recorded", "--gate", "nccl_node"]) == 0
    assert call(["judge", str(stored.path), "--recorded", "--gate", "nccl_group"]) == 2
    assert "the run has no gate 'nccl_group'" in capsys.readouterr().err


def test_an_empty_run_directory_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["judge", str(tmp_path), "--recorded"]) == 3
    assert "contains no burn-in" in capsys.readouterr().err


def test_an_unknown_run_is_an_error(stored: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["judge", "20260101-no-such-run"]) != 0
    assert "hint:" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["nccl_wrong_results", "dcgm4_json_fail", "nvbandwidth_text", "perftest_mib_per_second"])
def test_parse_prints_what_its_schema_says(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    tool = (CASES / "parsers" / name / "case.yml").read_text().split("\n")[0].removeprefix("tool: ")
    assert call(["parse", tool, str(CASES / "parsers" / name / "input.txt"), "-o", "json"]) == 0
    jsonschema.validate(json.loads(capsys.readouterr().out), schema("parse"))


@pytest.mark.parametrize("name", ["empty_nccl_tests", "garbage_perftest", "nccl_cut_off", "dcgm4_json_cut_off"])
def test_text_that_cannot_be_parsed_exits_with_3_and_a_reason(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    tool = (CASES / "parsers" / name / "case.yml").read_text().split("\n")[0].removeprefix("tool: ")
    assert call(["parse", tool, str(CASES / "parsers" / name / "input.txt"), "-o", "json"]) == 3
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: not a complete output of")
    assert "hint:" in told.err
    assert "Traceback" not in told.err


@pytest.mark.parametrize(("words", "code"), [(["iperf", "x"], 2), ([], 2), (["perftest"], 2), (["perftest", "/no/such/file"], 3)])
def test_bad_words_are_told(words: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["parse", *words]) == code
    assert "hint:" in capsys.readouterr().err


def test_the_list_of_tools_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["parse", "--list", "-o", "json"]) == 0
    tools = {t["tool"] for t in json.loads(capsys.readouterr().out)["tools"]}
    assert {"nccl_tests", "perftest", "dcgmi_diag", "nvbandwidth"} <= tools
    documented = (ROOT / "docs" / "reference" / "samples.md").read_text()
    assert all(f"`{t}`" in documented for t in tools)
