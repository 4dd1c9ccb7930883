from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import Subject, subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord
from clusterctl.model.level import LEVELS
from support.gates import RDMA_FLOOR, TODAY, case_names, gates, link, load_case, meeting, node, nodes, perftest, plan

if TYPE_CHECKING:
    from collections.abc import Sequence

HEALTHY = 392.4


def results_of(subjects: Sequence[Subject], records: Sequence[RawRecord]) -> tuple[GateResult, ...]:
    return judge(subjects, records, level="standard", gates=["rdma_pair"])


def records_of(case: dict[str, Any], names: Sequence[str]) -> list[RawRecord]:
    records: list[RawRecord] = []
    for number, (one, other) in enumerate(combinations(names, 2)):
        found: float | str = HEALTHY
        code = None
        for entry in case.get("links", ()):
            if entry.get("with") in (one, other) or entry.get("pair") in ([one, other], [other, one]):
                found, code = entry["found"], entry.get("code")
        if found != "none":
            records += meeting(one, other, 0, number, found, code)
    return records


@pytest.mark.parametrize("name", case_names("judge", "pairs_"))
def test_case(name: str) -> None:
    case = load_case("judge", name)
    names = [f"n{i}" for i in range(1, case["nodes"] + 1)]
    partners = case.get("partners", [])
    declared = gates(gates_settings={"rdma_pair": {"rounds": case.get("rounds", 0)}})
    subjects = [subject_of(node(n, rails=1, declared=declared), TODAY, partner=n in partners) for n in names]
    found = {r.node: r for r in results_of(subjects, records_of(case, names))}
    assert set(found) == set(names) - set(partners)
    for n, result in found.items():
        wanted = case["expect"].get(n) or case["expect"]["rest"]
        assert result.outcome.value == wanted["outcome"], (n, result)
        assert result.device == "mlx5_0"
        for key in set(wanted) - {"outcome"}:
            assert wanted[key] in getattr(result, key), (n, key, result)
        assert bool(result.hint) == (result.outcome is not Outcome.PASS)


BAD = st.sets(st.integers(0, 8), max_size=4)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 9), BAD, st.randoms(use_true_random=False))
def test_any_order_of_evidence_gives_the_same_verdicts_and_no_healthy_node_is_condemned(count: int, bad: set[int], order: Any) -> None:
    names = [f"n{i}" for i in range(count)]
    slow = {f"n{i}" for i in bad if i < count}
    subjects = [subject_of(node(n, rails=1), TODAY) for n in names]
    records = [r for i, (a, b) in enumerate(combinations(names, 2)) for r in meeting(a, b, 0, i, 200.0 if {a, b} & slow else HEALTHY)]
    first = results_of(subjects, records)
    order.shuffle(records)
    order.shuffle(subjects)
    assert results_of(subjects, records) == first
    condemned = {r.node for r in first if r.outcome is Outcome.FAIL}
    passed = {r.node for r in first if r.outcome is Outcome.PASS}
    assert condemned <= slow
    assert not passed & slow
    if slow and count - len(slow) >= 2 and count >= 3:
        assert condemned == slow
        assert passed == set(names) - slow


def test_the_verdict_is_identical_over_ten_runs() -> None:
    case = load_case("judge", "pairs_two_bad_of_six")
    names = [f"n{i}" for i in range(1, 7)]
    subjects = [subject_of(node(n, rails=1), TODAY) for n in names]
    records = records_of(case, names)
    assert len({results_of(subjects, records) for _ in range(10)}) == 1


def test_rails_are_judged_apart() -> None:
    names = ["n1", "n2", "n3"]
    subjects = [subject_of(node(n, rails=2), TODAY) for n in names]
    records = [
        r
        for i, (a, b) in enumerate(combinations(names, 2))
        for rail in (0, 1)
        for r in meeting(a, b, rail, i, 196.0 if rail == 1 and "n2" in (a, b) else HEALTHY)
    ]
    bad = [r for r in results_of(subjects, records) if r.outcome is not Outcome.PASS]
    assert [(r.node, r.device, r.outcome) for r in bad] == [("n2", "mlx5_1", Outcome.FAIL)]
    assert "it runs at half its rate" in bad[0].hint
    assert "port 2" in bad[0].hint


