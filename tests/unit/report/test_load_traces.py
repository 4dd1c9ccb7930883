"""What GPUs showed under load is drawn where a result is not a pass: the right values, whatever the evidence is, and no more than a page has room for."""

from __future__ import annotations

import json
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.adapters import raw_records as rawfile
from clusterctl.adapters.run_directory import RunDir
from clusterctl.commands.report_outputs import write_bundle, write_page
from clusterctl.core.gates import torch_gemm
from clusterctl.core.gates.gpu_stress import GATE
from clusterctl.core.gates.load_gate import load_gates
from clusterctl.core.gates.registry import gate_names
from clusterctl.core.load_traces import MOST_LINES, node_traces
from clusterctl.core.node_curves import MOST, MOST_OF_NODE
from clusterctl.core.wanted_loads import MOST_LOADS, loads_with_room
from clusterctl.model.gate_result import Outcome
from clusterctl.model.load_trace import LOAD_FIGURES, LoadTrace, MissingTrace, NodeLoads, NoPicture
from clusterctl.model.trace_sample import TraceSample
from clusterctl.report.load_rows import loads_data
from clusterctl.report.load_words import load_words
from clusterctl.report.page import render_page
from clusterctl.report.series_drawing import LARGE
from clusterctl.workflows.collect_pictures import with_pictures
from clusterctl.workflows.collect_report import collect
from clusterctl_validators.finding import QUIET
from pages.goals import GOALS, Goal
from support.big_report import big_report, made_up_curve
from support.gates import CASES
from support.plain_yaml import load_yaml
from support.rack_after_run import NAMES, provisioned_rack
from support.stores import a_node, a_run
from support.timed_runs import report_with_times
from support.traced_loads import a_bad_load, hot, load_answer, report_with_loads, traced
from unit.judge.test_gpu_stress import EXAMPLES as JUDGED
from unit.judge.test_gpu_stress import judged, records
from unit.report.test_inert import HOSTILE, Tags

if TYPE_CHECKING:
    from clusterctl.adapters.store import Store
    from clusterctl.model.gate_result import RawRecord
    from clusterctl.model.records import RunRow
    from clusterctl.report.load_rows import LoadData

EXAMPLES = load_yaml((CASES / "load_traces" / "cases.yml").read_text(encoding="utf-8"))
BAD = NAMES[2]


class Texts(list[str]):
    """The texts of a page."""

    def place(self, text: str) -> int:
        self.append(text)
        return len(self) - 1


def drawn_of(load: LoadTrace | MissingTrace) -> tuple[LoadData, Texts]:
    texts = Texts()
    (found,) = loads_data([NodeLoads("n1", GATE.name, "", (load,))], {"n1": 0}, texts.place)
    return found.drawn[0], texts


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda c: c["name"])
def test_case(case: dict[str, Any]) -> None:
    other = replace(traced({"samples": 0}), step="gpu0")
    own = [] if "record" in case and case["record"] is None else [replace(traced(case), **case.get("record", {}))]
    (load,) = node_traces(GATE, [other, *own], "n1", case.get("named", []))
    (first, *_) = load_words([NodeLoads("n1", GATE.name, "", (load,))])
    if "why" in case:
        assert load == MissingTrace(is_again=False, why=NoPicture(case["why"]), detail=case.get("detail", ""))
        assert first.slowdown.startswith("not drawn: ")
        assert first.slowdown.endswith(case.get("detail", ""))
        return
    one, texts = drawn_of(load)
    assert [texts[g] for g in one.gpus[: one.named]] == case["gpus_first"]
    assert first.gpu == (case["gpus_first"] or [f"{case.get('gpus', 8)} others"])[0]
    rows = {texts[row[0]]: " | ".join(texts[i] for i in row[1:]) for row in one.rows}
    assert len(rows) == min(MOST_LINES, len(rows))
    assert {gpu: rows[gpu] for gpu in case.get("rows", {})} == case.get("rows", {})
    assert [texts[i] for i in one.notes] == case.get("notes", [])
    assert len(one.panels) == len(one.heads) - 2 == case.get("figures", len(LOAD_FIGURES))
    assert one.simulated == 1


