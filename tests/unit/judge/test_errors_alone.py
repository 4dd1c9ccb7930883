"""Errors below every limit: of a device whose equals have none they are shown, of one among many that have some they are not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.judging.errors_alone import COMPARED, Counted, alone
from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from support.gates import TODAY, node, record, snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.gate_result import GateResult

PORTS = tuple(f"mlx5_{i}/1" for i in range(8))
NODES = ("n1", "n2", "n3")


def judged(
    errors: Mapping[tuple[str, str], int],
    counter: str = "port_rcv_errors",
    nodes: tuple[str, ...] = NODES,
    *,
    before: bool = False,
    more: tuple[str, ...] = (),
) -> list[GateResult]:
    """Three nodes with eight ports each, after five minutes of load; `errors`: (node, port) -> growth, or the count `before` the load, five minutes after the boot.

    `more`: other devices that have the counter.
    """
    subjects = [subject_of(node(n, rails=8, gpus=0, hardware_remapped_rows_max=512), TODAY) for n in nodes]
    runs = []
    for name in nodes:
        counted = [
            {p: {"link_downed": 0, counter: errors.get((name, p), 0) if late or before else 0} for p in (*PORTS, *more)}
            for late in (False, True)
        ]
        for step, minutes, counters in (("before", 5, counted[0]), ("after.nodes", 10, counted[1])):
            text = json.dumps(json.loads(snapshot(minutes, counters=counters)) | {"rates_gbps": dict.fromkeys(PORTS, 400.0)})
            runs.append(record("load_errors", name, text, step=step))
    return [r for r in judge(subjects, runs, level="quick", gates=["load_errors"]) if r.outcome is not Outcome.PASS]


def test_a_port_that_errs_alone_is_shown_and_holds_nobody() -> None:
    (found,) = judged({("n2", "mlx5_3/1"): 90})
    assert (found.node, found.device, found.metric) == ("n2", "mlx5_3/1", "port_rcv_errors")
    assert (found.outcome, found.rule, found.reason, found.value) == (Outcome.WARN, "peers", GateReason.ABOVE_PEERS, 90.0)
    assert found.expected == "<= 0, as of almost all of its 23 equals"
    assert found.hint.startswith("mlx5_3/1: reseat and clean the cable")


@pytest.mark.parametrize(
    ("errors", "shown"),
    [
        ({}, []),
        ({("n1", PORTS[0]): 90, ("n2", PORTS[0]): 90}, []),
        ({("n1", PORTS[0]): 90, ("n2", PORTS[0]): 9}, ["n1"]),
        ({("n1", PORTS[0]): 4}, []),
        ({("n1", PORTS[0]): 9}, []),
        ({("n1", PORTS[0]): 10}, ["n1"]),
        ({(n, p): 2 for n in NODES for p in PORTS} | {("n3", PORTS[1]): 19}, []),
        ({(n, p): 2 for n in NODES for p in PORTS} | {("n3", PORTS[1]): 20}, ["n3"]),
    ],
    ids=["none", "two_of_24", "ten_times_the_second", "four", "below_a_tenth", "a_tenth", "not_ten_times", "ten_times"],
)
def test_who_is_alone(errors: dict[tuple[str, str], int], shown: list[str]) -> None:
    assert [r.node for r in judged(errors)] == shown


def test_the_plane_that_a_port_has_its_errors_from_is_not_its_equal() -> None:
    planes = tuple(f"mlx5_{i}/plane 1" for i in range(8))
    (found,) = judged({("n2", "mlx5_3/1"): 90, ("n2", "mlx5_3/plane 1"): 90}, more=planes)
    assert (found.device, found.expected) == ("mlx5_3/1", "<= 0, as of almost all of its 23 equals")


def test_two_of_forty_ports_are_a_twentieth() -> None:
    nodes = (*NODES, "n4", "n5")
    assert [r.node for r in judged({("n1", PORTS[0]): 90, ("n4", PORTS[2]): 50}, nodes=nodes)] == ["n1", "n4"]


def test_above_its_limit_it_is_a_failure_once() -> None:
    (found,) = judged({("n2", "mlx5_3/1"): 101})
    assert (found.outcome, found.rule) == (Outcome.FAIL, "growth")


@pytest.mark.parametrize(
    ("counter", "count", "shown"),
    [
        ("aer_correctable", 5, True),
        ("aer_correctable", 4, False),
        ("remapped_rows", 52, True),
        ("remapped_rows", 51, False),
        ("ecc_sram_correctable", 9000, False),
        ("port_rcv_errors", 90, False),
        ("symbol_error", 90, False),
    ],
    ids=[
        "a_tenth_of_the_rate",
        "four",
        "a_tenth_of_the_declared_rows",
        "fewer_rows",
        "no_limit_declared",
        "no_rate",
        "a_link_that_trained",
    ],
)
def test_what_was_counted_before_the_load_is_compared_where_a_limit_holds_for_that_time(counter: str, count: int, shown: bool) -> None:
    found = judged({("n2", "mlx5_3/1"): count}, counter, before=True)
    assert [(r.node, r.outcome, r.found, r.detail) for r in found] == (
        [("n2", Outcome.WARN, str(count), "counted before the load, below its limit, and alone")] if shown else []
    )


def test_the_action_for_rows_of_the_past_is_none_for_rows_of_the_load() -> None:
    (found,) = judged({("n2", "mlx5_3/1"): 100}, "remapped_rows", before=True)
    (raised,) = judged({("n2", "mlx5_3/1"): 100}, "remapped_rows")
    assert "plan its replacement" in found.hint
    assert (raised.outcome, "plan its replacement" in raised.hint) == (Outcome.FAIL, False)


def test_what_congestion_raises_is_not_compared() -> None:
    assert judged({("n2", "mlx5_3/1"): 900}, "port_xmit_discards") == []


def test_eight_ports_are_not_a_distribution() -> None:
    assert judged({("n1", PORTS[0]): 90}, nodes=("n1",)) == []


@given(
    st.dictionaries(st.integers(0, 40), st.integers(0, 1000), min_size=1, max_size=40),
    st.sampled_from(sorted(COMPARED)),
    st.one_of(st.none(), st.floats(0, 10_000)),
)
def test_never_more_than_a_twentieth_and_one_are_alone(values: dict[int, int], counter: str, limit: float | None) -> None:
    grown = {f"n{i}": {(f"d{i}", counter): Counted(value, limit)} for i, value in values.items()}
    found = list(alone(grown, dict.fromkeys(grown, "H100")))
    assert len(found) <= max(1, len(values) // 20)
    assert all(one.counted.amount >= max(5, 10 * one.most) for one in found)