def test_an_hca_that_met_nobody_is_not_covered() -> None:
    subjects = [subject_of(node("n1", rails=2), TODAY), subject_of(node("n2", rails=1), TODAY)]
    found = {(r.node, r.device): r for r in results_of(subjects, meeting("n1", "n2", 0, 0, HEALTHY))}
    assert found["n1", "mlx5_1"].outcome is Outcome.COULD_NOT_RUN
    assert found["n1", "mlx5_1"].rule == "coverage"
    assert found["n1", "mlx5_0"].outcome is Outcome.PASS


def test_a_client_without_its_servers_record_is_no_evidence() -> None:
    subjects = [subject_of(node(n, rails=1), TODAY) for n in ("n1", "n2")]
    client, *_ = meeting("n1", "n2", 0, 0, HEALTHY)
    found = results_of(subjects, [client])
    assert {r.outcome for r in found} == {Outcome.COULD_NOT_RUN}
    assert {r.node for r in found} == {"n1", "n2"}


def test_a_client_that_found_no_server_is_not_the_reason() -> None:
    subjects = [subject_of(node(n, rails=1), TODAY) for n in ("n1", "n2")]
    told = {"client": "Couldn't connect to 10.0.0.2:18515\n", "server": "Port number 1 state is Down\n"}
    failed = [replace(r, stdout="", exit_status=1, stderr=told[r.step.rpartition(".")[2]]) for r in meeting("n1", "n2", 0, 0, HEALTHY)]
    found = results_of(subjects, failed)
    assert {(r.node, r.reason) for r in found} == {("n1", GateReason.EXIT_STATUS), ("n2", GateReason.EXIT_STATUS)}
    assert all("Port number 1 state is Down" in r.detail for r in found)
    alone = results_of(subjects, [replace(r, exit_status=0) if r.step.endswith("server") else r for r in failed])
    assert "Couldn't connect" not in alone[0].detail


def test_a_taken_port_is_named_with_its_node_and_holder_also_where_the_client_has_another_error() -> None:
    subjects = [subject_of(node(n, rails=1), TODAY) for n in ("n1", "n2")]
    holder = "port 18515 is taken by /usr/bin/nc, pid 7, user eve"
    failed = [
        replace(r, stdout="", exit_status=1, stderr="Unable to read exchange data\n")
        if r.step.endswith("client")
        else replace(r, stdout="", exit_status=None, error=holder, error_code=GateReason.PORT_TAKEN)
        for r in meeting("n1", "n2", 0, 0, HEALTHY)
    ]
    found = results_of(subjects, failed)
    assert {(r.node, r.reason) for r in found} == {("n1", GateReason.PORT_TAKEN), ("n2", GateReason.PORT_TAKEN)}
    assert all(holder in r.detail and "end what holds the port" in r.hint for r in found)


def test_nodes_without_any_record_could_not_run() -> None:
    found = results_of([subject_of(node(n, rails=1), TODAY) for n in ("n1", "n2")], [])
    assert [(r.node, r.outcome, r.rule) for r in found] == [(n, Outcome.COULD_NOT_RUN, "complete") for n in ("n1", "n2")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (perftest(HEALTHY, size=65536), "ib_write_bw of 65536 bytes on mlx5_0"),
        (perftest(HEALTHY, device="mlx5_7"), "ib_write_bw of 8388608 bytes on mlx5_7"),
        (perftest(HEALTHY, title="RDMA_Read BW Test"), "ib_read_bw of 8388608 bytes on mlx5_0"),
        (perftest(HEALTHY, title="RDMA_Write Bidirectional BW Test"), "ib_write_bw_bidirectional of 8388608 bytes on mlx5_0"),
    ],
)
def test_a_run_of_another_size_device_or_operation_is_no_evidence(text: str, words: str) -> None:
    subjects = [subject_of(node(n, rails=1), TODAY) for n in ("n1", "n2")]
    found = results_of(subjects, [replace(r, stdout=text) for r in meeting("n1", "n2", 0, 0, HEALTHY)])
    assert {(r.outcome, r.reason) for r in found} == {(Outcome.COULD_NOT_RUN, GateReason.WRONG_RUN)}
    assert all(f"{words} was measured, which is not what is planned" in r.detail for r in found)