@pytest.mark.parametrize("case", JUDGED, ids=lambda c: c["name"])
def test_gpus_that_the_judge_names_are_those_of_the_picture(case: dict[str, Any]) -> None:
    named = {r.device for r in judged(case) if r.node == "n1" and r.outcome not in QUIET and r.device}
    (load,) = node_traces(GATE, records("n1", case, case.get("slow", {})), "n1", named)
    if isinstance(load, LoadTrace):
        assert {g.device for g in load.gpus if g.is_named} == named
    else:
        assert load.why is NoPicture.UNREADABLE


def test_a_repeat_is_drawn_beside_the_load_and_one_without_a_trace_is_missed() -> None:
    first, again = node_traces(GATE, [hot("n1", samples=20), hot("n1", samples=9, step="again.trace")], "n1", ["gpu6"])
    assert isinstance(first, LoadTrace)
    assert isinstance(again, LoadTrace)
    assert [(one.is_again, one.samples, one.moments[-1]) for one in (first, again)] == [(False, 20, 95.0), (True, 9, 40.0)]
    _, lost = node_traces(GATE, [hot("n1", samples=20), replace(hot("n1", samples=9), step="again.gpu0")], "n1", ["gpu6"])
    assert lost == MissingTrace(is_again=True, why=NoPicture.NO_TRACE)


def test_a_moment_that_is_not_as_the_others_is_in_the_picture() -> None:
    (load,) = node_traces(
        GATE, [traced({"samples": 1440, "slow": {3: {"clock": 345, "reasons": "0x48", "from": 700, "until": 701}}})], "n1", []
    )
    assert isinstance(load, LoadTrace)
    gpu = load.gpus[3]
    assert len(load.moments) == len(gpu.values[0]) == 40
    assert [v for v in gpu.values[0] if v != 1485] == [345]
    assert [gpu.values[0][place] for place in gpu.slowed] == [345]


def test_an_answer_about_one_gpu_is_no_moment_of_the_load() -> None:
    whole = traced({})
    alone = TraceSample(47.0, 11.0, 0, load_answer([3], {3: {"clock": 100}}), device="gpu3")
    assert list(node_traces(GATE, [replace(whole, trace=(*whole.trace, alone))], "n1", ["gpu3"])) == list(
        node_traces(GATE, [whole], "n1", ["gpu3"])
    )


def test_what_is_gone_has_no_line_and_what_is_idle_has_none() -> None:
    (load,) = node_traces(GATE, [traced({"gone": {5: 8}, "idle": [0, 19]})], "n1", [])
    assert isinstance(load, LoadTrace)
    assert [v is None for v in load.gpus[0].values[0]] == [True, *[False] * 7, *[True] * 12]
    one, texts = drawn_of(load)
    # All clocks are the same: they are at the lower edge.
    assert one.panels[0].heights[:2] == ("--" + 7 * "84" + 12 * "--", "--" + 18 * "84" + "--")
    assert texts[one.panels[0].summary] == "SM clock over 0 to 95 s: gpu5 1485 MHz; 7 others 1485 MHz"


TEXT = st.text(max_size=60) | st.sampled_from(HOSTILE) | st.sampled_from(["", "0, 1", traced({"samples": 1}).trace[0].stdout])
NUMBER = st.floats(0, 2**31, allow_nan=False) | st.integers(0, 100)
SAMPLES = st.lists(st.builds(TraceSample, NUMBER, NUMBER, st.none() | st.integers(0, 1), TEXT), max_size=70)


@given(SAMPLES, st.lists(st.sampled_from(["", "gpu0", "gpu9", "mlx5_0"]), max_size=2))
def test_any_trace_is_drawn_in_its_box_or_missed_with_a_reason(samples: list[TraceSample], named: list[str]) -> None:
    (load,) = node_traces(GATE, [replace(traced({}), trace=tuple(samples))], "n1", named)
    assert all(words.slowdown for words in load_words([NodeLoads("n1", GATE.name, "", (load,))]))
    if isinstance(load, LoadTrace):
        one, _ = drawn_of(load)
        assert all(0 <= x <= LARGE.width for x in one.across)
        lines = [[line[i : i + 2] for i in range(0, len(line), 2)] for panel in one.panels for line in panel.heights]
        assert all(y == "--" or 0 <= int(y, 16) <= LARGE.height for line in lines for y in line)
        assert {len(line) for line in lines} == {len(one.across)}
        assert {len(slow) for slow in one.slowed} <= {0, len(one.across)}


