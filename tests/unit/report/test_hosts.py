"""`report --hosts`: the nodes of a run as names for pipes and for Slurm."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl import main
from clusterctl.core.run_hosts import hosts_of_run
from clusterctl.model.findings import NodeStatus
from clusterctl.model.gate_result import Outcome
from clusterctl.model.hosts_of_run import HostsOfRun
from clusterctl.model.records import NodeRecord, RunStatus
from clusterctl.model.run_report import NodeSection
from clusterctl.model.state import State
from clusterctl.workflows.collect_report import node_sections
from support.rack_after_run import NAMES, SLOW, provisioned_rack
from support.stores import a_finding, a_node, a_result, a_run, findings, fresh

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.store import Store
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.records import RunRow

N1, N2, N3, N4 = NAMES[:4]
RECORD = NodeRecord(N1, "rack_12", 1, (), State.PROVISIONED, "", "", "", "", "")
SECTION = NodeSection(RECORD, State.PROVISIONED, "", None, None, (), None, (), ())


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clusterctl.yml").write_text("state_dir: state\n")
    return tmp_path / "state"


def ended(store: Store, verb: str, status: RunStatus, found: list[NodeFindings], results: list[GateResult]) -> RunRow:
    """A run of four nodes with this evidence."""
    run = a_run(f"20260315-090000-{verb}-bbbb", verb=verb)
    store.register([a_node(name) for name in NAMES[:4]])
    store.start_run(run, NAMES[:4])
    store.save_findings(run.id, *found)
    store.save_gate_results(run.id, results)
    store.finish_run(run.id, status, 0, {})
    return store.run(run.id)


def listed(store: Store, run: RunRow, wanted: HostsOfRun) -> tuple[str, ...]:
    return hosts_of_run(run, node_sections(store, run, {}), wanted)


def test_provision_passes_what_it_left_admitted(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    provisioned_rack(site)[0].close()
    said = {}
    for wanted in HostsOfRun:
        assert main.call(["report", "--hosts", wanted.value]) == 0
        said[wanted] = capsys.readouterr().out
    assert said[HostsOfRun.PASSING].split("\n") == [*(n for n in NAMES if n != SLOW[0]), ""]
    assert said[HostsOfRun.FAILING] == f"{SLOW[0]}\n"
    assert said[HostsOfRun.EXCLUDE] == f"{SLOW[0]}\n"


def test_validate_passes_what_is_as_declared(tmp_path: Path) -> None:
    found = [
        findings(a_finding(Outcome.WARN), node=N1),
        findings(a_finding(), a_finding(Outcome.COULD_NOT_RUN, check="hugepages.x"), node=N2),
        findings(node=N3, status=NodeStatus.UNREACHABLE),
    ]
    with fresh(tmp_path) as store:
        run = ended(store, "validate", RunStatus.INTERRUPTED, found, [])
        assert listed(store, run, HostsOfRun.PASSING) == (N1,)
        assert listed(store, run, HostsOfRun.FAILING) == (N2, N3, N4)
        assert listed(store, run, HostsOfRun.EXCLUDE) == ("r12-n[02-04]",)


@pytest.mark.parametrize(("status", "passing"), [(RunStatus.DONE, (N1, N2)), (RunStatus.INTERRUPTED, ()), (RunStatus.ABANDONED, ())])
def test_burnin_passes_what_it_measured_to_its_end(tmp_path: Path, status: RunStatus, passing: tuple[str, ...]) -> None:
    results = [a_result(node=N1), a_result(Outcome.WAIVED, node=N2), a_result(node=N3), a_result(Outcome.FAIL, node=N3, device="mlx5_0")]
    with fresh(tmp_path) as store:
        run = ended(store, "burnin", status, [], results)
        assert listed(store, run, HostsOfRun.PASSING) == passing
        assert set(listed(store, run, HostsOfRun.FAILING)) == {N1, N2, N3, N4} - set(passing)


def test_evidence_of_an_earlier_run_is_not_that_of_this_one(tmp_path: Path) -> None:
    with fresh(tmp_path) as store:
        ended(store, "validate", RunStatus.DONE, [findings(node=n) for n in NAMES[:4]], [a_result(node=n) for n in NAMES[:4]])
        for verb in ("burnin", "validate"):
            later = replace(a_run(verb=verb), id=f"20260316-090000-{verb}-cccc")
            store.start_run(later, NAMES[:4])
            store.finish_run(later.id, RunStatus.DONE, 0, {})
            assert listed(store, store.run(later.id), HostsOfRun.PASSING) == ()


def test_nothing_is_printed_where_none_is_to_be_excluded(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fresh(site) as store:
        ended(store, "validate", RunStatus.DONE, [findings(node=n) for n in NAMES[:4]], [])
    assert main.call(["report", "--hosts", "exclude"]) == 0
    assert capsys.readouterr().out == ""


@given(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(Outcome)))
def test_each_node_is_in_exactly_one_list(outcomes: dict[str, Outcome]) -> None:
    run = replace(a_run(verb="burnin"), status=RunStatus.DONE)
    sections = [replace(SECTION, record=replace(SECTION.record, name=n), gate_results=(a_result(o, node=n),)) for n, o in outcomes.items()]
    both = [hosts_of_run(run, sections, wanted) for wanted in (HostsOfRun.PASSING, HostsOfRun.FAILING)]
    assert sorted(both[0] + both[1]) == sorted(outcomes)


@pytest.mark.parametrize("words", [("-o", "json"), ("--out", "x"), ("--bundle", "x.tar.gz"), ("--compare", "last", "last")])
def test_names_go_with_no_other_output(site: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    fresh(site).close()
    assert main.call(["report", "--hosts", "passing", *words]) == 2
    assert "--hosts prints names" in capsys.readouterr().err


def test_a_run_that_judged_no_nodes_is_refused(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fresh(site) as store:
        run = ended(store, "power", RunStatus.DONE, [], [])
    assert main.call(["report", run.id, "--hosts", "passing"]) == 2
    assert "judged no nodes" in capsys.readouterr().err
