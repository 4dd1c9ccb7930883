"""What took the time of a run: the right phases of the right nodes, whatever is recorded, and no more than a page has room for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.phase_files import PHASES_FOLDER, write_begin, write_end
from clusterctl.adapters.run_directory import RunDir
from clusterctl.core.timeline_spans import run_timeline
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.records import RunStatus
from clusterctl.model.run_timeline import RunTimeline, TimesFrom, TimeSpan
from clusterctl.report.page import render_page
from clusterctl.report.timeline_rows import timeline_data
from clusterctl.report.timeline_words import PHASE_HEADS, timeline_words
from clusterctl.workflows.collect_pictures import with_pictures
from clusterctl.workflows.collect_report import collect
from pages.goals import GOALS, Goal
from support.gates import CASES
from support.plain_yaml import load_yaml
from support.rack_after_run import NAMES, provisioned_rack
from support.stores import a_node, a_run, findings, fresh
from support.timed_runs import START, at, report_with_times, sources_of
from unit.report.test_goals import Counter
from unit.report.test_inert import HOSTILE, Tags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.adapters.store import Store
    from clusterctl.model.records import RunRow

EXAMPLES = load_yaml((CASES / "timelines" / "cases.yml").read_text(encoding="utf-8"))


def shown(spans: Sequence[TimeSpan]) -> list[list[object]]:
    return [[s.what, s.began_s, s.ended_s] for s in spans]


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda c: c["name"])
def test_case(case: dict[str, Any]) -> None:
    timeline = run_timeline(sources_of(case))
    phases = {n.node: shown(n.phases) for n in timeline.nodes}
    assert {n: phases[n] for n in case["nodes"]} == case["nodes"]
    gates = {n.node: shown(n.gates) for n in timeline.nodes}
    assert {n: gates[n] for n in case.get("node_gates", {})} == case.get("node_gates", {})
    words = timeline_words(timeline)
    assert words.summary == case.get("said", words.summary)
    assert [list(row) for row in words.rows] == case.get("rows", [list(row) for row in words.rows])
    assert all(len(row) == len(PHASE_HEADS) for row in words.rows)
    assert [row[0] for row in words.rows] == list(timeline_data(timeline).phases)
    assert set(case.get("notes", ())) <= set(words.notes)
    assert words.notes[:1] == ((case["first_note"],) if "first_note" in case else words.notes[:1])


def test_the_picture_has_the_numbers_of_the_words() -> None:
    data = timeline_data(run_timeline(sources_of(EXAMPLES[0])))
    assert (data.length, data.phases, data.slowest) == (3600, ("check", "apply", "reboot"), (1, 1, 0))
    assert data.nodes[1] == (0, 0, 30, 1, 40, 1440, 2, 1500, 2400)
    going_on = next(c for c in EXAMPLES if c.get("is_over") is False)
    assert timeline_data(run_timeline(sources_of(going_on))).nodes[0][-1] == -1


def timeline_of(store: Store, run: RunRow) -> RunTimeline:
    timeline = with_pictures(store, collect(store, run, Path(run.directory))).timeline
    assert timeline is not None
    return timeline


def test_a_run_has_the_phases_of_its_directory(tmp_path: Path) -> None:
    store, run = provisioned_rack(tmp_path)
    rundir = RunDir.open(Path(run.directory))
    write_begin(rundir, 1, "check", run.started_at, NAMES)
    write_end(rundir, 1, dict.fromkeys(NAMES[1:], (0.0, 1.5)), is_over=True)
    timeline = timeline_of(store, run)
    assert timeline.came_from is TimesFrom.PHASES
    assert timeline.nodes[0].phases == ()
    assert timeline.nodes[1].phases == (TimeSpan("check", 0.0, 1.5),)


def end_with(*seconds: float) -> str:
    return json.dumps({"schema_version": 1, "is_over": True, "spans": {NAMES[0]: seconds}})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema_version":2}', "\xff", *(end_with(1.0), end_with(0.0, 1e308))])
@pytest.mark.parametrize("side", ["begin", "end"])
def test_damaged_phases_end_no_report(tmp_path: Path, side: str, text: str) -> None:
    store, run = provisioned_rack(tmp_path)
    rundir = RunDir.open(Path(run.directory))
    write_begin(rundir, 1, "check", run.started_at, NAMES)
    rundir.path_for(f"{PHASES_FOLDER}/001-{side}.json").write_bytes(text.encode("latin-1"))
    timeline = timeline_of(store, run)
    assert timeline.came_from is TimesFrom.STEPS
    assert "001-begin.json: damaged" in timeline.damaged
    assert "Its own times cannot be read" in render_page(with_pictures(store, collect(store, run, Path(run.directory))))


def test_the_end_of_a_killed_run_is_not_when_another_took_it_over(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    rundir = RunDir.create(tmp_path, "provision")
    store.register([a_node("r12-n01")])
    store.start_run(replace(a_run(rundir.id, str(rundir.path)), started_at=START), ("r12-n01",))
    write_begin(rundir, 1, "apply", at(4), ("r12-n01",))
    store.finish_run(rundir.id, RunStatus.ABANDONED, ExitCode.INTERRUPTED, {})
    timeline = timeline_of(store, store.run(rundir.id))
    assert timeline.nodes[0].phases == (TimeSpan("apply", 4.0, None),)
    assert (timeline.length_s, timeline.has_end, timeline.is_over) == (4.0, False, True)


def test_a_run_of_an_earlier_version_has_the_states_of_its_nodes(tmp_path: Path) -> None:
    store, run = provisioned_rack(tmp_path)
    timeline = timeline_of(store, run)
    assert timeline.came_from is TimesFrom.STEPS
    assert [s.what for s in timeline.nodes[0].phases] == ["apply", "reboot and verify", "burn in", "admit"]
    assert [s.what for s in timeline.nodes[3].phases] == ["apply", "reboot and verify", "burn in"]
    assert all(s.ended_s is not None for n in timeline.nodes for s in n.phases)


def test_a_validation_has_when_each_node_answered(tmp_path: Path) -> None:
    store = fresh(tmp_path)
    run = replace(a_run(verb="validate"), started_at=START)
    store.register([a_node("r12-n01"), a_node("r12-n02", slot=2)])
    store.start_run(run, ("r12-n01", "r12-n02"))
    store.save_findings(run.id, replace(findings(), at=at(9)), replace(findings(node="r12-n02"), at=at(4)))
    timeline = timeline_of(store, store.run(run.id))
    assert timeline.came_from is TimesFrom.ANSWERS
    assert not timeline.is_over
    assert [n.phases for n in timeline.nodes] == [(TimeSpan("validate", 7.5, 9.0),), (TimeSpan("validate", 2.5, 4.0),)]


def test_names_of_nodes_and_phases_are_text_in_the_page() -> None:
    report = report_with_times(6)
    assert report.timeline
    hostile = [replace(n, phases=tuple(replace(s, what="".join(HOSTILE)) for s in n.phases)) for n in report.timeline.nodes]
    plain = render_page(report)
    spoiled = render_page(replace(report, timeline=replace(report.timeline, nodes=tuple(hostile), damaged="".join(HOSTILE))))
    assert set(Tags(spoiled).seen) == set(Tags(plain).seen)
    assert Tags(spoiled).comments == []


def test_the_table_of_phases_is_in_the_page_once() -> None:
    html = render_page(report_with_times(6))
    for words in ("10 min 01 s", "r012-n04: 15 min 00 s", "began no phase: r012-n05", "last to end"):
        assert html.count(words) == 1, words


def test_a_page_without_times_has_no_such_section() -> None:
    report = report_with_times(6)
    assert 'id="page:time"' in render_page(report)
    assert 'id="page:time"' not in render_page(replace(report, timeline=None))


@pytest.mark.parametrize("goal", [g for g in GOALS if g.nodes <= 1000], ids=lambda g: f"{g.nodes} nodes")
def test_a_page_with_times_is_as_small_as_promised(goal: Goal) -> None:
    html = render_page(report_with_times(goal.nodes))
    assert len(html.encode()) <= goal.size
    assert Counter(html).elements <= goal.elements