def measured(store: Store, run: RunRow, runs: list[RawRecord], node: str = BAD, gate: str = GATE.name) -> Path:
    """Store a bad result of a run, with its evidence."""
    file = Path(run.directory) / "gates" / gate / f"{node}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(rawfile.gate_document(gate, node, runs)), encoding="utf-8")
    store.save_gate_results(run.id, [a_bad_load(node, gate=gate)])
    return file


def loads_of(store: Store, run: RunRow) -> dict[str, NodeLoads]:
    return {one.node: one for one in with_pictures(store, collect(store, run, Path("/"))).loads}


@pytest.mark.parametrize("gate", [gate.name for gate in load_gates()])
def test_the_trace_of_the_run_is_drawn_whatever_gate_made_it(tmp_path: Path, gate: str) -> None:
    store, run = provisioned_rack(tmp_path)
    measured(store, run, [hot(BAD, gate=gate)], gate=gate)
    (found,) = loads_of(store, run).values()
    (load,) = found.loads
    assert (found.node, found.gate, found.run) == (BAD, gate, "")
    assert isinstance(load, LoadTrace)
    assert [(g.device, g.slowed_s) for g in load.gpus if g.is_named] == [("gpu6", (620.0, 925.0))]
    write_page(store, run, tmp_path / "page.html")
    write_bundle(store, run, tmp_path / "run.tar.gz")
    with tarfile.open(tmp_path / "run.tar.gz") as archive:
        (packed,) = (archive.extractfile(m) for m in archive.getmembers() if m.name.endswith("report.html"))
        assert packed
        pages = (packed.read().decode(), (tmp_path / "page.html").read_text(encoding="utf-8"))
    assert all("HW slowdown, HW thermal slowdown in 62 of 186 samples, at 620 to 925 s" in html for html in pages)


def test_the_report_of_a_run_that_measured_nothing_has_the_trace_of_the_run_that_did(tmp_path: Path) -> None:
    store, run = provisioned_rack(tmp_path)
    measured(store, run, [hot(BAD)])
    later = RunDir.create(tmp_path, "validate")
    store.start_run(a_run(later.id, str(later.path), verb="validate"), NAMES)
    (found,) = loads_of(store, store.run(later.id)).values()
    assert (found.node, found.run) == (BAD, run.id)
    assert isinstance(found.loads[0], LoadTrace)
    assert {w.measured for w in load_words([found])} == {f"gpu_stress: the load, from {run.id}"}


DAMAGED = ("", "{", "[]", '{"schema_version": 1, "records": [{"step": "trace"}]}', '{"schema_version": 99, "records": []}', "\x00")


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_file_costs_its_own_picture_only(tmp_path: Path, text: str) -> None:
    store, run = provisioned_rack(tmp_path)
    measured(store, run, [hot(NAMES[0])], NAMES[0])
    measured(store, run, []).write_text(text, encoding="utf-8")
    found = loads_of(store, run)
    (bad,) = found[BAD].loads
    assert isinstance(bad, MissingTrace)
    assert bad.why is NoPicture.DAMAGED
    assert "gpu_stress" in bad.detail
    assert isinstance(found[NAMES[0]].loads[0], LoadTrace)
    assert render_page(with_pictures(store, collect(store, run, Path("/"))))


@pytest.mark.parametrize("lost", ["file", "directory", "records", "never had one"])
def test_evidence_that_is_gone_is_a_reason(tmp_path: Path, lost: str) -> None:
    store, run = provisioned_rack(tmp_path)
    file = measured(store, run, [])
    if lost == "file":
        file.unlink()
    elif lost == "directory":
        Path(run.directory).rename(tmp_path / "away")
    elif lost == "never had one":
        bare = a_run("20260315-090000-burnin-bbbb", "", verb="burnin")
        store.register([a_node(BAD, slot=3)])
        store.start_run(bare, [BAD])
        store.save_gate_results(bare.id, [a_bad_load(BAD)])
        run = store.run(bare.id)
    (found,) = loads_of(store, run).values()
    assert found.loads == (MissingTrace(is_again=False, why=NoPicture.NO_RECORDS),)


