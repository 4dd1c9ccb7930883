"""Two runs side by side: what fails newly, what got slower by more than noise, which parts and versions are others."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from clusterctl import main
from clusterctl.adapters import raw_records
from clusterctl.adapters.run_directory import RunDir
from clusterctl.core.comparison.compare_runs import compare_runs
from clusterctl.core.comparison.result_pairs import paired
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import DeviceValue, Outcome
from clusterctl.model.own_history import VALUE_RULES
from clusterctl.model.part import Part
from clusterctl.model.records import RunStatus
from clusterctl.model.run_comparison import ComparisonDocument, NodeEvidence, RunChange, RunEvidence
from support.rack_after_run import a_pair_record
from support.roles import ROOT
from support.stores import a_finding, a_node, a_result, a_run, findings, fresh

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.store import Store
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.run_comparison import ComparedNode

FIRST, SECOND = "20260314-090000-burnin-aaaa", "20260315-090000-burnin-bbbb"
LOST = replace(a_result(Outcome.COULD_NOT_RUN, device=""), rule="complete", metric="", reason=GateReason.TIMED_OUT, value=None, limit=None)
SCHEMA = json.loads((ROOT / "docs" / "reference" / "schemas" / "comparison.schema.json").read_text())


def measured(value: float, device: str = "mlx5_3", **more: Any) -> GateResult:
    return replace(a_result(device=device), value=value, **more)


def compared(before: NodeEvidence, after: NodeEvidence) -> ComparedNode:
    one, other = (RunEvidence(a_run(name), "done", {"n1": own}) for name, own in ((FIRST, before), (SECOND, after)))
    (node,) = compare_runs(one, other).nodes
    return node


def changes(before: list[GateResult], after: list[GateResult]) -> list[tuple[str, RunChange]]:
    node = compared(NodeEvidence(tuple(before)), NodeEvidence(tuple(after)))
    return [((p.after or p.before).device, p.change) for p in node.results if p.after or p.before]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("value", "change"),
    [(200.0, RunChange.SAME), (195.0, RunChange.SAME), (205.0, RunChange.SAME), (194.0, RunChange.LOWER), (206.0, RunChange.HIGHER)],
)
def test_a_difference_counts_from_what_a_healthy_node_repeats_to(value: float, change: RunChange) -> None:
    assert changes([measured(200.0)], [measured(value)]) == [("mlx5_3", change)]


def test_noise_is_what_the_other_devices_differ_by() -> None:
    """The same 4 % is a change among steady devices, and none among those that differ by as much."""
    devices = [f"mlx5_{i}" for i in range(12)]
    before = [measured(200.0, d) for d in devices]
    unsteady = [measured(200.0 * (1 + (-1) ** i * 0.03), d) for i, d in enumerate(devices)]
    steady = [measured(200.0, d) for d in devices[:-1]]
    low = measured(192.0, devices[-1])
    assert [c for d, c in changes(before, [*steady, low]) if d == devices[-1]] == [RunChange.LOWER]
    assert [c for d, c in changes(before, [*unsteady[:-1], low]) if d == devices[-1]] == [RunChange.SAME]


def test_what_all_devices_lost_is_no_noise() -> None:
    devices = [f"mlx5_{i}" for i in range(12)]
    found = changes([measured(200.0, d) for d in devices], [measured(190.0, d) for d in devices])
    assert {c for _, c in found} == {RunChange.LOWER}


def test_values_stand_beside_their_difference_and_their_floor() -> None:
    node = compared(NodeEvidence((measured(200.0),)), NodeEvidence((measured(171.0, limit=190.0, outcome=Outcome.FAIL),)))
    (pair,) = node.results
    assert pair.before is not None
    assert pair.after is not None
    assert (pair.difference_percent, pair.noise_percent, pair.change) == (-14.5, 2.59, RunChange.NEWLY_FAILS)
    assert (pair.before.margin_percent, pair.after.margin_percent) == (11.11, -10.0)


BAD = a_result(Outcome.FAIL)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ([measured(200.0)], [BAD], [RunChange.NEWLY_FAILS]),
        ([BAD], [measured(200.0)], [RunChange.NEWLY_PASSES]),
        ([BAD], [BAD], [RunChange.STILL_FAILS]),
        ([measured(200.0)], [LOST], [RunChange.NEWLY_FAILS, RunChange.ONLY_BEFORE]),
        ([LOST], [measured(200.0)], [RunChange.NEWLY_PASSES, RunChange.ONLY_AFTER]),
        ([LOST], [BAD], [RunChange.ONLY_BEFORE, RunChange.STILL_FAILS]),
        ([], [BAD], [RunChange.ONLY_AFTER]),
        ([BAD], [], [RunChange.ONLY_BEFORE]),
        ([measured(0.0)], [measured(5.0)], [RunChange.SAME]),
        ([measured(2.0, rule="growth")], [measured(1.0, rule="growth")], [RunChange.SAME]),
        ([measured(200.0, unit="GB/s")], [measured(100.0)], [RunChange.SAME]),
        *(([measured(200.0)], [measured(190.0, rule=rule)], [RunChange.LOWER]) for rule in VALUE_RULES),
    ],
)
def test_outcomes_decide_first(before: list[GateResult], after: list[GateResult], found: list[RunChange]) -> None:
    assert [c for _, c in changes(before, after)] == found


def test_a_gate_that_names_its_lowest_device_is_one_result() -> None:
    node = compared(NodeEvidence((measured(200.0, "GPU 1"),)), NodeEvidence((measured(201.0, "GPU 5"),)))
    assert [(p.before.device, p.after.device) for p in node.results if p.before and p.after] == [("GPU 1", "GPU 5")]


EACH = {"gpu0": 200.0, "gpu1": 190.0, "gpu2": 205.0}


def of_node(values: dict[str, float], **more: Any) -> GateResult:
    """A result that has the value of each device, and the worst of them."""
    each = tuple(DeviceValue(*item) for item in values.items())
    return measured(min(values.values()), "", rule="rate", by_device=each, **more)


def test_a_device_that_is_low_in_one_run_is_compared_with_its_own_value_and_the_others_with_theirs() -> None:
    full, others = of_node(EACH), of_node({"gpu0": 200.0, "gpu2": 205.0})
    low = measured(180.0, "gpu1", rule="rate", outcome=Outcome.WARN)
    for before, after, expected in (
        ([full], [low, others], (-5.26, RunChange.LOWER)),
        ([low, others], [full], (5.56, RunChange.HIGHER)),
    ):
        found = compared(NodeEvidence(tuple(before)), NodeEvidence(tuple(after))).results
        by_device = {one.device: (p.difference_percent, p.change) for p in found if (one := p.after or p.before)}
        assert by_device == {"gpu1": expected, "": (0.0, RunChange.SAME)}
    failed = replace(low, outcome=Outcome.FAIL, reason=GateReason.BELOW_PEERS)
    assert ("gpu1", RunChange.NEWLY_FAILS) in changes([full], [failed, others])


@given(st.lists(st.sampled_from("abcd")), st.lists(st.sampled_from("abcd")))
def test_no_result_is_lost_or_told_twice(before: list[str], after: list[str]) -> None:
    ours, theirs = ([measured(100.0 + i, d) for i, d in enumerate(names)] for names in (before, after))
    pairs = paired(ours, theirs)
    assert sorted(id(p[0]) for p in pairs if p[0]) == sorted(map(id, ours))
    assert sorted(id(p[1]) for p in pairs if p[1]) == sorted(map(id, theirs))
    assert all(p[0] or p[1] for p in pairs)


def test_checks_are_told_where_they_differ_or_fail() -> None:
    good, bad = a_finding(), a_finding(Outcome.FAIL)
    names = [f"hugepages.{n}" for n in "abcdef"]
    a, b, c, d, e, f = names
    before = (replace(good, check=a), replace(good, check=b), replace(bad, check=c), replace(bad, check=d), replace(good, check=e))
    after = (replace(good, check=a), replace(bad, check=b), replace(good, check=c), replace(bad, check=d), replace(good, check=f))
    node = compared(NodeEvidence(findings=before), NodeEvidence(findings=after))
    told = {c.check: c.change for c in node.checks}
    assert told == {
        b: RunChange.NEWLY_FAILS,
        c: RunChange.NEWLY_PASSES,
        d: RunChange.STILL_FAILS,
        e: RunChange.ONLY_BEFORE,
        f: RunChange.ONLY_AFTER,
    }
    newer = compared(NodeEvidence(findings=(good,)), NodeEvidence(findings=(replace(good, found="32"),)))
    assert [(c.found_before, c.found_after, c.change) for c in newer.checks] == [("16", "32", RunChange.FOUND)]


@pytest.mark.parametrize("which", ["findings", "parts"])
def test_what_one_run_did_not_look_at_is_no_change(which: str) -> None:
    one = NodeEvidence(findings=(a_finding(),)) if which == "findings" else NodeEvidence(parts=(Part("gpu", "1", "GPU 0", "H100", "A"),))
    for node in (compared(one, NodeEvidence()), compared(NodeEvidence(), one)):
        assert (node.checks, node.parts) == ((), ())


def bring_run(store: Store, name: str, value: float, serial: str, version: str, folder: Path) -> None:
    """A run of two nodes, of which the first has this bandwidth, this adapter and this version of perftest."""
    rundir = RunDir(name, folder / name)
    run = replace(a_run(name, str(rundir.path), verb="burnin"), versions={"clusterctl": version})
    store.start_run(run, ["n1", "n2"])
    store.save_parts(name, "n1", [Part("nic", "0000:1a:00.0", "mlx5_3", "ConnectX-7", serial)])
    outcome = Outcome.PASS if value >= 180.0 else Outcome.FAIL
    store.save_gate_results(name, [replace(a_result(outcome, node="n1"), value=value, found=f"{value}\x1b[2J"), a_result(node="n2")])
    store.save_findings(name, findings(node="n1"))
    record = replace(a_pair_record("n1", "n2", 3, "client", value), tool_version=f"perftest {version}")
    rundir.write_json("gates/rdma_pair/n1.json", raw_records.gate_document("rdma_pair", "n1", [record]))
    store.finish_run(name, RunStatus.DONE, 0, {})


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clusterctl.yml").write_text("state_dir: state\n")
    with fresh(tmp_path / "state") as store:
        store.register([a_node("n1"), a_node("n2", slot=2)])
        bring_run(store, FIRST, 196.4, "A", "0.1.0", tmp_path)
        bring_run(store, SECOND, 98.1, "B", "0.2.0", tmp_path)


@pytest.mark.usefixtures("site")
def test_the_document_is_what_its_schema_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["report", "--compare", FIRST, "last", "-o", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    Draft202012Validator(SCHEMA).validate(data)
    assert [data[side]["id"] for side in ("before", "after")] == [FIRST, SECOND]
    assert data["versions"] == [{"name": "clusterctl", "before": "0.1.0", "after": "0.2.0"}]
    one, other = data["nodes"]
    assert [p["change"] for p in (*one["results"], *other["results"])] == ["newly_fails", "same"]
    assert one["parts"] == [{"kind": "nic", "slot": "0000:1a:00.0", "name": "mlx5_3", "before": "A", "after": "B"}]
    assert one["versions"] == [{"name": "rdma_pair perftest", "before": "perftest 0.1.0", "after": "perftest 0.2.0"}]
    data["nodes"][0]["results"][0]["change"] = "worse"
    assert not Draft202012Validator(SCHEMA).is_valid(data)


@pytest.mark.usefixtures("site")
def test_the_table_has_what_changed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["report", "--compare", FIRST, SECOND]) == 0
    text = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in text.splitlines()]
    row = "n1 rdma_pair bandwidth_average mlx5_3 196.4 Gb/s [simulated] fail: 98.1 Gb/s [simulated] -50.0 % 2.6 % +9.1 % -> -45.5 % newly fails"
    assert row in lines
    assert "n1 mlx5_3 A B" in lines
    assert "all clusterctl 0.1.0 0.2.0" in lines
    assert lines[-1] == "newly fails: 1; 1 result the same or within noise."
    assert "\x1b" not in text
    assert main.call(["report", "--compare", SECOND, SECOND]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "still fails: 1; 1 result the same or within noise."


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--compare", FIRST, SECOND, "-o", "html"), 2, "--compare prints"),
        (("--compare", FIRST, SECOND, "--out", "x"), 2, "--compare prints"),
        (("last", "--compare", FIRST, SECOND), 2, "--compare prints"),
        (("-o", "json"), 2, "-o json is for --compare"),
        (("--compare", FIRST, "2020"), 3, "2020"),
    ],
)
def test_what_cannot_be_combined_is_refused(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, said: str) -> None:
    assert main.call(["report", *words]) == code
    assert said in capsys.readouterr().err


def test_a_node_of_one_run_only_is_named() -> None:
    own = NodeEvidence((measured(200.0),))
    found: ComparisonDocument = compare_runs(
        RunEvidence(a_run(FIRST), "done", {"n1": own}), RunEvidence(a_run(SECOND), "done", {"n2": own})
    )
    assert [(n.name, n.in_before, n.in_after) for n in found.nodes] == [("n1", True, False), ("n2", False, True)]
