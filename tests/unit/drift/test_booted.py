"""Which nodes booted since they were verified, and what becomes of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl import main
from clusterctl.adapters.config import Config
from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.ssh.remote_result import TransportError, TransportFailure
from clusterctl.adapters.store import Store
from clusterctl.adapters.validators import ValidationSettings
from clusterctl.core import timestamps
from clusterctl.core.booted import booted_since, may_return, nodes_to_verify
from clusterctl.model.boots import ReportedBoot, VerifiedBoot
from clusterctl.model.drift import DriftAction
from clusterctl.model.errors import PoolError, UsageProblemError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.findings import NodeStatus
from clusterctl.model.gate_result import Outcome
from clusterctl.model.power import Boot
from clusterctl.model.state import State
from clusterctl.workflows.drift import booted
from clusterctl.workflows.drift import check_drift as drift_run
from clusterctl.workflows.drift.check_drift import DriftOptions
from clusterctl.workflows.lemons import due_of
from clusterctl_validators.finding import Severity
from support.plain_yaml import load_yaml
from support.roles import ROOT
from support.stores import a_finding, a_node, a_run, bring, burn_in, findings, fresh

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node
    from clusterctl.workflows.drift.check_drift import DriftRun
    from clusterctl.workflows.run import Run

CASES = load_yaml((ROOT / "tests/cases/booted/boots.yml").read_text())
NAMES = ("r12-n01", "r12-n02", "r12-n03")
NODES = tuple(a_node(name, slot=i) for i, name in enumerate(NAMES))
THEN, LATER = "2026-03-01T08:00:00.000000Z", "2026-03-14T01:55:00.000000Z"
OPTIONS = DriftOptions("rack-12", dict.fromkeys(Severity, DriftAction.REPORT), booted=True)
OUT = ReportedBoot("", LATER, is_member=False, taken_out=True)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["name"])
def test_whether_a_node_booted_since(case: dict[str, Any]) -> None:
    last = VerifiedBoot("n1", **case["last"]) if case["last"] else None
    assert booted_since(ReportedBoot(**case["reported"]), last) is case["booted"]


def test_where_no_job_starts_nothing_is_verified() -> None:
    reported = {
        "in": ReportedBoot("", LATER),
        "out by a person": ReportedBoot("", LATER, is_member=False),
        "out for its boot": OUT,
        "out for its boot, and never admitted": OUT,
        "in, in the boot that was verified": ReportedBoot("", THEN),
    }
    states = {"out for its boot": State.ADMITTED, "out for its boot, and never admitted": State.REGISTERED}
    last = {name: VerifiedBoot(name, THEN, "b1", THEN) for name in reported}
    assert nodes_to_verify(reported, last, states, resume=False) == {"in", "out for its boot"}
    seen = last | {"out for its boot": VerifiedBoot("", LATER, "b2", LATER)}
    assert nodes_to_verify(reported, seen, states, resume=False) == {"in"}
    assert nodes_to_verify(reported, seen, states, resume=True) == {"in", "out for its boot"}


@pytest.mark.parametrize(
    ("reported", "verified", "state", "allowed"),
    [
        (OUT, LATER, State.ADMITTED, True),
        (OUT, THEN, State.ADMITTED, False),
        (OUT, LATER, State.DRAINED, False),
        (replace(OUT, taken_out=False), LATER, State.ADMITTED, False),
        (None, LATER, State.ADMITTED, False),
    ],
    ids=["verified in that boot", "it booted again", "drained meanwhile", "taken out by somebody else", "down again"],
)
def test_what_may_be_returned(reported: ReportedBoot | None, verified: str, state: State, allowed: bool) -> None:
    found = may_return({"n1": reported} if reported else {}, {"n1": VerifiedBoot("n1", verified, "b", verified)}, {"n1": state}, ["n1"])
    assert found == (("n1",) if allowed else ())


def test_what_counts_as_verified(tmp_path: Path) -> None:
    """The newest validation with findings, of a node that nobody held, by a run that acts on them."""
    store = fresh(tmp_path)
    store.register(NODES)
    store.start_run(a_run())
    first = replace(findings(node=NAMES[0]), at=THEN, boot_id="b1", booted_at=THEN)
    store.save_findings(a_run().id, first)
    store.save_findings(a_run().id, replace(findings(node=NAMES[0], status=NodeStatus.TIMED_OUT), at=LATER, boot_id="", booted_at=""))
    store.acquire([NAMES[0]], run_id="another", holder="bob")
    store.save_findings(a_run().id, replace(first, at=LATER, boot_id="b2", booted_at=LATER))
    assert store.verified_boots(NAMES) == {NAMES[0]: VerifiedBoot(NAMES[0], THEN, "b1", THEN)}
    store.start_run(replace(a_run(), id="looked-at", verb="validate"))
    store.release("another")
    store.save_findings("looked-at", replace(first, at=LATER, boot_id="b2", booted_at=LATER))
    assert store.verified_boots(NAMES)[NAMES[0]].boot_id == "b1", "nothing acted on what it found"
    store.save_findings(a_run().id, replace(first, at=LATER, boot_id="b2", booted_at=LATER))
    assert store.verified_boots(NAMES)[NAMES[0]].boot_id == "b2"


class ReportedPool(LocalPool):
    """A scheduler that reports boots, and took nodes out for theirs."""

    reported: Mapping[str, ReportedBoot] = {}
    refuses = ""

    def boots(self) -> Mapping[str, ReportedBoot]:
        """See `ReportingBoots.boots`."""
        return self.reported

    def return_booted(self, node: str) -> bool:
        """See `ReturningBooted.return_booted`."""
        if self.refuses:
            raise PoolError(detail=self.refuses, hint="look there")
        return self.admit(node, "booted")


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """A site whose three nodes are admitted, verified in the boot of then."""
    config = Config(root=tmp_path, inventory=(), state_dir=tmp_path, operator="ada")
    with Store.open(config.store_url) as store:
        store.register(NODES)
        store.start_run(a_run())
        for name in NAMES:
            bring(store, name, State.PROVISIONING, State.PROVISIONED, State.VALIDATED)
            burn_in(store, a_run(), name)
            bring(store, name, State.ADMITTED)
            store.save_findings(a_run().id, replace(findings(node=name), at=THEN, boot_id="b1", booted_at=THEN))
    monkeypatch.setattr(booted, "load_pool", lambda _declared, store: ReportedPool(store))
    return config


def reporting(monkeypatch: pytest.MonkeyPatch, **reported: ReportedBoot) -> None:
    monkeypatch.setattr(ReportedPool, "reported", {name.replace("_", "-"): boot for name, boot in reported.items()})


def selected(config: Config, *, resume: bool = False) -> tuple[tuple[str, ...], DriftOptions]:
    nodes, options = booted.select_booted(config, NODES, OPTIONS, lambda _text: None, resume=resume)
    return tuple(n.name for n in nodes), options


def run(config: Config, monkeypatch: pytest.MonkeyPatch, *answers: NodeFindings, options: DriftOptions) -> DriftRun:
    def answer(
        run: Run, nodes: Sequence[Node], _config: object, _settings: object, on_result: Callable[[NodeFindings], None], **_: object
    ) -> None:
        for one in answers:
            run.store.save_findings(run.rundir.id, one)
            on_result(one)

    monkeypatch.setattr(drift_run, "record_each", answer)
    return drift_run.check_drift(config, [n for n in NODES if n.name in {a.node for a in answers}], options, ValidationSettings())


def in_boot(name: str, *, good: bool = True, began: str = LATER) -> NodeFindings:
    return replace(findings(a_finding(Outcome.PASS if good else Outcome.FAIL), node=name), at=began, boot_id="b2", booted_at=began)


def test_the_selection_takes_what_booted_and_leaves_the_rest(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    reporting(monkeypatch, r12_n01=ReportedBoot("", THEN), r12_n02=ReportedBoot("b2"), r99_n01=ReportedBoot("b2"))
    assert selected(config)[0] == (NAMES[1],), "n03 is down, r99-n01 is not of the target"
    run(config, monkeypatch, in_boot(NAMES[1]), options=OPTIONS)
    assert selected(config)[0] == (), "it was verified in that boot"


def test_without_the_selection_there_is_nothing_to_return(config: Config) -> None:
    everything = replace(OPTIONS, booted=False)
    assert booted.select_booted(config, NODES, everything, lambda _text: None, resume=False) == (NODES, everything)
    with pytest.raises(UsageProblemError, match="--resume"):
        booted.select_booted(config, NODES, everything, lambda _text: None, resume=True)


def test_where_nothing_booted_only_the_metrics_are_written(config: Config, tmp_path: Path) -> None:
    found = drift_run.check_drift(config, (), replace(OPTIONS, textfile=tmp_path / "booted.prom"), ValidationSettings())
    assert (found.code, found.body["run_id"], found.body["summary"]["nodes"]) == (ExitCode.OK, "", 0)
    text = (tmp_path / "booted.prom").read_text()
    assert 'clusterctl_booted_drift_nodes{target="rack-12"} 0.0' in text
    assert "clusterctl_drift_" not in text, "node exporter drops files with equal samples"
    with Store.open(config.store_url) as store:
        assert [r.id for r in store.runs()] == [a_run().id]


def test_a_node_that_its_scheduler_took_out_is_returned_once_it_is_verified(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    reporting(monkeypatch, r12_n01=OUT, r12_n02=OUT, r12_n03=OUT)
    names, options = selected(config, resume=True)
    assert names == NAMES
    answers = (in_boot(NAMES[0]), in_boot(NAMES[1], good=False), in_boot(NAMES[2], began=THEN))
    found = run(config, monkeypatch, *answers, options=options)
    assert [(a["node"], a["action"]) for a in found.body["actions"]] == [(NAMES[1], "left"), (NAMES[2], "left"), (NAMES[0], "returned")]
    assert "not as declared" in found.body["actions"][0]["detail"]
    assert "not verified in that boot" in found.body["actions"][1]["detail"]
    with Store.open(config.store_url) as store:
        assert LocalPool(store).members() == {NAMES[0]}
        assert {r.node: r.outcome for r in store.run_nodes(found.body["run_id"])}[NAMES[0]] == "returned"
        assert [r.state for r in store.nodes([NAMES[0]])] == [State.ADMITTED]


def boots(config: Config, monkeypatch: pytest.MonkeyPatch, days: Sequence[int]) -> list[tuple[str, ExitCode]]:
    """What becomes of the first node when it boots by itself on these days."""
    ended = []
    for day in days:
        at = timestamps.after(LATER, day * 86_400)
        monkeypatch.setattr("clusterctl.adapters.clock.now", lambda at=at: timestamps.after(at, 60))
        reporting(monkeypatch, r12_n01=replace(OUT, booted_at=at))
        _, options = selected(config, resume=True)
        found = run(config, monkeypatch, in_boot(NAMES[0], began=at), options=options)
        ended += [(a["action"], found.code) for a in found.body["actions"]]
        with Store.open(config.store_url) as store:
            LocalPool(store).remove(NAMES[0], "booted")
    return ended


@pytest.mark.parametrize(
    ("days", "limit", "kept_out"),
    [((0, 10, 20), 3, True), ((0, 10, 41), 3, False), ((0, 16, 32, 48, 64, 80), 3, True), ((0, 1, 2, 3), 0, False), ((0,), 1, True)],
    ids=["three in a month", "not in one month", "six in a quarter", "no limit", "the first"],
)
def test_a_machine_that_boots_by_itself_too_often_is_drained_instead(
    config: Config, monkeypatch: pytest.MonkeyPatch, days: Sequence[int], limit: int, kept_out: bool
) -> None:
    site = replace(config, given_limits={"unplanned_boots": limit})
    ended = boots(site, monkeypatch, days)
    assert ended == [("returned", ExitCode.OK)] * (len(days) - kept_out) + [("drained", ExitCode.CHANGES_PENDING)] * kept_out
    with Store.open(site.store_url) as store:
        (record,) = store.nodes([NAMES[0]])
        assert record.state is (State.DRAINED if kept_out else State.ADMITTED)
        assert ("boots by itself too often" in record.reason) is kept_out
        due = due_of(store, site.lemon_limits, [NAMES[0]])
    assert bool(due) is kept_out, "it owes a burn-in of level full"


def test_a_boot_of_a_machine_that_could_not_be_drained_is_not_counted_twice(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    site = replace(config, given_limits={"unplanned_boots": 2})
    boots(site, monkeypatch, (0,))
    reporting(monkeypatch, r12_n01=replace(OUT, booted_at=timestamps.after(LATER, 9e5)))
    with Store.open(site.store_url) as store:
        store.acquire([NAMES[0]], run_id="another", holder="bob")
    _, options = selected(site, resume=True)
    found = run(site, monkeypatch, in_boot(NAMES[0], began=timestamps.after(LATER, 9e5)), options=options)
    assert [a["action"] for a in found.body["actions"]] == ["left"]
    with Store.open(site.store_url) as store:
        assert len(store.trouble_sources(THEN).boots) == 1


def test_what_is_not_asked_for_is_not_returned(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    reporting(monkeypatch, r12_n01=OUT)
    names, options = selected(config)
    assert names == (NAMES[0],)
    assert run(config, monkeypatch, in_boot(NAMES[0]), options=options).body["actions"] == []


def test_a_return_that_is_refused_is_not_a_success(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    reporting(monkeypatch, r12_n01=OUT)
    _, options = selected(config, resume=True)
    monkeypatch.setattr(ReportedPool, "refuses", "taken out by somebody else")
    found = run(config, monkeypatch, in_boot(NAMES[0]), options=options)
    assert found.body["actions"] == [{"node": NAMES[0], "action": "return refused", "detail": "taken out by somebody else"}]
    assert found.code is PoolError.exit_code


def test_a_node_that_another_run_holds_is_not_returned(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    reporting(monkeypatch, r12_n01=OUT)
    _, options = selected(config, resume=True)
    with Store.open(config.store_url) as store:
        store.acquire([NAMES[0]], run_id="another", holder="bob")
    found = run(config, monkeypatch, in_boot(NAMES[0]), options=options)
    assert [a["action"] for a in found.body["actions"]] == ["left"], "what it answered meanwhile is not evidence"


def test_a_pool_without_boots_has_its_members_queried(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that does not answer may be in another boot: the run shows why it was not verified."""
    monkeypatch.setattr(booted, "load_pool", lambda _declared, store: LocalPool(store))
    with Store.open(config.store_url) as store:
        for name in NAMES[:3]:
            LocalPool(store).admit(name, "x")
        LocalPool(store).remove(NAMES[2], "drained")

    async def read(_client: object, connection: Any, _limit_s: float) -> Boot:
        if connection == NODES[1].connection:
            raise TransportError(TransportFailure.TIMED_OUT, "no answer")
        return Boot("b1", 5.0)

    monkeypatch.setattr(booted, "read_boot", read)
    notes: list[str] = []
    nodes = [replace(NODES[0], connection=replace(NODES[0].connection, host="first")), NODES[1], NODES[2]]
    chosen, _ = booted.select_booted(config, nodes, OPTIONS, notes.append, resume=False)
    assert [n.name for n in chosen] == [NAMES[1]]
    assert notes == ["the pool reports no boots: 2 nodes queried over SSH"]


