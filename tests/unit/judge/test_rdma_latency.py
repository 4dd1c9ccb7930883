"""rdma_latency: an upper limit, two of three, and peers whose messages go as far."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.planning.gate_plan import plan_again, plan_gates
from clusterctl.core.gates.planning.step import ServerPlace
from clusterctl.core.gates.rdma_latency import GATE
from clusterctl.core.parsers import parse_output
from clusterctl.model.errors import GatesInvalidError
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl.model.level import LEVELS
from clusterctl.model.node import Place
from support.gates import CASES, TODAY, gates, node, perftest, record
from support.latency import UPPER_LIMIT, latency_meeting, latency_output, latency_run, latency_subject
from support.plain_yaml import load_yaml
from support.recorded import recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clusterctl.core.gates.planning.step import GateStep
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import GateResult, RawRecord

EXAMPLES = load_yaml((CASES / "judge_rdma_latency" / "cases.yml").read_text(encoding="utf-8"))
GOOD = latency_output(2.8)
# As perftest prints them: without a median (-D), and what ends it before it measures.
RULE = "-" * 87
AVERAGE = f"{RULE}\n RDMA_Write Latency Test\n Device         : mlx5_0\n{RULE}\n #bytes        #iterations       t_avg[usec]    tps average\n 2       535714            2.80        178571.43\n{RULE}\n"
TEXTS: dict[str, dict[str, Any]] = {
    "port_down": {"stdout": "", "stderr": " Port number 1 state is Down\n", "exit_status": 1},
    "usage": {"stdout": "", "stderr": " Invalid Command or flag.\n", "exit_status": 1},
    "cut_off": {"stdout": GOOD.rpartition(RULE)[0]},
    "average": {"stdout": AVERAGE},
    "bandwidth": {"stdout": perftest(392.0)},
    "large": {"stdout": latency_output(2.8, size=8388608)},
    "sent": {"stdout": latency_output(2.8, title="Send Latency Test")},
}


def judged(subjects: Sequence[Subject], records: Sequence[RawRecord]) -> dict[str, GateResult]:
    return {r.node: r for r in judge(subjects, records, level="standard", gates=["rdma_latency"])}


def meetings_of(entries: Sequence[list[Any]], stage: str) -> list[RawRecord]:
    records: list[RawRecord] = []
    for number, (one, other, found) in enumerate(entries):
        us, how = (found, {}) if isinstance(found, float) else (2.8, TEXTS.get(found))
        if how is None:
            code, _, why = found.partition(": ")
            how = {"stdout": "", "error": why, "error_code": GateReason(code), "exit_status": None}
        records += latency_meeting(one, other, f"{stage}{number}", us, **how)
    return records


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case["name"].replace(" ", "_"))
def test_case(case: dict[str, Any]) -> None:
    entries = [*case["meetings"], *case.get("again", ())]
    names = sorted({name for entry in entries for name in entry[:2]})
    subjects = [latency_subject(name, partner=name in case.get("partners", ()), rounds=1) for name in names]
    found = judged(subjects, [*meetings_of(case["meetings"], "round"), *meetings_of(case.get("again", ()), "again")])
    wanted = {name: case["expect"].get(name, case["expect"].get("rest")) for name in found}
    assert {name: f"{r.outcome.value} {r.rule} {r.reason or '-'}" for name, r in found.items()} == wanted
    for name, part in case.get("says", {}).items():
        assert part in f"{found[name].detail}\n{found[name].hint}"
    assert all(bool(r.hint) == (r.outcome is not Outcome.PASS) for r in found.values())
    assert all((r.limit, r.unit, r.op) == (5.0, "us", "ib_write_lat") for r in found.values() if r.value is not None)


def test_a_recording_of_ndr_is_within_the_limit_with_its_99_percent() -> None:
    text = recorded("perftest/cx7-ndr400-ib_send_lat.txt").read_text()
    assert {s.metric: s.value for s in parse_output("perftest", text)}["latency_typical"] == 1.27
    subjects = [latency_subject(name, test="ib_send_lat") for name in ("n1", "n2")]
    found = judged(subjects, latency_meeting("n1", "n2", "round0", 0.0, stdout=text))
    assert {(r.outcome, r.value, r.best) for r in found.values()} == {(Outcome.PASS, 1.27, 1.27)}
    assert "99 % within 1.37 us" in found["n1"].detail
    slow = recorded("_from-recipes/softroce/ib_send_lat.client.txt").read_text()
    soft = [latency_subject(name, test="ib_send_lat", size_bytes=64) for name in ("n1", "n2")]
    records = [replace(r, device="rxe0", peer_device="rxe0") for r in latency_meeting("n1", "n2", "round0", 0.0, stdout=slow)]
    rxe = [replace(s, hcas=tuple(replace(h, name="rxe0") for h in s.hcas)) for s in soft]
    assert {(r.outcome, r.value) for r in judged(rxe, records).values()} == {(Outcome.COULD_NOT_RUN, 630.11)}


def test_the_worse_direction_counts_and_is_named() -> None:
    records = [*latency_run("n1", "n2", "round0", 1, 2.8), *latency_run("n2", "n1", "round0", 2, 6.0)]
    found = judged([latency_subject(n) for n in ("n1", "n2")], records)
    assert (found["n1"].value, found["n2"].value) == (6.0, 6.0)
    assert "high only as server" in found["n1"].detail
    assert "high only as client" in found["n2"].detail


def test_of_two_upper_limits_at_an_end_the_lower_counts_and_of_two_ends_the_higher() -> None:
    def subject(name: str, *values: float) -> Subject:
        limits = [{**UPPER_LIMIT, "value": value} for value in values]
        levels = {level: ["rdma_latency"] for level in LEVELS}
        plain = latency_subject(name)
        profile = profile_of(node(name, rails=1, declared=gates(gates_levels=levels, gates_baselines=limits)), TODAY)
        return replace(plain, profile=profile)

    found = judged([subject("n1", 5.0, 3.0), subject("n2", 9.0, 4.0)], latency_meeting("n1", "n2", "round0", 4.5))
    assert {r.limit for r in found.values()} == {4.0}
    assert {r.outcome for r in found.values()} == {Outcome.COULD_NOT_RUN}


LEAF = [Place(leaf="leaf0", su="su0")] * 12


def ring(values: Sequence[float], places: Sequence[Place]) -> dict[str, GateResult]:
    """Nodes two by two, each pair with a median of its own, in two rounds with the same partner."""
    names = [f"n{i}" for i in range(2 * len(values))]
    subjects = [latency_subject(name, place=places[i // 2]) for i, name in enumerate(names)]
    pairs = [(names[2 * i], names[2 * i + 1], us) for i, us in enumerate(values)]
    return judged(subjects, [r for n in (0, 1) for one, other, us in pairs for r in latency_meeting(one, other, f"round{n}", us)])


def test_within_the_limit_and_far_above_its_peers_fails() -> None:
    found = ring([2.80, 2.82, 2.78, 2.81, 2.79, 2.80, 3.9, 3.3], LEAF)
    bad = {name: (r.outcome, r.rule, r.reason, r.value) for name, r in found.items() if r.outcome is not Outcome.PASS}
    fails, warns = ((Outcome.FAIL, Outcome.WARN)[i] for i in (0, 1))
    assert bad == {
        **dict.fromkeys(("n12", "n13"), (fails, "upper_peers", GateReason.ABOVE_PEERS, 3.9)),
        **dict.fromkeys(("n14", "n15"), (warns, "upper_peers", GateReason.ABOVE_PEERS, 3.3)),
    }
    assert "39.0 % above the median of its 16 peers, 2.80 us" in found["n12"].detail


def test_faster_than_its_peers_is_no_fault() -> None:
    found = ring([2.80, 2.82, 2.78, 2.81, 2.79, 2.80, 1.4], LEAF)
    assert {r.outcome for r in found.values()} == {Outcome.PASS}


def test_one_measurement_far_above_its_peers_is_a_warning() -> None:
    values = [2.80, 2.82, 2.78, 2.81, 2.79, 2.80, 3.9]
    subjects = [latency_subject(f"n{i}", place=LEAF[0]) for i in range(14)]
    found = judged(subjects, [r for i, us in enumerate(values) for r in latency_meeting(f"n{2 * i}", f"n{2 * i + 1}", "round0", us)])
    assert {name for name, r in found.items() if r.outcome is not Outcome.PASS} == {"n12", "n13"}
    assert (found["n12"].outcome, found["n12"].reason) == (Outcome.WARN, GateReason.ABOVE_PEERS)
    assert "one measurement of three fails nobody" in found["n12"].detail


def test_a_pair_whose_messages_cross_more_switches_has_other_peers() -> None:
    """OCI reads 2.8 us in a block and 5.1 us across two; a node that met nobody in its leaf is not a slow node."""
    names = [f"n{i}" for i in range(16)]
    places = [Place(leaf="leaf0", su="su0")] * 13 + [Place(leaf=f"leaf{i}", su="su0") for i in (1, 2, 3)]
    subjects = [latency_subject(name, place=place) for name, place in zip(names, places, strict=True)]
    near = [r for n in (0, 1) for i in range(0, 12, 2) for r in latency_meeting(names[i], names[i + 1], f"round{n}", 2.8)]
    far = [r for n in (0, 1) for one, other in (("n12", "n13"), ("n14", "n15")) for r in latency_meeting(one, other, f"round{n}", 4.9)]
    found = judged(subjects, [*near, *far])
    assert {r.outcome for r in found.values()} == {Outcome.PASS}
    assert "judged by its upper limit only: 4 of its class were measured" in found["n12"].detail


@pytest.mark.parametrize("kind", ["floor", "ceiling", "expected"])
def test_nothing_but_an_upper_limit_limits_it(kind: str) -> None:
    levels = {level: ["rdma_latency"] for level in LEVELS}
    with pytest.raises(GatesInvalidError, match="upper_limit alone limits them"):
        profile_of(node("n1", declared=gates(gates_levels=levels, gates_baselines=[{**UPPER_LIMIT, "kind": kind}])), TODAY)


def test_a_profile_without_an_upper_limit_is_refused() -> None:
    with pytest.raises(GatesInvalidError, match="no upper limit for rdma_latency"):
        profile_of(node("n1", declared=gates(gates_levels={level: ["rdma_latency"] for level in LEVELS}, gates_baselines=[])), TODAY)


def test_a_bandwidth_gate_is_not_covered_by_an_upper_limit() -> None:
    levels = {level: ["rdma_pair"] for level in LEVELS}
    entry = {**UPPER_LIMIT, "gate": "rdma_pair"}
    with pytest.raises(GatesInvalidError, match="no floor for rdma_pair"):
        profile_of(node("n1", declared=gates(gates_levels=levels, gates_baselines=[entry])), TODAY)


def test_messages_that_do_not_fit_into_the_request_are_refused() -> None:
    with pytest.raises(GatesInvalidError, match="size_bytes"):
        latency_subject("n1", size_bytes=4096)


def test_it_asks_for_messages_and_not_for_seconds() -> None:
    subject = latency_subject("n1", gid_index=3, traffic_class=106)
    words = {
        level: GATE.argv(subject.profile.settings_of(GATE), level, subject.hcas[0], ServerPlace("10.0.0.2", 30515)) for level in LEVELS
    }
    assert " ".join(words["quick"]) == "ib_write_lat -d mlx5_0 -p 30515 -s 2 -n 10000 -F -x 3 --tclass 106 10.0.0.2"
    assert "1000000" in words["full"]


def night(subjects: Sequence[Subject], us: Callable[[str, str, bool], float]) -> tuple[dict[str, GateResult], set[frozenset[str]]]:
    """Both stages as they are planned, and the meetings of the second; `us`: from both nodes, and whether it is the second stage."""
    first = plan_gates(subjects, "standard", ["rdma_latency"], seed="a")
    records = [_planned(name, step, us(name, step.peer, False)) for name, own in first.steps.items() for step in own]
    second = plan_again(subjects, records, "standard", ["rdma_latency"], seed="a")
    records += [_planned(name, step, us(name, step.peer, True)) for name, own in second.steps.items() for step in own]
    return judged(subjects, records), {frozenset((name, step.peer)) for name, own in second.steps.items() for step in own}


def _planned(name: str, step: GateStep, us: float) -> RawRecord:
    fields = {"argv": step.argv, "device": step.device, "peer": step.peer, "peer_device": step.peer_device, "tool": step.tool}
    return record(step.gate, name, latency_output(us, device=step.device), step=step.name, **fields)


def test_a_node_that_is_always_slow_is_measured_again_with_two_others_and_fails() -> None:
    subjects = [latency_subject(f"n{i}", rounds=1) for i in range(1, 9)]
    found, again = night(subjects, lambda one, other, _: 6.1 if "n3" in (one, other) else 2.8)
    assert {name for name, r in found.items() if r.outcome is Outcome.FAIL} == {"n3"}
    assert {r.outcome for name, r in found.items() if name != "n3"} == {Outcome.PASS}
    assert sum("n3" in pair for pair in again) == 2
    assert "measured 3 times" in found["n3"].detail


def test_a_node_that_was_slow_once_is_a_warning() -> None:
    subjects = [latency_subject(f"n{i}", rounds=1) for i in range(1, 9)]
    found, _again = night(subjects, lambda one, other, second: 6.1 if "n3" in (one, other) and not second else 2.8)
    assert (found["n3"].outcome, found["n3"].reason) == (Outcome.WARN, GateReason.COLLISION)
    assert Outcome.FAIL not in {r.outcome for r in found.values()}


@pytest.mark.parametrize(("again_us", "outcome"), [(6.1, Outcome.FAIL), (2.8, Outcome.WARN)])
def test_a_node_beside_a_known_good_one_is_measured_with_it_twice(again_us: float, outcome: Outcome) -> None:
    subjects = [latency_subject("n1"), latency_subject("n2", partner=True)]
    found, again = night(subjects, lambda _one, _other, second: again_us if second else 6.1)
    assert again == {frozenset(("n1", "n2"))}
    assert {name: r.outcome for name, r in found.items()} == {"n1": outcome}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(1.0, 20.0), min_size=3, max_size=3))
def test_three_measurements_fail_where_two_of_them_are_high(us: list[float]) -> None:
    names = ("n1", "n2", "n3", "n4", "n5")
    first = [*latency_meeting("n1", "n2", "round0", us[0]), *latency_meeting("n3", "n4", "round0", 2.8)]
    good = [*latency_meeting("n2", "n5", "round1", 2.8), *latency_meeting("n2", "n4", "round2", 2.8)]
    again = [*latency_meeting("n1", "n3", "again3", us[1]), *latency_meeting("n1", "n4", "again4", us[2])]
    found = judged([latency_subject(name) for name in names], [*first, *good, *again])["n1"]
    high = sum(value > 5.0 for value in us)
    assert found.outcome is (Outcome.FAIL if high >= 2 else Outcome.WARN if high else Outcome.PASS)
