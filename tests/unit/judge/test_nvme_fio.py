"""nvme_fio: a slow disk among equal ones, two of three, disks that are missing or return errors; and what must not count."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.nvme_fio import GATE
from clusterctl.core.gates.planning.gate_plan import plan_again
from clusterctl.core.gates.subject import subject_of
from clusterctl.core.parsers import UnparsableError, parse_output
from clusterctl.core.parsers.nvme_read import samples_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl.model.level import LEVELS
from clusterctl.model.node import NodeSpec
from clusterctl_tools.nvme_read import DiskRead
from support.gates import CASES, REPAIR, SOURCE, TODAY, gates, node, plan
from support.nvme import disk_line, fio_output, node_output, nvme_record
from support.plain_yaml import load_yaml
from support.recorded import recorded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import GateResult, RawRecord

FOLDER = CASES / "judge_nvme_fio"
EXAMPLES = load_yaml((FOLDER / "cases.yml").read_text(encoding="utf-8"))
REPEATS = load_yaml((FOLDER / "repeats.yml").read_text(encoding="utf-8"))
FLOOR = {"gate": "nvme_fio", "metric": "read_bandwidth", "kind": "floor", "unit": "GB/s", **SOURCE}
SILENT = (Outcome.PASS, Outcome.NOT_APPLICABLE)


def subject(name: str = "n1", *, disks: int = 0, floor: float | None = None, **settings: Any) -> Subject:
    floors = [] if floor is None else [{**FLOOR, "value": floor}]
    declared = gates(gates_levels={level: ["nvme_fio"] for level in LEVELS}, gates_baselines=floors, gates_settings={"nvme_fio": settings})
    one = node(name, declared=declared)
    hardware = {**one.spec.roles["hardware"], "hardware_nvme_data_disks": disks}
    return subject_of(replace(one, spec=NodeSpec({"hardware": hardware}, one.spec.gates, (), "sha256:0")), TODAY)


def judged(subjects: Sequence[Subject], records: Sequence[RawRecord]) -> tuple[GateResult, ...]:
    return judge(subjects, records, level="standard", gates=["nvme_fio"])


def words(results: Sequence[GateResult]) -> list[str]:
    return sorted(f"{r.outcome.value} {r.rule} {r.device or '-'} {r.reason}" for r in results)


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda c: c["name"])
def test_case(case: dict[str, Any]) -> None:
    names = [f"n{i}" for i in range(1, case.get("nodes", 1) + 1)]
    subjects = [subject(name, disks=case.get("declared", 0), floor=case.get("floor")) for name in names]
    own = nvme_record("n1", node_output(case["disks"], case.get("other"), **case.get("all", {})))
    runs = [replace(own, **case.get("record", {})), *(nvme_record(name, node_output(case["disks"])) for name in names[1:])]
    results = judged(subjects, runs)
    bad = [r for r in results if r.outcome not in SILENT]
    assert words([r for r in bad if r.node == "n1"]) == sorted(case["results"])
    assert {r.node for r in bad} <= {"n1"}
    assert {r.node for r in results} == set(names)
    assert all(r.hint for r in bad)
    assert not [r for r in bad if r.outcome is Outcome.COULD_NOT_RUN and REPAIR.search(r.hint)]
    assert any(case.get("says", "") in r.detail for r in results)


@pytest.mark.parametrize("case", REPEATS, ids=lambda c: c["name"])
def test_a_figure_fails_where_two_of_three_measurements_say_so(case: dict[str, Any]) -> None:
    one = subject()
    first = nvme_record("n1", node_output(8, case["first"]))
    assert bool(plan_again([one], [first], "standard", ["nvme_fio"], seed="r").busy) is case["repeated"]
    again = [nvme_record("n1", node_output(8, other), step=f"again.{i}") for i, other in enumerate(case.get("again", []), 1)]
    bad = [r for r in judged([one], [first, *again]) if r.outcome not in SILENT]
    assert words(bad) == sorted(case["results"])
    assert all(r.hint for r in bad)
    assert any(case.get("says", "") in r.detail for r in [*bad, *([] if "says" in case else judged([one], [first]))])


def test_a_repeat_is_compared_with_what_the_others_read_at_first() -> None:
    names = [f"n{i}" for i in range(1, 7)]
    first = [nvme_record(name, node_output(2, gbps=5.0 if name in ("n1", "n2") else 6.8)) for name in names]
    again = [nvme_record(name, node_output(2, gbps=gbps), step=f"again.{i}") for name, gbps in (("n1", 5.0), ("n2", 6.8)) for i in (1, 2)]
    bad = [r for r in judged([subject(name) for name in names], [*first, *again]) if r.outcome not in SILENT]
    assert [(r.node, r.device, r.outcome) for r in bad] == [
        ("n1", "nvme0n1", Outcome.FAIL),
        ("n1", "nvme1n1", Outcome.FAIL),
        ("n2", "nvme0n1", Outcome.WARN),
        ("n2", "nvme1n1", Outcome.WARN),
    ]


def test_one_command_reads_all_disks_and_two_more_follow_each_other() -> None:
    one = subject(duration_s=20, ioengine="io_uring", program="/opt/fio")
    (step,) = [s for s in plan((one.node,), ["nvme_fio"]).steps["n1"] if s.gate == "nvme_fio"]
    assert step.argv == ("python3", "nvme_read.py", "--seconds", "20", "--program", "/opt/fio", "--ioengine", "io_uring")
    assert (step.version_argv, step.exclusive, step.timeout_s) == (("/opt/fio", "--version"), True, 20 + 300 + 90)
    planned = plan_again([one], [nvme_record("n1", node_output(8, {1: {"gbps": 1.0}}))], "standard", ["nvme_fio"], seed="r")
    steps = [s for s in planned.steps["n1"] if s.gate == "nvme_fio"]
    assert [s.name for s in steps] == ["again.1", "again.2"]
    assert steps[0].batch < steps[1].batch
    assert {s.argv for s in steps} == {step.argv}


def test_a_pass_has_the_lowest_rate_of_equal_disks_and_the_version_of_fio() -> None:
    passed = [r for r in judged([subject(floor=6.0)], [nvme_record("n1", node_output(8, {3: {"gbps": 6.7}}))]) if r.value is not None]
    assert [(r.rule, r.value, r.found, r.unit, r.tool_version) for r in passed] == [("peers", 6.7, "6.7 to 6.8 GB/s", "GB/s", "fio-3.36")]


def test_a_disk_without_peers_passes_its_floor_and_no_comparison() -> None:
    for count, other, compared in ((2, {}, None), (5, {0: {"model": "A", "gbps": 6.1}}, "6.8 to 6.8 GB/s")):
        results = judged([subject(floor=6.0)], [nvme_record("n1", node_output(count, other))])
        found = {r.rule: (r.outcome, r.found) for r in results}
        assert found["floor"][0] is Outcome.PASS
        assert found["peers"] == ((Outcome.PASS, compared) if compared else (Outcome.NOT_APPLICABLE, ""))


def test_a_node_that_neither_has_nor_declares_a_disk_is_not_judged() -> None:
    (result,) = judged([subject(disks=0)], [nvme_record("n1", node_output(0))])
    assert (result.outcome, result.rule, result.reason, result.hint) == (Outcome.NOT_APPLICABLE, "disks", GateReason.NOT_COVERED, "")


def test_a_missing_fio_is_installed_by_the_package_of_the_site() -> None:
    run = nvme_record("n1", '{"problem": "fio: No such file or directory"}\n', exit_status=3)
    (result,) = judged([subject()], [run])
    assert (result.reason, "gpu_tools_packages" in result.hint) == (GateReason.NOT_INSTALLED, True)
    assert (GATE.default_levels, GATE.needs_floor) == (("full",), False)


@given(st.integers(0, 2000), st.integers(0, 2000))
def test_what_is_not_a_whole_output_never_passes(begin: int, length: int) -> None:
    text = node_output(2)
    part = text[begin : begin + length]
    if part.strip() != text.strip():
        with pytest.raises(UnparsableError):
            parse_output("nvme_read", part)


@given(st.text(max_size=200) | st.builds(lambda v: f'{{"schema_version": 1, "disks": {v}, "exit_status": {v}}}', st.integers()))
def test_any_text_is_unparsable(text: str) -> None:
    with pytest.raises(UnparsableError):
        parse_output("nvme_read", text)


def test_a_disk_that_is_reported_twice_or_was_not_to_be_read_is_no_evidence() -> None:
    for extra in (disk_line("nvme0n1"), disk_line("nvme9n1")):
        with pytest.raises(UnparsableError, match="twice"):
            parse_output("nvme_read", node_output(2) + extra)


def test_samples_of_a_run() -> None:
    found = [(s.metric, round(s.value, 1), s.unit, s.device) for s in parse_output("nvme_read", node_output(1))]
    assert found == [
        ("read_bandwidth", 6.8, "GB/s", "nvme0n1"),
        ("read_iops", 6485.2, "IOPS", "nvme0n1"),
        ("read_latency_mean", 4900.0, "us", "nvme0n1"),
        ("read_runtime", 30.0, "s", "nvme0n1"),
    ]


def test_a_recorded_output_of_fio_is_read_as_the_made_ones_are() -> None:
    text = recorded("fio/superbench-disk_performance.log.txt").read_text()
    one, *_ = samples_of(DiskRead("nvme0n1", "M", "", "", 0, text[: text.rindex("}") + 1], ""))
    assert (one.metric, round(one.value, 3)) == ("read_bandwidth", 0.349)
    assert samples_of(DiskRead("nvme0n1", "M", "", "", 0, fio_output(0.349), ""))[0].value == one.value.__round__(3)