def test_a_run_in_which_all_passed_reads_no_trace(tmp_path: Path) -> None:
    store, run = provisioned_rack(tmp_path)
    store.save_gate_results(run.id, [a_bad_load(n, outcome=o) for n, o in zip(NAMES, (Outcome.PASS, Outcome.WAIVED), strict=False)])
    assert loads_of(store, run) == {}


def test_the_worst_nodes_are_drawn_and_the_others_counted() -> None:
    report = big_report(60)
    outcomes = [Outcome.WARN] * 30 + [Outcome.COULD_NOT_RUN] * 20 + [Outcome.FAIL] * 10
    named = [replace(s, gate_results=(a_bad_load(s.name, outcome=o),)) for s, o in zip(report.sections, outcomes, strict=True)]
    two = (
        a_bad_load(named[45].name, outcome=Outcome.COULD_NOT_RUN),
        a_bad_load(named[45].name, outcome=Outcome.COULD_NOT_RUN, device="gpu1"),
    )
    named[45] = replace(named[45], gate_results=two)
    chosen = loads_with_room(named)
    assert chosen == {(s.name, GATE.name) for s in (*named[50:], named[45], *named[30 : 30 + MOST_LOADS - 11])}
    rest = [s.name for s in named if (s.name, GATE.name) not in chosen]
    left = tuple(NodeLoads(n, GATE.name, "", (MissingTrace(is_again=False, why=NoPicture.NO_ROOM),)) for n in rest)
    html = render_page(replace(report, sections=tuple(named), loads=left))
    assert "36 loads of GPUs with something to look at: no picture, because others were worse." in html
    assert "because others were worse" not in render_page(report_with_loads(6, 2))


def test_each_node_has_its_worst_load_before_any_has_a_second() -> None:
    stress, torch = GATE.name, torch_gemm.GATE.name
    report = big_report(4)
    warned = [replace(s, gate_results=(a_bad_load(s.name, outcome=Outcome.WARN), a_bad_load(s.name, gate=torch))) for s in report.sections]
    names = [s.name for s in warned]
    assert loads_with_room(warned) == {*((n, torch) for n in names), *((n, stress) for n in names[:2])}
    assert loads_with_room(warned[:3]) == {(n, g) for n in names[:3] for g in (stress, torch)}


@pytest.mark.parametrize("goal", GOALS, ids=lambda g: f"{g.nodes} nodes")
def test_a_page_with_its_times_and_all_the_loads_and_curves_it_may_have_is_as_small_as_promised(goal: Goal) -> None:
    report = report_with_loads(goal.nodes, goal.nodes, gpus=MOST_LINES, gates=[gate.name for gate in load_gates()])
    names = [s.name for s in report.sections]
    many = [made_up_curve(names[i % len(names)], f"mlx5_{i}", 90.0 + i) for i in range(min(MOST, MOST_OF_NODE * len(names)))]
    timeline = report_with_times(goal.nodes, gate_names()).timeline
    full = replace(report, curves=replace(report.curves, drawn=tuple(many)), timeline=timeline)
    assert len(render_page(full).encode()) <= goal.size


def test_whatever_a_sample_holds_is_text() -> None:
    said = "".join(HOSTILE).splitlines()[0]
    (load,) = node_traces(GATE, [traced({"answers": {2: {"status": 1, "text": said}}, "named": []})], "n1", [said])
    (missed,) = node_traces(GATE, [traced({"samples": 1, "answers": {0: {"status": 1, "text": said}}})], "n1", [])
    report = big_report(6)
    name = report.sections[3].name
    html = render_page(replace(report, loads=(NodeLoads(name, GATE.name, said, (load, missed)),)))
    html.encode()
    plain = render_page(replace(report, loads=(NodeLoads(name, GATE.name, "run", (load, missed)),)))
    assert [a for t, a in Tags(html).seen if t == "script"] == [("type", "id"), ("type", "id"), ()]
    assert not {"img", "iframe", "object"} & {t for t, _ in Tags(html).seen}
    assert len(Tags(html).seen) == len(Tags(plain).seen)
    assert "\x1b" not in html
    json.loads(html.split('id="page:data">')[1].split("</script>")[0])
