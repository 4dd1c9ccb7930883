"""Each device of a node against its own earlier runs: a fault shows in a GPU that is still faster than others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.judging.own_history import usual_values, with_repeats
from clusterctl.core.gates.planning.gate_plan import plan_again
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import DeviceValue, GateResult, Outcome
from clusterctl.model.level import LEVELS
from clusterctl.model.own_history import PastResult
from clusterctl.model.part import Part, PartRow
from clusterctl_tools.ubergemm import load_argv
from support.gates import TODAY, gates, node, record
from support.nvme import node_output, nvme_record
from support.traced_loads import traced

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.model.gate_result import RawRecord
    from clusterctl.model.own_history import HistoryKey

# Good GPUs of one node, as different as binning makes them.
RATES = (1745, 1690, 1800, 1712, 1766, 1650, 1781, 1733)
LEVEL_GATES = {level: ["gpu_stress"] for level in LEVELS}
TRAY = subject_of(node("n1", gpus=8, declared=gates(gates_levels=LEVEL_GATES, gates_baselines=[])), TODAY)


def under_load(slow: Mapping[int, float] | None = None, *, again: bool = False) -> list[RawRecord]:
    """All GPUs at their usual rates, some at a share of theirs."""
    before = "again." if again else ""
    found = [replace(traced({"gpus": 8}, step=f"{before}trace"), argv=("sleep", "90"))]
    for gpu, usual in enumerate(RATES):
        rate = f"GFlops:{1000 * usual * (slow or {}).get(gpu, 1.0):.5e} GFlops\n"
        text, argv = f"{rate}starting....\n{rate}", tuple(load_argv(gpu, 90))
        found.append(
            record("gpu_stress", "n1", text, step=f"{before}gpu{gpu}", device=f"gpu{gpu}", tool="ubergemm", argv=argv, duration_s=97.0)
        )
    return [replace(r, simulated=True) for r in found]


def judged(records: Sequence[RawRecord], usual: Mapping[HistoryKey, float] | None = None) -> list[GateResult]:
    found = judge([TRAY], records, level="standard", gates=["gpu_stress"], usual=usual)
    return [r for r in found if r.metric == "gemm_per_clock"]


def past(runs: int = 5) -> list[PastResult]:
    return [PastResult(r, f"r{i}", f"2026-01-{i + 1:02}") for i in range(runs) for r in judged(under_load())]


def low(results: Sequence[GateResult]) -> set[str]:
    return {r.device for r in results if r.reason is GateReason.BELOW_HISTORY}


def test_a_gpu_that_got_slower_is_named_though_others_are_slower_still() -> None:
    found = judged(under_load({6: 0.96}), usual_values(past()))
    assert low(found) == {"gpu6"}
    (warned,) = (r for r in found if r.outcome is Outcome.WARN)
    assert warned.rule == "history"
    assert warned.value == pytest.approx(1000 * 1781 * 0.96 / 1485)
    assert "4.0 % below its own average of the last 5 runs" in warned.detail
    assert [r.value for r in found if r.outcome is Outcome.PASS] == [pytest.approx(1000 * 1650 / 1485)]
    assert low(judged(under_load({6: 0.975}), usual_values(past()))) == set()
    assert low(judged(under_load({6: 0.96}), usual_values(past(4)))) == set()


@pytest.mark.parametrize("outcome", [(0.93, Outcome.WARN), (0.85, Outcome.FAIL)], ids=["warns", "fails"])
def test_the_others_keep_their_history_where_a_gpu_is_low_among_them(outcome: tuple[float, Outcome]) -> None:
    share, expected = outcome
    results = judged(under_load({5: share}))
    assert {r.device: r.outcome for r in results if r.reason} == {"gpu5": expected}
    (others,) = (r for r in results if r.outcome is Outcome.PASS)
    assert [one.device for one in others.by_device] == [f"gpu{i}" for i in range(8) if i != 5]
    assert "the other 7" in others.detail
    nights = [PastResult(r, f"r{i}", f"2026-01-{i + 1:02}") for i in range(5) for r in results]
    found = judged(under_load({5: share, 6: 0.96}), usual_values(nights))
    assert low(found) == {"gpu6"}
    assert {r.device for r in found if r.outcome is expected} >= {"gpu5"}


def test_every_gpu_that_got_slower_is_named() -> None:
    assert low(judged(under_load({2: 0.95, 5: 0.96}), usual_values(past()))) == {"gpu2", "gpu5"}


@pytest.mark.parametrize(("again", "names"), [({6: 0.99}, set()), ({6: 0.955}, {"gpu6"}), ({2: 0.95}, set())])
def test_the_load_is_repeated_once(again: dict[int, float], names: set[str]) -> None:
    usual = usual_values(past())
    first = under_load({6: 0.96})
    planned = plan_again([TRAY], first, "standard", ["gpu_stress"], seed="r", usual=usual)
    assert [s.name for s in planned.steps["n1"]] == ["again.trace", *(f"again.gpu{i}" for i in range(8))]
    found = judged([*first, *under_load(again, again=True)], usual)
    assert low(found) == names
    assert all("also when it was repeated" in r.detail for r in found if r.reason is GateReason.BELOW_HISTORY)


def test_a_repeat_without_a_figure_is_no_second_measurement() -> None:
    ended = [replace(r, exit_status=1, stdout="") for r in under_load(again=True)]
    (warned,) = (r for r in judged([*under_load({6: 0.96}), *ended], usual_values(past())) if r.reason is GateReason.BELOW_HISTORY)
    assert "the repeat gave no figure" in warned.detail


def test_healthy_gpus_are_not_repeated() -> None:
    assert plan_again([TRAY], under_load({6: 0.98}), "standard", ["gpu_stress"], seed="r", usual=usual_values(past())).busy == ()


def replaced(kind: str, name: str) -> list[PartRow]:
    blank = PartRow("n1", Part(kind, "0000:18:00.0", name, "", "A"), "r0", "2025-01-01", "2026-01-03", "r9")
    return [blank, replace(blank, part=replace(blank.part, serial="B"), first_run="r9", first_seen="2026-01-09", ended_run="")]


@pytest.mark.parametrize(
    ("part", "names"),
    [
        (("gpu", "GPU 6"), {"gpu2"}),
        (("gpu", "GPU 1"), {"gpu2", "gpu6"}),
        (("dimm", "DIMM_A1"), set()),
        (("nic", "mlx5_0"), {"gpu2", "gpu6"}),
    ],
)
def test_a_new_gpu_begins_its_own_history_only(part: tuple[str, str], names: set[str]) -> None:
    assert low(judged(under_load({2: 0.96, 6: 0.96}), usual_values(past(), replaced(*part)))) == names


def test_a_node_whose_devices_have_no_history_yet_is_compared_as_a_whole() -> None:
    """As after an upgrade: earlier results have the worst value only."""
    before = [replace(p, result=replace(p.result, by_device=())) for p in past()]
    found = judged(under_load(dict.fromkeys(range(8), 0.95)), usual_values(before))
    assert [(r.outcome, r.device) for r in found] == [(Outcome.WARN, "")]


def disks_read(slow: dict[int, float] | None = None, step: str = "solo") -> RawRecord:
    """Eight disks of one model, nvme1n1 the slowest of them from the beginning."""
    rates = {i: {"gbps": 6.8} for i in range(8)} | {1: {"gbps": 6.63}} | {i: {"gbps": gbps} for i, gbps in (slow or {}).items()}
    return nvme_record("n1", node_output(8, rates), step=step)


def test_a_disk_that_got_slower_is_named_after_two_repeats() -> None:
    declared = gates(gates_levels={level: ["nvme_fio"] for level in LEVELS}, gates_baselines=[])
    one_node = subject_of(node("n1", declared=declared), TODAY)

    def found(*records: RawRecord, usual: Mapping[HistoryKey, float] | None = None) -> tuple[GateResult, ...]:
        return judge([one_node], records, level="standard", gates=["nvme_fio"], usual=usual)

    usual = usual_values([PastResult(r, f"r{i}", f"2026-01-{i + 1:02}") for i in range(5) for r in found(disks_read())])
    slow, healthy = disks_read({4: 6.58}), [disks_read(step=f"again.{i}") for i in (1, 2)]
    planned = plan_again([one_node], [slow], "standard", ["nvme_fio"], seed="r", usual=usual)
    assert [s.name for s in planned.steps["n1"]] == ["again.1", "again.2"]
    still = [disks_read({4: 6.57}, f"again.{i}") for i in (1, 2)]
    assert [(r.outcome, r.device) for r in found(slow, *still, usual=usual) if r.reason] == [(Outcome.WARN, "nvme4n1")]
    assert [r for r in found(slow, still[0], healthy[1], usual=usual) if r.reason] == []
    beside = [disks_read({4: 6.57, 6: 6.1}, step) for step in ("solo", "again.1", "again.2")]
    assert {r.device: (r.outcome, r.rule) for r in found(*beside, usual=usual) if r.reason} == {
        "nvme4n1": (Outcome.WARN, "history"),
        "nvme6n1": (Outcome.FAIL, "peers"),
    }


RATE = st.floats(400, 500)
EACH = st.dictionaries(st.sampled_from(["gpu0", "gpu1", "gpu2"]), RATE, min_size=1)


def one(values: Mapping[str, float]) -> GateResult:
    each = tuple(DeviceValue(*item) for item in sorted(values.items()))
    return GateResult("gpu_stress", "n1", Outcome.PASS, "rate", "gemm_per_clock", value=min(values.values()), by_device=each)


@given(EACH, EACH)
def test_of_two_measurements_each_device_keeps_its_better_value(first: dict[str, float], again: dict[str, float]) -> None:
    (merged,) = with_repeats([one(first)], [one(again)])
    assert merged.value == max(min(first.values()), min(again.values()))
    assert {one.device: one.value for one in merged.by_device} == {
        name: max(v for v in (first.get(name), again.get(name)) if v is not None) for name in {**first, **again}
    }
