"""Gate results as text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, gates_exit_code
from clusterctl.model.task_event import TaskEvent, TaskStatus
from clusterctl.terminal import gates
from clusterctl.terminal.live import burnin_progress
from support.stores import a_result

if TYPE_CHECKING:
    import pytest

NODES = tuple(f"r12-n0{i}" for i in range(1, 5))
BODY = {"run": "run-1", "directory": "/runs/run-1", "pair_coverage": None}


def lost(node: str, device: str) -> GateResult:
    found = a_result(Outcome.COULD_NOT_RUN, node=node, device=device)
    return replace(found, reason=GateReason.NODE_UNREACHABLE, detail=f"no record came back: node unreachable: {node} does not answer")


def shown(capsys: pytest.CaptureFixture[str], *results: GateResult, output: str = "table") -> str:
    gates.show_results("burnin", output, BODY, results, NODES)
    return capsys.readouterr().out


def test_what_a_pass_does_not_prove_is_stated_once_for_a_gate(capsys: pytest.CaptureFixture[str]) -> None:
    body = {**BODY, "level": "quick", "not_proven": {"dcgm_diag": "anything under load"}}
    gates.show_results("burnin", "table", body, [a_result(node=n) for n in NODES], NODES)
    assert capsys.readouterr().out.splitlines()[0] == "not proven by dcgm_diag at quick: anything under load"


def test_an_unreachable_node_takes_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    results = [lost(n, f"mlx5_{i}") for n in NODES for i in range(10)]
    lines = shown(capsys, *results).splitlines()
    assert lines[0] == "r12-n01: could not run (10 results missing): no record came back: node unreachable: r12-n01 does not answer"
    assert [line.split(":")[0] for line in lines[:4]] == list(NODES)
    assert lines[4] == f"  hint: check network, SSH and power of what was not reached, then `clusterctl burnin {','.join(NODES)}`"
    assert len(lines) == 7
    assert len(json.loads(shown(capsys, *results, output="json"))["nodes"][0]["results"]) == 10, "programs get all of them"


def test_other_failures_keep_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    silent = replace(a_result(Outcome.COULD_NOT_RUN), reason=GateReason.PEER_SILENT, detail="its peer is silent")
    text = shown(capsys, a_result(Outcome.FAIL), silent, a_result(), lost("r12-n02", "mlx5_0"))
    assert re.findall(r"^(r12-n\d+): ", text, re.MULTILINE) == ["r12-n01", "r12-n01", "r12-n02"]


def test_a_warning_is_shown_beside_a_node_that_passed(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, *(a_result(node=n) for n in NODES), a_result(Outcome.WARN)).splitlines()
    assert lines[0].startswith("warning: r12-n01: ")
    assert "4 nodes: 4 passed, 0 did not. Verdicts: 4 passed, 1 warned." in "\n".join(lines)
    assert gates_exit_code([a_result(Outcome.WARN)]) is ExitCode.OK


def test_a_burn_in_of_its_own_reports_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with burnin_progress(NODES, "quick") as on_event:
        for node in NODES:
            on_event(TaskEvent(node, "burnin", "Measure", TaskStatus.OK, changed=True))
    lines = [re.sub(r"^\[ *\d+s\] ", "", line) for line in capsys.readouterr().err.splitlines()]
    assert lines == [f"burn in: {', '.join(NODES)} (quick)", "burn in: burnin on 4 nodes: 4 done, 4 changed, 0 s"]


FORGED = "x\x1b]0;title\x07\x9b2J\u202e\n4 nodes: 4 passed, 0 did not."


def test_what_a_node_printed_cannot_move_the_cursor_or_pass_for_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    results = [
        replace(a_result(outcome, node="r12-n01"), detail=FORGED, hint=FORGED, found=FORGED, reason=reason)
        for outcome, reason in (
            (Outcome.FAIL, GateReason.BELOW_FLOOR),
            (Outcome.COULD_NOT_RUN, GateReason.UNPARSABLE),
            (Outcome.COULD_NOT_RUN, GateReason.NODE_UNREACHABLE),
        )
    ]
    text = shown(capsys, *results)
    assert text.replace("\n", "").isprintable()
    assert sum(line.startswith("4 nodes:") for line in text.splitlines()) == 1
    document = shown(capsys, *results, output="json")
    assert document.replace("\n", "").isprintable()
    assert json.loads(document)["nodes"][0]["results"][0]["detail"] == FORGED


def test_a_result_without_a_source_names_none(capsys: pytest.CaptureFixture[str]) -> None:
    bad = replace(
        a_result(Outcome.FAIL, node="r12-n01"),
        metric="xid",
        found="79",
        expected="none that requires action",
        detail="under load",
        peers=(),
        limit=None,
    )
    assert ": xid 79, expected none that requires action; under load" in shown(capsys, replace(bad, source=""))
    assert "that requires action, source the vendor; under load" in shown(capsys, replace(bad, source="the vendor"))
