"""What the drill takes for wrong."""

from __future__ import annotations

from typing import Any

import pytest

from clusterctl.model.exit_codes import ExitCode
from drill.faults import FAULTS
from drill.large_group import BAD, NODES, wrong_verdicts
from drill.rounds import wrong_states

GOOD = {
    "n1": {"state": "admitted", "reason": "", "held_by": None},
    "n2": {"state": "quarantined", "reason": "no connection", "held_by": None},
}


def wrong(unfinished: tuple[str, ...] = (), **changed: Any) -> list[str]:
    nodes = [{"name": name, **values, **(changed if name == "n2" else {})} for name, values in GOOD.items()]
    return list(wrong_states({"nodes": nodes, "unfinished_runs": unfinished}, "n2"))


def test_a_node_that_is_out_with_a_reason_is_right() -> None:
    assert wrong() == []


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"state": "admitted"}, "n2 is admitted"),
        ({"reason": ""}, "n2 has no reason"),
        ({"held_by": "ada"}, "n2 is still held by ada"),
        ({"unfinished": ("r1",)}, "a run has no end"),
    ],
)
def test_what_is_wrong(changed: dict[str, Any], text: str) -> None:
    assert wrong(**changed) == [text]


def test_another_node_that_did_not_come_in_is_wrong() -> None:
    status = {
        "nodes": [{"name": "n1", "state": "drained", "reason": "x", "held_by": None}, {"name": "n2", **GOOD["n2"]}],
        "unfinished_runs": [],
    }
    assert list(wrong_states(status, "n2")) == ["n1 is drained: x"]


def test_a_node_that_is_only_disturbed_must_be_admitted() -> None:
    nodes = [{"name": name, **values} for name, values in GOOD.items()]
    assert list(wrong_states({"nodes": nodes, "unfinished_runs": []}, "")) == ["n2 is quarantined: no connection"]


def test_only_what_passes_may_end_well() -> None:
    assert all((ExitCode.OK in fault.exit_codes) == fault.passes for fault in FAULTS.values())


def verdicts(bad: dict[str, str]) -> dict[str, Any]:
    nodes = []
    for name in (f"b{i}" for i in range(1, NODES + 1)):
        result = {"gate": "nccl_group", "outcome": "fail" if name in bad else "pass", "reason": bad.get(name)}
        nodes.append(
            {"name": name, "passed": name not in bad, "results": [{"gate": "nccl_group", "outcome": "pass", "reason": None}, result]}
        )
    return {"nodes": nodes}


def test_only_the_bad_node_of_a_large_group_may_fail() -> None:
    assert list(wrong_verdicts(ExitCode.GATE_FAILED, verdicts({BAD: "wrong_transport"}))) == []


@pytest.mark.parametrize(
    ("code", "bad", "texts"),
    [
        (ExitCode.OK, {}, ["exit status 0", "found set()", "32 nodes passed"]),
        (ExitCode.GATE_FAILED, {"b1": "wrong_transport"}, ["found {('b1', 'fail', 'wrong_transport')}", "31 nodes passed"]),
        (ExitCode.GATE_FAILED, {BAD: "below_floor"}, [f"found {{('{BAD}', 'fail', 'below_floor')}}"]),
    ],
    ids=["missed", "another", "another_reason"],
)
def test_wrong_verdicts_of_a_large_group(code: ExitCode, bad: dict[str, str], texts: list[str]) -> None:
    assert list(wrong_verdicts(code, verdicts(bad))) == texts
