"""gpu_stress: rate and clock of GPUs under load, judged among their peers; and what must not count."""

from __future__ import annotations

from dataclasses import replace
from statistics import median_high
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.gpu_stress import GATE, GpuStress
from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.planning.gate_plan import plan_again
from clusterctl.core.gates.subject import subject_of
from clusterctl.core.parsers import UnparsableError, parse_output
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord
from clusterctl.model.level import LEVELS
from clusterctl.model.trace_sample import TraceSample
from clusterctl_tools import nvidia_smi, ubergemm
from clusterctl_tools.gpu import UnreadableGpuError
from support.gates import CASES, SOURCE, TODAY, gates, node, plan, record
from support.plain_yaml import load_yaml
from support.recorded import recorded

if TYPE_CHECKING:
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.node import Node
    from clusterctl_tools.gpu import GpuUnderLoad

EXAMPLES = load_yaml((CASES / "judge_gpu_stress" / "cases.yml").read_text(encoding="utf-8"))
FLOOR = {"gate": "gpu_stress", "metric": "gemm", "kind": "floor", "value": 715.0, "unit": "TFLOPS", **SOURCE}
SILENT = (Outcome.PASS, Outcome.NOT_APPLICABLE)
POWER_CAP = "0x0000000000000004"


def output(rate_gflops: float) -> str:
    return f"GFlops:{rate_gflops * 0.9:.5e} GFlops\nstarting....\nGFlops:{rate_gflops:.5e} GFlops\nGFlops:{rate_gflops:.5e} GFlops\n"


def row(
    gpu: int, clock_mhz: float = 1485, margin_c: object = 20, reasons: str = POWER_CAP, limit_w: object = "700.00", power_w: object = ""
) -> str:
    memory = "N/A" if margin_c == "N/A" else "84"
    power = power_w or ("693.50" if limit_w == "N/A" else f"{0.99 * float(str(limit_w)):.2f}")
    return f"{gpu}, 00000000:{gpu + 16:02X}:00.0, {clock_mhz}, {power}, {limit_w}, 66, {margin_c}, {memory}, {reasons}"


def declared(*, floor: bool = True, **settings: Any) -> dict[str, Any]:
    levels = {level: ["gpu_stress"] for level in LEVELS}
    return gates(gates_levels=levels, gates_baselines=[FLOOR] if floor else [], gates_settings={"gpu_stress": settings})


def records(name: str, case: dict[str, Any], slow: dict[int, dict[str, Any]]) -> list[RawRecord]:
    rates: Any = case.get("rate_gflops", 769000)
    common: dict[str, Any] = {key: case[key] for key in ("margin_c", "reasons", "limit_w", "clock_mhz") if key in case}
    rows, loads = [], []
    for gpu in range(case["gpus"]):
        own: dict[str, Any] = {
            "rate_gflops": rates[gpu] if isinstance(rates, list) else rates * (1 + 0.002 * gpu),
            **common,
            **slow.get(gpu, {}),
        }
        rows.append(row(gpu, **{key: own[key] for key in ("clock_mhz", "margin_c", "reasons", "limit_w", "power_w") if key in own}))
        if gpu not in case.get("without", []):
            load = record("gpu_stress", name, output(own["rate_gflops"]), step=f"gpu{gpu}", device=f"gpu{gpu}", tool="ubergemm")
            argv = tuple(ubergemm.load_argv(gpu, 90))
            loads.append(replace(load, argv=argv, duration_s=float(case.get("ended_s", {}).get(gpu, 97))))
    text = "\n".join(rows) + "\n"
    trace = [TraceSample(5.0 * i, 0.2, 0, text) for i in range(case.get("samples", 20))]
    at_rest = "\n".join(row(gpu, clock_mhz=345, reasons="0x0000000000000001") for gpu in range(case["gpus"]))
    for i in case.get("idle", []):
        trace[i] = replace(trace[i], stdout=at_rest)
    if "took_s" in case:
        trace[5] = replace(trace[5], took_s=float(case["took_s"]))
    if case.get("never"):
        trace[5] = TraceSample(25.0, 30.0, None, "")
    for gpu, seconds in case.get("alone_s", {}).items():
        late = seconds >= 30
        trace.append(TraceSample(26.0, float(seconds), None if late else 0, "" if late else row(gpu), device=f"gpu{gpu}"))
    if "answer" in case:
        trace[5] = TraceSample(25.0, 0.2, case.get("answer_status", 15), case["answer"])
    if case.get("missing"):
        trace = [TraceSample(sample.at_s, 0.0, None, "nvidia-smi: No such file or directory") for sample in trace]
    whole = {"argv": ("sleep", "120"), "duration_s": float(case.get("trace_s", 100)), "trace": tuple(trace)}
    return [*loads, record("gpu_stress", name, "", step="trace", tool="ubergemm", **whole)]


