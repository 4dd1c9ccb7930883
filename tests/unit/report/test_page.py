"""The page of a run: complete, self-contained, and deaf to what nodes say."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters import processes
from clusterctl.adapters import raw_records as rawfile
from clusterctl.adapters.installed_versions_file import installed_document
from clusterctl.adapters.run_directory import RunDir
from clusterctl.adapters.slow_classes_file import slow_document
from clusterctl.core.gates.planning.header import header_of
from clusterctl.model.errors import ConfigError
from clusterctl.model.installed_skew import InstalledVersion
from clusterctl.model.learned import DeviceClass
from clusterctl.model.node import Place
from clusterctl.model.records import RunStatus
from clusterctl.model.run_report import Earlier
from clusterctl.model.slow_class import SlowClass
from clusterctl.model.state import State
from clusterctl.report import heatmap
from clusterctl.report.page import page_of, render_page
from clusterctl.workflows.collect_report import chosen_run, collect
from support.gates import node as a_node
from support.rack_after_run import NAMES, RAILS, provisioned_rack
from support.stores import a_result, a_run, bring

if TYPE_CHECKING:
    from clusterctl.adapters.store import Store
    from clusterctl.model.records import RunRow
    from clusterctl.model.run_report import RunReport

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(2)></script><!--<script>\x1b[2J\x1b]0;title\x07\u202e\u2028]]>&amp;'


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def markup(html: str) -> list[str]:
    """Tags without the places where long words may break."""
    return [t for t in Tags(html).tags if t != "wbr"]


def data_of(html: str) -> dict[str, Any]:
    text = html.split('id="page:data">')[1].split("</script>", maxsplit=1)[0]
    return dict(json.loads(text))


@pytest.fixture
def rack(tmp_path: Path) -> tuple[Store, RunRow]:
    return provisioned_rack(tmp_path)


def report_of(rack: tuple[Store, RunRow]) -> RunReport:
    return collect(rack[0], rack[1], Path(rack[1].directory))


def test_the_page_tells_who_when_what_and_how_it_ended(rack: tuple[Store, RunRow]) -> None:
    html = render_page(report_of(rack))
    for words in ("rack-12", rack[1].id, "alice", "clusterctl provision rack-12", "clusterctl 0.1.0", "exit 7: a burn-in gate failed"):
        assert words in html


def test_failures_come_first_with_node_found_expected_source_and_next_action(rack: tuple[Store, RunRow]) -> None:
    report = report_of(rack)
    failed = page_of(report).failures
    assert [(f.first.topic, tuple(f.nodes)) for f in failed] == [("rdma_pair", ("r12-n04",)), ("kernel", ("r12-n02",))]
    before_racks = render_page(report).split('id="page:racks"')[0]
    for words in ("98.1 of 200 Gb/s", "&gt;= 180 Gb/s", "vendor data sheet", "check the cable of mlx5_3", "all 5 partners were fine"):
        assert words in before_racks
    assert re.search(r'<a href="#r12-n04">r12-n04</a> mlx5_3', before_racks)


def test_every_node_has_a_tile_that_is_the_target_of_its_links(rack: tuple[Store, RunRow]) -> None:
    found = Tags(render_page(report_of(rack)))
    ids = [v for n, v in found.attributes if n == "id"]
    assert {n for n in ids if ":" not in n} == set(NAMES)
    assert len(ids) == len(set(ids))
    assert {v[1:] for n, v in found.attributes if n == "href" and v.startswith("#")} <= set(ids)


def test_the_data_of_the_page_has_every_finding_and_result_of_every_node(rack: tuple[Store, RunRow]) -> None:
    report = report_of(rack)
    data = data_of(render_page(report))
    assert data["names"] == list(NAMES)
    for section, node in zip(report.sections, data["nodes"], strict=True):
        assert section.findings is not None
        drawn = [data["rows"][r] for b in (node["bad"], *node["gates"], *node["checks"]) for r in data["blocks"][b][1:]]
        assert sum(max(1, (len(r) - 3) // 2) for r in drawn) == len(section.findings.findings) + len(section.gate_results)
        assert data["texts"][node["state"]] == section.state.value


def test_simulated_numbers_say_so(rack: tuple[Store, RunRow]) -> None:
    assert "simulated: numbers come from a lab" in render_page(report_of(rack))


def test_evidence_is_linked_relative_to_the_page(rack: tuple[Store, RunRow], tmp_path: Path) -> None:
    html = render_page(report_of(rack))
    data = data_of(html)
    links = [data["texts"][base] + data["texts"][name] for node in data["nodes"] for base, name in node["links"]]
    assert "gates/rdma_pair/r12-n04.json" in links
    assert "provision.log" in [v for n, v in Tags(html).attributes if n == "href"]
    elsewhere = collect(rack[0], rack[1], tmp_path)
    files = [link.href for s in elsewhere.sections for link in s.links]
    assert files
    assert all((tmp_path / f).is_file() for f in files)


def test_nothing_is_loaded_from_anywhere_and_only_our_script_runs(rack: tuple[Store, RunRow]) -> None:
    html = render_page(report_of(rack))
    found = Tags(html)
    assert not {"link", "img", "iframe", "object"} & set(found.tags)
    assert not [v for n, v in found.attributes if n in {"href", "src", "action"} and re.match(r"\w+:|//", v)]
    assert [n for n, _ in found.attributes if n == "src" or n.startswith("on")] == []
    policy = next(v for n, v in found.attributes if n == "content" and "script-src" in v)
    script = html.split("<script>")[1].split("</script>")[0]
    assert f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in policy


def test_what_a_node_says_is_text(tmp_path: Path) -> None:
    html = render_page(report_of(provisioned_rack(tmp_path, hostile=HOSTILE)))
    assert markup(html) == markup(render_page(report_of(provisioned_rack(tmp_path / "other", hostile="words"))))
    assert html.split("<script", 1)[0].count("&lt;script&gt;alert(1)") >= 2
    data = data_of(html)
    assert any("</script><!--" in text and "\\x1b[2J" in text for text in data["texts"])
    assert "\x1b" not in html


def test_a_hostile_target_and_command_line_are_text(rack: tuple[Store, RunRow]) -> None:
    report = report_of(rack)
    odd = replace(
        report, run=replace(report.run, target=HOSTILE, argv=("clusterctl", HOSTILE), operator=HOSTILE, versions={HOSTILE: HOSTILE})
    )
    assert markup(render_page(odd)) == markup(render_page(report))


def test_an_old_run_is_shown_as_it_left_the_nodes(rack: tuple[Store, RunRow]) -> None:
    bring(rack[0], "r12-n04", State.PROVISIONING)
    states = {t.name: t.state for r in page_of(report_of(rack)).racks for t in r.tiles}
    assert states["r12-n04"] is State.QUARANTINED


def later_run(rack: tuple[Store, RunRow], folder: Path) -> RunReport:
    store, _ = rack
    rundir = RunDir.create(folder, "provision")
    later = a_run(rundir.id, str(rundir.path))
    store.start_run(later, NAMES)
    store.finish_run(later.id, RunStatus.DONE, 7, {})
    return collect(store, store.run(later.id), rundir.path)


def test_a_run_that_measured_nothing_shows_what_still_counts_and_its_run(rack: tuple[Store, RunRow], tmp_path: Path) -> None:
    report = later_run(rack, tmp_path)
    earlier = {s.name: s.gates_earlier for s in report.sections}
    assert earlier["r12-n01"] == Earlier((rack[1].id,), counts=True)
    assert earlier["r12-n04"] == Earlier((rack[1].id,), counts=False)
    assert report.records_of == (rack[1].id,)
    html = render_page(report)
    assert f"still counts, from {rack[1].id}" in html
    texts = data_of(html)["texts"]
    assert {f"from {rack[1].id}: still counts", f"from {rack[1].id}: no longer counts"} <= set(texts)
    heat = page_of(report).heatmap
    assert heat.overview is not None
    assert [row for row, _ in heat.overview.rows] == sorted(NAMES)


def test_evidence_that_no_longer_counts_is_no_failure_of_an_admitted_node(rack: tuple[Store, RunRow], tmp_path: Path) -> None:
    report = later_run(rack, tmp_path)
    assert "rdma_pair" in [f.first.topic for f in page_of(report).failures]
    admitted = tuple(replace(s, state=State.ADMITTED) for s in report.sections)
    assert "rdma_pair" not in [f.first.topic for f in page_of(replace(report, sections=admitted)).failures]


def test_a_run_after_which_nothing_counts_says_that_it_measured_nothing(rack: tuple[Store, RunRow], tmp_path: Path) -> None:
    bring(rack[0], "r12-n04", State.REGISTERED)
    for name in NAMES:
        if name != "r12-n04":
            bring(rack[0], name, State.QUARANTINED)
    assert "this run measured nothing" in render_page(later_run(rack, tmp_path))


def test_a_killed_run_is_unfinished(rack: tuple[Store, RunRow]) -> None:
    store, _run = rack
    dead = replace(a_run("20260314-110000-provision-dead"), holder=replace(processes.current(), pid=2**22 - 1))
    store.start_run(dead, ["r12-n04"])
    page = collect(store, store.run(dead.id), Path("/"))
    assert page.status == "unfinished"
    assert "unfinished" in render_page(page)


def test_a_run_without_a_directory_has_no_files_of_the_working_directory(
    rack: tuple[Store, RunRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, run = rack
    monkeypatch.chdir(run.directory)
    assert report_of(rack).links
    alone = a_run("20260314-110000-provision-dead")
    store.start_run(alone, ["r12-n04"])
    page = collect(store, store.run(alone.id), Path("/"))
    assert (page.links, [s.links for s in page.sections], page.records) == ((), [()], ())


@pytest.mark.parametrize("content", ["", "not json", '{"schema_version": 99, "records": []}', '{"schema_version": 1}'])
def test_damaged_records_are_told_not_hidden(rack: tuple[Store, RunRow], content: str) -> None:
    (Path(rack[1].directory) / "gates/rdma_pair/r12-n01.json").write_text(content)
    report = report_of(rack)
    page = page_of(report)
    assert page.heatmap.overview is None
    assert "r12-n01.json" in page.heatmap.problem
    assert "r12-n01.json" in render_page(report)


def test_last_is_the_last_that_worked_on_nodes(rack: tuple[Store, RunRow]) -> None:
    store, run = rack
    store.start_run(a_run("20270101-000000-lab-ffff", verb="lab"))
    assert chosen_run(store, "last").id == run.id


def test_the_heatmap_shows_the_slow_hca_and_only_it(rack: tuple[Store, RunRow]) -> None:
    heat = page_of(report_of(rack)).heatmap
    assert heat.overview is not None
    low = [(row, heat.overview.columns[i]) for row, cells in heat.overview.rows for i, c in enumerate(cells) if c.is_low]
    assert low == [("r12-n04", "mlx5_3")]
    assert [g.title for g in heat.rails if g.has_low] == ["mlx5_3"]
    assert len(heat.rails) == RAILS
    grid = heat.rails[3]
    rows = dict(grid.rows)
    assert [c.is_low for c in rows["r12-n04"]] == [True, True, True, False, True, True]
    assert rows["r12-n01"][0].value_gbps is None
    assert heat.overview.rows[0][1][0].title.startswith("r12-n01 mlx5_0, median of 5; lowest 19")


def test_a_pair_without_a_number_is_not_the_same_as_one_that_did_not_meet(rack: tuple[Store, RunRow]) -> None:
    records = rawfile.read_all(Path(rack[1].directory))
    broken = [replace(r, stdout="", exit_status=1) if r.device == "mlx5_0" and "n01" in r.node else r for r in records]
    absent = [r for r in broken if not (r.device == "mlx5_0" and {r.node, r.peer} == {"r12-n02", "r12-n03"})]
    grid = next(g for g in heatmap.build_heatmap(absent, []).rails if g.title == "mlx5_0")
    rows = dict(grid.rows)
    assert rows["r12-n01"][1].failed
    assert "exit status 1" in rows["r12-n01"][1].title
    assert not rows["r12-n02"][2].failed
    assert rows["r12-n02"][2].title == "r12-n02 and r12-n03 were not measured together"


def test_floors_of_the_heatmap_are_the_limits_of_the_results(rack: tuple[Store, RunRow]) -> None:
    records = rawfile.read_all(Path(rack[1].directory))
    result = replace(a_result(node="r12-n01", device="mlx5_0"), expected="as fast as its partners", limit=1000.0)
    heat = heatmap.build_heatmap(records, [result, replace(result, device="mlx5_1", limit=None, expected=">= 1000 Gb/s")])
    assert heat.overview is not None
    row = dict(heat.overview.rows)["r12-n01"]
    assert [c.is_low for c in row] == [True, False, False, False]


def test_no_records_no_heatmap() -> None:
    assert heatmap.build_heatmap([], []).problem == "no pair was measured in this run"


def test_a_class_that_is_slow_as_a_whole_is_shown_once(rack: tuple[Store, RunRow]) -> None:
    slow = SlowClass(
        "nccl_node", "busbw", "GB/s", "", None, DeviceClass("NVIDIA H100", (), "2.17.6"), NAMES, 6, 500.0, 540.0, HOSTILE, -20.0
    )
    file = Path(rack[1].directory) / "gates" / "slow_classes.json"
    file.write_text(json.dumps(slow_document([slow])))
    assert report_of(rack).slow == (slow,)
    html = render_page(report_of(rack))
    for words in ("the whole group is slow", "500.0 GB/s, median of 6 values on 6 nodes", "540.0 GB/s", "NVIDIA H100, 2.17.6"):
        assert html.count(words) == 1
    assert "alert(1)</script>" not in html
    file.write_text('{"schema_version": 1}')
    with pytest.raises(ConfigError, match="damaged"):
        report_of(rack)


def test_a_unit_with_several_versions_is_shown_once(rack: tuple[Store, RunRow]) -> None:
    folder = Path(rack[1].directory) / "gates"
    first, second, *_ = NAMES
    kernels = {first: "6.8.0-1040-nvidia", second: HOSTILE}
    installed = {name: [InstalledVersion("kernel", "", version)] for name, version in kernels.items()}
    (folder / "installed_versions.json").write_text(json.dumps(installed_document(installed)))
    assert report_of(rack).installed_skews == (), "of a run without a burn-in no unit is known"
    nodes = [replace(a_node(name), place=Place(su="su7")) for name in NAMES]
    header = header_of("standard", ["nccl_node"], nodes, [], impossible={}, pairs=None)
    (folder / "burnin.json").write_text(json.dumps(header.to_json()))
    (found,) = report_of(rack).installed_skews
    assert (found.unit, found.component, len(found.versions)) == ("su7", "kernel", 2)
    store, run = rack
    tools = {first: "2.17.6", second: "2.13.8"}
    of_gates = [(gate, name) for gate in ("nccl_node", "of_another_site") for name in tools]
    store.save_gate_results(
        run.id, [replace(a_result(node=name, gate=gate), tool_version=tools[name]) for gate, name in of_gates], "standard"
    )
    (tool,) = report_of(rack).version_skews
    assert (tool.unit, tool.gate) == ("su7", "nccl_node")
    html = render_page(report_of(rack))
    assert html.count("nccl_node was measured with different versions of nccl_tests in scalable unit su7") == 1
    assert html.count("kernel differs in scalable unit su7") == 1
    assert "alert(1)</script>" not in html
