"""`drain` as it is typed: what still runs on the nodes is named, and waited for with --wait. The pool is a fake."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl import main
from clusterctl.adapters.pools import loader
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.move import Move, MoveOutcome, StillRunning
from clusterctl.model.state import State
from clusterctl.terminal.moves import show_drained
from support.busy_pool import BusyPool
from support.rack_after_run import pooled_rack
from support.stores import bring

if TYPE_CHECKING:
    from pathlib import Path

JOBS = {"r12-n01": "job 17 of eve, 19 of eve", "r12-n03": "job 18 of bob"}
DRAIN = ("drain", "r12-n01,r12-n02", "--reason", "fan noise")


class Site:
    """A rack in a database, and the verb in this process."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._patch, self._capsys = monkeypatch, capsys
        self.store = pooled_rack(folder)
        (folder / "clusterctl.yml").write_text("state_dir: .\noperator: ada\n")
        monkeypatch.chdir(folder)

    def has(self, jobs: dict[str, str], **more: Any) -> None:
        self._patch.setattr(loader, "load_pool", lambda _declared, store: BusyPool(store, jobs, **more))

    def run(self, *words: str) -> tuple[int, str, str]:
        code = main.call([*DRAIN, *words])
        captured = self._capsys.readouterr()
        return code, captured.out, captured.err

    def states(self) -> set[State]:
        return {n.state for n in self.store.nodes(["r12-n01", "r12-n02"])}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Site:
    return Site(tmp_path, monkeypatch, capsys)


def test_what_still_runs_is_named_and_not_waited_for(site: Site) -> None:
    site.has(JOBS)
    code, _, err = site.run()
    assert (code, err.splitlines()) == (ExitCode.OK, ["r12-n01: still in use: job 17 of eve, 19 of eve"])
    assert site.states() == {State.DRAINED}
    code, out, _ = site.run("-o", "json")
    nodes = json.loads(out)["nodes"]
    assert [(n["name"], n["outcome"], n["running"]) for n in nodes] == [
        ("r12-n01", "already", "job 17 of eve, 19 of eve"),
        ("r12-n02", "already", ""),
    ]


def test_it_waits_for_the_end_of_jobs(site: Site) -> None:
    site.has(JOBS, questions=2)
    code, _, err = site.run("--wait")
    assert (code, err.splitlines()) == (ExitCode.OK, ["r12-n01: waiting for job 17 of eve, 19 of eve"])
    assert site.store.leases() == ()


def test_jobs_that_outlast_the_wait_are_changes_pending(site: Site) -> None:
    site.has(JOBS)
    code, _, err = site.run("--wait")
    assert code == ExitCode.CHANGES_PENDING
    assert err.splitlines()[-1] == "r12-n01: still in use: job 17 of eve, 19 of eve"
    assert site.states() == {State.DRAINED}


@pytest.mark.parametrize(("words", "expected"), [((), ExitCode.OK), (("--wait",), ExitCode.CONFIG)])
def test_a_pool_that_does_not_say_what_runs(site: Site, words: tuple[str, ...], expected: ExitCode) -> None:
    site.has({}, silent=True)
    code, out, err = site.run("-o", "json", *words)
    assert code == expected
    assert [n["running"] for n in json.loads(out)["nodes"]] == [None, None]
    assert "what still runs there is not known: slurmctld does not answer" in err
    assert "hint: `scontrol ping`" in err
    assert site.states() == {State.DRAINED}


def test_the_jobs_of_a_node_that_stays_where_it_is_are_not_named(site: Site) -> None:
    site.has(JOBS)
    bring(site.store, "r12-n01", State.DRAINED, State.RETIRED)
    code, out, err = site.run("--wait", "-o", "json")
    assert code == ExitCode.USAGE
    assert "job" not in err
    assert [(n["outcome"], n["running"]) for n in json.loads(out)["nodes"]] == [("refused", None), ("moved", "")]


@pytest.mark.parametrize(("words", "code"), [((), "person"), (("--code", "fan.psu-2"), "person.fan.psu-2")])
def test_the_record_has_a_code_for_what_a_person_does(site: Site, words: tuple[str, ...], code: str) -> None:
    site.has({})
    assert [n["reason_code"] for n in json.loads(site.run("-o", "json", *words)[1])["nodes"]] == [code, code]
    step = site.store.history("r12-n01")[-1]
    assert (step.reason, step.reason_code, step.cause) == ("fan noise", code, None)
    assert [n["reason_code"] for n in json.loads(site.run("-o", "json")[1])["nodes"]] == [code, code], "it stays where nothing is changed"


@pytest.mark.parametrize("code", ["", "two words", "$(id)", "a,b", "a=b", "größe", "'x'", "x\ny", "-x", "x" * 33])
def test_a_code_that_a_scheduler_or_a_shell_would_read_otherwise_is_a_usage_error(site: Site, code: str) -> None:
    site.has({})
    assert site.run("--code", code)[0] == ExitCode.USAGE
    assert site.states() == {State.ADMITTED}


def test_nodes_that_a_lost_scheduler_keeps_are_named_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    kept = [
        Move(n, State.ADMITTED, State.ADMITTED, "slurmctld does not answer", MoveOutcome.REFUSED, "`scontrol ping`") for n in ("a1", "a2")
    ]
    gone = Move("a0", State.ADMITTED, State.DRAINED, "fan")
    assert show_drained([gone, *kept], "table", StillRunning({})) is ExitCode.USAGE
    shown = capsys.readouterr()
    assert shown.err.count("slurmctld does not answer") == 1
    assert "a1, a2: slurmctld does not answer" in shown.err