def with_limit(one: Node, declared_w: int) -> Node:
    hardware = {**one.spec.roles["hardware"], "hardware_gpu_power_limit_w": declared_w}
    return replace(one, spec=replace(one.spec, roles={**one.spec.roles, "hardware": hardware}))


def judged(case: dict[str, Any]) -> tuple[GateResult, ...]:
    names = [f"n{i}" for i in range(1, case.get("nodes", 1) + 1)]
    nodes = [node(name, gpus=case["gpus"], declared=declared(floor=case.get("floor", True))) for name in names]
    subjects = [subject_of(n if n.name != "n1" else with_limit(n, case.get("declared_w", 0)), TODAY) for n in nodes]
    first = case | case.get("first", {})
    runs = [r for name in names for r in records(name, *((first, case.get("slow", {})) if name == "n1" else (case, {})))]
    return judge(subjects, runs, level="standard", gates=["gpu_stress"])


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda c: c["name"])
def test_case(case: dict[str, Any]) -> None:
    results = judged(case)
    found = [f"{r.outcome.value} {r.rule} {r.device or '-'} {r.reason}" for r in results if r.node == "n1" and r.outcome not in SILENT]
    assert sorted(found) == sorted(case["results"])
    assert {r.node for r in results if r.outcome not in SILENT} <= {"n1"}
    assert all(r.hint for r in results if r.outcome not in SILENT)
    assert any(r.node == "n1" for r in results)


@pytest.mark.parametrize(
    ("reasons", "metric", "first"),
    [("0x88", "power_brake", "power supplies"), ("0x48", "clock", "fans"), ("0xc8", "clock", "fans"), ("0x6", "clock_setting", "-rgc")],
)
def test_a_power_brake_and_a_lock_are_not_heat(reasons: str, metric: str, first: str) -> None:
    found = [r for r in judged({"gpus": 8, "slow": {6: {"reasons": f"0x{int(reasons, 16):016x}"}}}) if r.outcome is not Outcome.PASS]
    assert [(r.rule, r.device, r.metric) for r in found] == [("slowdown", "gpu6", metric)]
    named = [word for word in ("power supplies", "fans", "-rgc") if word in found[0].hint]
    assert min(named, key=found[0].hint.index) == first


def test_a_low_power_limit_is_named_with_the_command_that_sets_it_back() -> None:
    slow = {5: {"limit_w": 500, "clock_mhz": 1150, "rate_gflops": 596000}}
    (low,) = [r for r in judged({"gpus": 8, "floor": False, "slow": slow}) if r.outcome not in SILENT]
    assert (low.rule, low.device, low.reason, low.value, low.limit, low.unit) == (
        "power_limit", "gpu5", GateReason.POWER_LIMIT_LOW, 500.0, 700.0, "W",
    )  # fmt: skip
    assert (low.expected, low.found) == ("700 W", "500 W")
    assert low.hint.startswith("set the power limit of gpu5 back on n1 (`nvidia-smi -i 5 -pl 700`)")
    order = [low.hint.index(word) for word in ("nvidia-smi -i 5", "reboot the node", "power shelf", "clusterctl burnin n1")]
    assert order == sorted(order)
    assert "fans" not in low.hint
    assert "1150 MHz" in low.detail


