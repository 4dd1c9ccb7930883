"""Documents follow their generated schemas, in JSON and in YAML."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator, ValidationError

from clusterctl.core.comparison.compare_runs import compare_runs
from clusterctl.model.bmc_report import BmcReport, BmcSection, Console, LogEntry, Protocol, Sensor
from clusterctl.model.documents import DOCUMENTS
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.node_log import HostLogEntry, LogOutcome, LogSource, LogWindow, NodeLog
from clusterctl.model.notice import MaintenanceNotice, NoticeState, Period
from clusterctl.model.observed import ObservedRecord
from clusterctl.model.part import Part, PartRow
from clusterctl.model.power import Boot, PowerOutcome, PowerReport
from clusterctl.model.run_comparison import NodeEvidence, RunEvidence
from clusterctl.model.shard import RunsOverview, Shard, Worker
from clusterctl.model.state_documents import ShownReason
from clusterctl.model.trouble import LemonAction, TroubleRecord
from clusterctl.model.trouble_counts import TroubleCounts
from clusterctl.terminal.bmc import show_bmcs
from clusterctl.terminal.comparison import show_comparison
from clusterctl.terminal.gates import show_results
from clusterctl.terminal.lemons import show_lemons
from clusterctl.terminal.logs import show_node_logs
from clusterctl.terminal.notices import show_notices
from clusterctl.terminal.observed import show_observed
from clusterctl.terminal.parts import show_parts
from clusterctl.terminal.power import show_power
from clusterctl.terminal.shards import show_queued, show_runs
from clusterctl_lab.view_documents import LAB_DOCUMENTS
from support.plain_yaml import load_yaml
from support.schemas import schema
from support.shown_documents import EXAMPLES, OTHER_FORMS, WHY
from support.stores import a_finding, a_result, a_run
from support.troubles import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable

POWER = [
    PowerReport("n1", PowerOutcome.DONE, "on", "S1", Boot("b", 12.0)),
    PowerReport("n2", PowerOutcome.NOT_TRIED, detail="no budget"),
]
GPU = Part("gpu", "0000:18:00.0", "GPU 0", "H100", "A")
PARTS = [PartRow("n1", GPU, "r1", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", ended_run="")]
BMCS = [
    BmcReport(
        "n1",
        log=(LogEntry("SEL", "1", "", "OK", "text"),),
        sensors=(Sensor("1", "Inlet", "temperature", None, "C", ""),),
        protocols=(Protocol("1", "IPMI", None),),
        consoles=(Console("1", "SSH", enabled=True),),
        missing=((BmcSection.LOG, "HTTP 500"),),
    ),
    BmcReport("n2", problem="HTTP 401"),
]
LOGS = [
    NodeLog(
        "n1", LogOutcome.READ, source=LogSource.JOURNAL, entries=(HostLogEntry("2026-01-01T00:00:00.000000Z", "b", "err", "kernel", None),)
    ),
    NodeLog("n2", LogOutcome.UNREACHABLE, "no route to host"),
]
COUNTS = TroubleCounts(exclusions=1)
LEMONS = [
    TroubleRecord("S1", "system", "n1", "n1", "M", COUNTS, COUNTS, 1 / 3, LemonAction.NONE, "2026-01-01T00:00:00.000000Z"),
    TroubleRecord("", "node", "n2", "n2", "", COUNTS, COUNTS, 1.0, LemonAction.FULL, "2026-01-01T00:00:00.000000Z"),
]
PERIOD = Period("2026-01-02T00:00:00.000000Z", "2026-01-03T00:00:00.000000Z")
NOTICES = [MaintenanceNotice(1, 2, NoticeState.MOVED, "2026-01-01T00:00:00.000000Z", "r12", ("n1", "n2"), PERIOD, "new switch", "ada")]
OBSERVED = [ObservedRecord("gpu_stress", "peers", 3, 9, 2, 1, 2, 1), ObservedRecord("kernel.x", "", 1, 1, 0, 0, 0, 0)]
BEFORE, AFTER = (
    NodeEvidence((a_result(o),), (a_finding(o),), (replace(GPU, serial=s),)) for o, s in ((Outcome.PASS, "A"), (Outcome.FAIL, "B"))
)
COMPARISON = compare_runs(RunEvidence(a_run("r1"), "done", {"n1": BEFORE, "n2": BEFORE}), RunEvidence(a_run("r2"), "done", {"n1": AFTER}))
SHARDS = (Shard("order-1", "east", "r12", ("n1",), "c", "ada", {"level": "quick", "roles": ["kernel"]}),)
RUNS = RunsOverview((a_run("r1"),), {"r1": {"": 1, "apply": 2}}, SHARDS, (Worker("w1", "east", "c", 4),), "2026-03-14T09:30:12.000000Z")
SHOWN: dict[str, Callable[[str], object]] = EXAMPLES | {
    "power": lambda output: show_power("status", "run-1", POWER, output),
    "parts": lambda output: show_parts(["n1", "n2"], PARTS, output),
    "lemons": lambda output: show_lemons(LEMONS, DEFAULT_LIMITS, 20, output),
    "observed": lambda output: show_observed(OBSERVED, 90, 20, output),
    "comparison": lambda output: show_comparison(COMPARISON, output),
    "bmc": lambda output: show_bmcs(BMCS, tuple(BmcSection), output),
    "logs": lambda output: show_node_logs(LOGS, LogWindow(900, 200), output),
    "notices": lambda output: show_notices(NOTICES, output),
    "queued": lambda output: show_queued(SHARDS, output),
    "runs": lambda output: show_runs(RUNS, output),
}


def test_every_generated_document_is_tested() -> None:
    assert set(SHOWN) == set(DOCUMENTS) | set(LAB_DOCUMENTS)


@pytest.mark.parametrize("kind", SHOWN)
def test_a_document_follows_its_schema(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    SHOWN[kind]("json")
    document = json.loads(capsys.readouterr().out)
    Draft202012Validator.check_schema(schema(kind))
    Draft202012Validator(schema(kind)).validate(document)
    with pytest.raises(ValidationError):
        Draft202012Validator(schema(kind)).validate({**document, "other": 1})
    a_list = next(name for name, of in schema(kind)["properties"].items() if of.get("type") == "array")
    with pytest.raises(ValidationError):
        Draft202012Validator(schema(kind)).validate({**document, a_list: [{"name": "n1"}]})
    SHOWN[kind]("yaml")
    assert load_yaml(capsys.readouterr().out) == document


@pytest.mark.parametrize("kind", OTHER_FORMS)
def test_its_other_form_follows_the_same_schema(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    OTHER_FORMS[kind]("json")
    document = json.loads(capsys.readouterr().out)
    Draft202012Validator(schema(kind)).validate(document)
    SHOWN[kind]("json")
    assert document != json.loads(capsys.readouterr().out)


def test_a_field_whose_name_is_a_word_of_python_is_printed_as_that_word(capsys: pytest.CaptureFixture[str]) -> None:
    SHOWN["drain"]("json")
    first, second = json.loads(capsys.readouterr().out)["nodes"]
    assert (first["from"], first["running"], second["running"]) == ("admitted", "job 17", None)


def test_a_reason_is_shown_as_all_documents_show_it() -> None:
    assert {f.name for f in fields(ShownReason)} == set(WHY.to_json())


def test_verdicts_are_printed_as_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    show_results("burnin", "yaml", {"run": "r"}, [GateResult("dcgm_diag", "n1", Outcome.PASS, "tests")], ["n1"])
    assert load_yaml(capsys.readouterr().out)["nodes"][0]["results"][0]["outcome"] == "pass"