def test_each_rail_runs_on_its_own_gpu() -> None:
    steps = plan(
        nodes(
            2,
            rails=2,
            declared=gates(
                gates_levels={level: ["rdma_pair_gpu"] for level in LEVELS}, gates_baselines=[{**RDMA_FLOOR, "gate": "rdma_pair_gpu"}]
            ),
        ),
        ["rdma_pair_gpu"],
    ).steps
    words = [s.argv for s in steps["n1"]]
    assert {w[:3] for w in words} == {("env", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "ib_write_bw_cuda")}
    assert {(w[w.index("-d") + 1], next(x for x in w if x.startswith("--use_cuda"))) for w in words} == {
        ("mlx5_0", "--use_cuda=0"),
        ("mlx5_1", "--use_cuda=1"),
    }


def test_a_side_that_was_not_pinned_is_told() -> None:
    subjects = [subject_of(node(n, rails=1), TODAY) for n in ("n1", "n2")]
    why = "not pinned: the kernel knows no NUMA node of mlx5_0 (-1)"
    records = [replace(r, unpinned=True, placement=why) if r.node == "n2" else r for r in meeting("n1", "n2", 0, 0, HEALTHY)]
    found = {r.node: r for r in results_of(subjects, records)}
    assert {r.outcome for r in found.values()} == {Outcome.PASS}
    assert why in found["n2"].detail
    assert why not in found["n1"].detail
    slow = [replace(r, unpinned=True, placement=why) for r in meeting("n1", "n2", 0, 0, 200.0)]
    assert all(f"n1: {why}; n2: {why}" in r.detail for r in results_of(subjects, slow))


@pytest.mark.parametrize(("pin", "near"), [(True, {"mlx5_0", "mlx5_1"}), (False, {""})])
def test_each_side_is_pinned_near_its_own_hca(pin: bool, near: set[str]) -> None:
    declared = gates(gates_settings={"rdma_pair": {"pin": pin}})
    steps = plan(nodes(2, rails=2, declared=declared), ["rdma_pair"]).steps["n1"]
    assert {s.near for s in steps if s.gate == "rdma_pair"} == near
    assert all(s.near in ("", s.device) for s in steps)


def test_a_pair_with_a_node_in_use_is_not_measured_and_the_others_are() -> None:
    names = ["n1", "n2", "n3"]
    subjects = [subject_of(node(n, rails=1), TODAY) for n in names]
    records = [r for i, (a, b) in enumerate(combinations(names, 2)) for r in meeting(a, b, 0, i, 200.0 if "n2" in (a, b) else HEALTHY)]
    told: dict[str, Any] = {"error": "not alone on the node: pid 7 (train)", "error_code": GateReason.IN_USE, "exit_status": None}
    found = {r.node: r for r in results_of(subjects, [replace(r, **told) if r.node == "n2" else r for r in records])}
    assert (found["n2"].outcome, found["n2"].reason) == (Outcome.COULD_NOT_RUN, GateReason.IN_USE)
    assert "pid 7 (train)" in found["n2"].detail
    assert "gates_allowed_programs" in found["n2"].hint
    assert {found[n].outcome for n in ("n1", "n3")} == {Outcome.PASS}