@given(st.lists(st.sampled_from([400, 500, 693, 700]), min_size=4, max_size=8), st.booleans())
def test_what_has_the_limit_of_most_gpus_of_its_node_is_never_low(limits: list[int], lowered: bool) -> None:
    clocks = [1485 * watts // 700 if lowered else 1485 for watts in limits]
    slow = {gpu: {"limit_w": limits[gpu], "clock_mhz": clock, "rate_gflops": 500 * clock} for gpu, clock in enumerate(clocks)}
    found = judged({"gpus": len(limits), "floor": False, "slow": slow})
    usual = median_high(limits)
    low = {f"gpu{gpu}" for gpu, watts in enumerate(limits) if watts < 0.98 * usual}
    assert {r.device for r in found if r.reason is GateReason.POWER_LIMIT_LOW} == low
    assert not [r for r in found if r.rule == "clock" and r.device in low and lowered]
    assert lowered or not [r for r in found if r.outcome is Outcome.FAIL]


def test_a_program_that_is_missing_is_one_result_of_the_node() -> None:
    case = {"gpus": 8}
    missing = {"exit_status": None, "error": "ubergemm: not installed", "error_code": GateReason.NOT_INSTALLED, "stdout": ""}
    runs = [r if r.step == "trace" else replace(r, **missing) for r in records("n1", case, {})]  # type: ignore[arg-type]
    (result,) = judge([subject_of(node("n1", declared=declared()), TODAY)], runs, level="standard", gates=["gpu_stress"])
    assert (result.outcome, result.reason, result.device) == (Outcome.COULD_NOT_RUN, GateReason.NOT_INSTALLED, "")
    assert "gpu_tools" in result.hint


def test_a_gpu_on_which_it_failed_does_not_spoil_the_others() -> None:
    runs = [
        replace(r, exit_status=1, stdout="", stderr="CUDA error 719") if r.step == "gpu3" else r for r in records("n1", {"gpus": 8}, {})
    ]
    results = judge([subject_of(node("n1", declared=declared()), TODAY)], runs, level="standard", gates=["gpu_stress"])
    bad = [r for r in results if r.outcome is not Outcome.PASS]
    assert [(r.outcome, r.device, r.reason) for r in bad] == [(Outcome.COULD_NOT_RUN, "gpu3", GateReason.EXIT_STATUS)]
    assert "CUDA error 719" in bad[0].detail


def test_who_was_not_alone_did_not_measure() -> None:
    shared = {"exit_status": None, "error": "not alone on the node: python3", "error_code": GateReason.IN_USE}
    runs = [replace(r, **shared) for r in records("n1", {"gpus": 8}, {})]  # type: ignore[arg-type]
    (result,) = judge([subject_of(node("n1", declared=declared()), TODAY)], runs, level="standard", gates=["gpu_stress"])
    assert (result.outcome, result.reason) == (Outcome.COULD_NOT_RUN, GateReason.IN_USE)


def test_every_gpu_is_loaded_at_once_and_traced_meanwhile() -> None:
    gates_plan = plan([node("n1", declared=declared(duration_s={"quick": 60, "standard": 900, "full": 7200}))], ["gpu_stress"])
    steps = [s for s in gates_plan.steps["n1"] if s.gate == "gpu_stress"]
    trace, *loads = steps
    assert [s.device for s in loads] == [f"gpu{i}" for i in range(8)]
    assert len({s.batch for s in steps}) == 1
    assert loads[5].argv == ("env", "CUDA_DEVICE_ORDER=PCI_BUS_ID", ubergemm.PROGRAM, "--adapters", "5", "--time_to_run", "900")
    assert (trace.argv, trace.trace_argv[0], trace.trace_s) == (("sleep", "930"), "nvidia-smi", 5.0)
    assert all(s.timeout_s == 1230 and s.exclusive for s in steps)
    assert [device for device, _argv in trace.trace_alone] == [f"gpu{i}" for i in range(8)]
    assert trace.trace_alone[5][1] == (*trace.trace_argv, "-i", "5")
    assert trace.trace_slow_s == 10


@pytest.mark.parametrize("text", ["", "starting....\n", "GFlops: nan", "starting\nGFlops:0 GFlops", "starting\nGFlops:1e999999 GFlops"])
def test_an_output_without_a_rate_is_no_sample(text: str) -> None:
    with pytest.raises(UnparsableError):
        parse_output("ubergemm", text)


def test_the_rates_of_the_search_for_a_kernel_do_not_count() -> None:
    (sample,) = parse_output("ubergemm", "GFlops:9.9e+06 GFlops\nstarting....\nGFlops:1.8e+06 GFlops\nGFlops:1.9e+06 GFlops\n")
    assert (sample.metric, sample.value, sample.unit) == ("gemm", 1850.0, "TFLOPS")


def test_the_recorded_line() -> None:
    (sample,) = parse_output("ubergemm", recorded("ubergemm/azure-gb300-result-line.txt").read_text())
    assert sample.value == pytest.approx(1856.2)


@given(st.text(max_size=400))
def test_any_text_is_rates_or_none(text: str) -> None:
    assert all(rate >= 0 for rate in ubergemm.rates_gflops(text))


@given(st.one_of(st.text(max_size=300), st.lists(st.sampled_from([row(0), row(1, margin_c="[N/A]"), "0, x", ""])).map("\n".join)))
def test_any_text_is_a_load_or_unreadable(text: str) -> None:
    try:
        found = nvidia_smi.parse_load(text)
    except UnreadableGpuError:
        return
    assert found
    assert all(gpu.clock_mhz is None or gpu.clock_mhz >= 0 for gpu in found)


def test_what_holds_a_clock_back() -> None:
    (gpu,) = nvidia_smi.parse_load(row(3, reasons="0x00000000000000E8"))
    assert gpu.slowdowns == ("HW slowdown", "HW thermal slowdown", "HW power brake slowdown")
    assert gpu.held_back
    assert (gpu.index, gpu.clock_mhz, gpu.margin_c, gpu.memory_temperature_c) == (3, 1485.0, 20.0, 84.0)


def test_it_is_registered_for_the_levels_with_load() -> None:
    assert GATE.default_levels == ("standard", "full")


REPEATS = load_yaml((CASES / "judge_gpu_stress" / "repeats.yml").read_text(encoding="utf-8"))


def twice(first: dict[int, dict[str, Any]], again: dict[int, dict[str, Any]] | None, **of_repeat: Any) -> list[RawRecord]:
    """The records of a node of eight GPUs, and of its repeat."""
    runs = records("n1", {"gpus": 8}, first)
    repeats = [] if again is None else records("n1", {"gpus": 8, **of_repeat}, again)
    return [*runs, *(replace(r, step=f"again.{r.step}") for r in repeats)]


def one_node(*, floor: bool = False, **settings: Any) -> Subject:
    return subject_of(node("n1", declared=declared(floor=floor, **settings)), TODAY)


@pytest.mark.parametrize("case", REPEATS, ids=lambda c: c["name"])
def test_a_figure_fails_where_both_measurements_say_so(case: dict[str, Any]) -> None:
    subject = one_node(floor=case.get("floor", False))
    planned = plan_again([subject], twice(case["first"], None), "standard", ["gpu_stress"], seed="r")
    assert bool(planned.busy) is case["repeated"]
    runs = twice(case["first"], case.get("again"), **case.get("again_case", {}))
    bad = [r for r in judge([subject], runs, level="standard", gates=["gpu_stress"]) if r.outcome not in SILENT]
    assert sorted(f"{r.outcome.value} {r.rule} {r.device or '-'} {r.reason}" for r in bad) == sorted(case["results"])
    assert all(r.hint for r in bad)
    if "says" in case:
        assert any(case["says"] in r.detail for r in bad), [r.detail for r in bad]


@pytest.mark.parametrize(("settings", "seconds"), [({}, 300), ({"repeat_s": 60}, 60), ({"duration_s": 1}, 1), ({"duration_s": 100}, 34)])
def test_the_repeat_is_the_same_load_for_a_shorter_time(settings: dict[str, Any], seconds: int) -> None:
    healthy = subject_of(node("n2", declared=declared(floor=False)), TODAY)
    runs = [*twice({5: {"rate_gflops": 268000}}, None), *records("n2", {"gpus": 8}, {})]
    planned = plan_again([one_node(**settings), healthy], runs, "standard", ["gpu_stress"], seed="r")
    assert planned.busy == ("n1",)
    trace, *loads = planned.steps["n1"]
    assert (trace.name, trace.argv[-1], bool(trace.trace_argv)) == ("again.trace", str(seconds + 30), True)
    assert [(s.name, s.device) for s in loads] == [(f"again.gpu{i}", f"gpu{i}") for i in range(8)]
    assert {s.argv[-1] for s in loads} == {str(seconds)}
    assert len({s.batch for s in planned.steps["n1"]}) == 1


def test_a_repeat_is_compared_with_what_the_others_read_at_first() -> None:
    names = ("n1", "n2", "n3")
    subjects = [subject_of(node(name, gpus=4, declared=declared(floor=False)), TODAY) for name in names]
    low = {1: {"rate_gflops": 300000}, 2: {"rate_gflops": 300000}}
    runs = [r for name in names for r in records(name, {"gpus": 4}, low if name == "n1" else {})]
    again = [replace(r, step=f"again.{r.step}") for r in records("n1", {"gpus": 4}, low)]
    bad = [r for r in judge(subjects, [*runs, *again], level="standard", gates=["gpu_stress"]) if r.outcome not in SILENT]
    assert [(r.node, r.device, r.outcome) for r in bad] == [("n1", "gpu1", Outcome.FAIL), ("n1", "gpu2", Outcome.FAIL)]


def test_a_repeat_that_is_lost_takes_no_peers_from_another_one() -> None:
    names = ("n1", "n2", "n3")
    subjects = [subject_of(node(name, gpus=4, declared=declared(floor=False)), TODAY) for name in names]
    two, one = ({gpu: {"rate_gflops": 300000} for gpu in gpus} for gpus in ((1, 2), (0,)))
    runs = [r for name, low in (("n1", two), ("n2", one), ("n3", {})) for r in records(name, {"gpus": 4}, low)]
    late = {"exit_status": None, "error": "timed out after 60 s", "error_code": GateReason.TIMED_OUT, "stdout": "", "trace": ()}
    lost = [replace(r, **late) for r in records("n2", {"gpus": 4}, {})]  # type: ignore[arg-type]
    again = [replace(r, step=f"again.{r.step}") for r in (*records("n1", {"gpus": 4}, two), *lost)]
    bad = [r for r in judge(subjects, [*runs, *again], level="standard", gates=["gpu_stress"]) if r.outcome not in SILENT]
    assert [(r.node, r.device, r.outcome) for r in bad] == [
        ("n1", "gpu1", Outcome.FAIL),
        ("n1", "gpu2", Outcome.FAIL),
        ("n2", "gpu0", Outcome.FAIL),
        ("n2", "", Outcome.COULD_NOT_RUN),
    ]


@given(st.sets(st.integers(0, 7), max_size=3), st.sets(st.integers(0, 7), max_size=3))
def test_what_fails_is_what_was_low_both_times(first: set[int], again: set[int]) -> None:
    slow = ({gpu: {"rate_gflops": 268000} for gpu in gpus} for gpus in (first, again))
    found = judge([one_node()], twice(next(slow), next(slow)), level="standard", gates=["gpu_stress"])
    assert {r.device for r in found if r.outcome is Outcome.FAIL} == {f"gpu{gpu}" for gpu in first & again}
    assert {r.device for r in found if r.outcome is Outcome.WARN} == {f"gpu{gpu}" for gpu in first ^ again}


def test_a_trace_is_judged_by_the_reader_of_its_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(_gate: object, text: str) -> list[GpuUnderLoad]:
        return [replace(row, slowdowns=("ACME throttle",)) if row.index == 3 else row for row in nvidia_smi.parse_load(text)]

    monkeypatch.setattr(GpuStress, "read_load", read)
    found = [r for r in judged({"gpus": 8}) if r.outcome is Outcome.FAIL]
    assert [(r.rule, r.device, r.found) for r in found] == [("slowdown", "gpu3", "ACME throttle")]