def test_seconds_between_moments() -> None:
    assert timestamps.seconds_between(THEN, timestamps.after(THEN, 90)) == 90
    assert timestamps.seconds_between(timestamps.after(THEN, 90), THEN) == -90


def test_the_document_of_a_return_has_a_schema(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    reporting(monkeypatch, r12_n01=OUT)
    _, options = selected(config, resume=True)
    found = run(config, monkeypatch, in_boot(NAMES[0]), options=options)
    schema = json.loads((ROOT / "docs/reference/schemas/drift.schema.json").read_text())
    allowed = schema["properties"]["actions"]["items"]["properties"]["action"]["enum"]
    assert {a["action"] for a in found.body["actions"]} <= set(allowed)
    assert "return refused" in allowed


def test_the_command_of_the_timer(config: Config, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing booted; then a node that is out for its boot, and as declared."""
    (config.root / "clusterctl.yml").write_text("state_dir: .\noperator: ada\n")
    monkeypatch.chdir(config.root)
    monkeypatch.setattr("clusterctl.workflows.target_filter.load_target", lambda *_, **__: NODES)
    command = ["drift", "all", "--booted", "--resume", "-o", "json"]
    reporting(monkeypatch, r12_n01=ReportedBoot("", THEN))
    assert main.call(command) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["summary"]["nodes"] == 0

    def answer(run: Run, *_args: object, **_more: object) -> None:
        run.store.save_findings(run.rundir.id, in_boot(NAMES[0]))
        _args[3](in_boot(NAMES[0]))  # type: ignore[operator]

    monkeypatch.setattr(drift_run, "record_each", answer)
    reporting(monkeypatch, r12_n01=OUT)
    assert main.call(command) == ExitCode.OK
    assert [(a["node"], a["action"]) for a in json.loads(capsys.readouterr().out)["actions"]] == [(NAMES[0], "returned")]
    assert main.call(["drift", "all", "--resume"]) == ExitCode.USAGE