def in_one_direction(one: str, other: str, number: int, slow: Sequence[str], gbps: float = 196.0) -> list[RawRecord]:
    """A meeting in which the nodes of `slow` are slow where they are the client, and send."""
    first = link(one, other, 0, number, gbps if one in slow else HEALTHY)
    return [*first, *link(other, one, 0, number, gbps if other in slow else HEALTHY, turn=2)]


@pytest.mark.parametrize(("order", "role"), [(("n1", "n2"), "client"), (("n2", "n1"), "client")])
def test_with_one_partner_a_fault_in_one_direction_is_seen_whichever_is_server_first(order: tuple[str, str], role: str) -> None:
    subjects = [subject_of(node("n1", rails=1), TODAY), subject_of(node("n2", rails=1), TODAY, partner=True)]
    (found,) = results_of(subjects, in_one_direction(*order, 0, ["n1"]))
    assert (found.outcome, found.value) == (Outcome.FAIL, 196.0)
    assert f"low only as {role}, the other direction is fine" in found.detail


def test_a_fault_in_the_receiving_direction_is_seen() -> None:
    subjects = [subject_of(node("n1", rails=1), TODAY), subject_of(node("n2", rails=1), TODAY, partner=True)]
    (found,) = results_of(subjects, in_one_direction("n1", "n2", 0, ["n2"]))
    assert found.outcome is Outcome.FAIL
    assert "low only as server, the other direction is fine" in found.detail
    both = results_of(subjects, in_one_direction("n1", "n2", 0, ["n1", "n2"]))
    assert "low only as" not in both[0].detail


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 8), BAD, st.randoms(use_true_random=False))
def test_whoever_is_slow_in_one_direction_is_condemned_and_nobody_else(count: int, bad: set[int], order: Any) -> None:
    names = [f"n{i}" for i in range(count)]
    slow = {f"n{i}" for i in bad if i < count}
    if count - len(slow) < 2:
        return
    subjects = [subject_of(node(n, rails=1), TODAY) for n in names]
    records = [r for i, (a, b) in enumerate(combinations(names, 2)) for r in in_one_direction(a, b, i, sorted(slow))]
    order.shuffle(records)
    found = results_of(subjects, records)
    assert {r.node for r in found if r.outcome is Outcome.FAIL} == slow
    assert {r.node for r in found if r.outcome is Outcome.PASS} == set(names) - slow


def test_a_partner_that_is_met_twice_is_one_partner() -> None:
    """Two directions with one other node are not two witnesses."""
    records = [*meeting("n1", "n2", 0, 0, 196.0), *meeting("n2", "n3", 0, 1, HEALTHY)]
    limited = gates(gates_settings={"rdma_pair": {"rounds": 2}})
    subjects = [subject_of(node(n, rails=1, declared=limited), TODAY) for n in ("n1", "n2", "n3")]
    found = {r.node: r.outcome for r in results_of(subjects, records)}
    assert found["n1"] is Outcome.COULD_NOT_RUN
    assert found["n3"] is Outcome.PASS


@pytest.mark.parametrize("turn", [1, 2])
def test_one_direction_without_records_is_no_evidence(turn: int) -> None:
    subjects = [subject_of(node(n, rails=1), TODAY) for n in ("n1", "n2")]
    kept = link("n1", "n2", 0, 0, HEALTHY) if turn == 1 else link("n2", "n1", 0, 0, HEALTHY, turn=2)
    found = results_of(subjects, kept)
    assert {(r.outcome, r.reason) for r in found} == {(Outcome.COULD_NOT_RUN, GateReason.NO_EVIDENCE)}
    assert all("no record of the other direction" in r.detail for r in found)


def test_records_of_a_plan_with_one_direction_are_judged_as_they_were() -> None:
    subjects = [subject_of(node(n, rails=1), TODAY) for n in ("n1", "n2")]
    old = [replace(r, step=r.step.replace(".turn1", "")) for r in link("n1", "n2", 0, 0, HEALTHY)]
    assert {r.outcome for r in results_of(subjects, old)} == {Outcome.PASS}
