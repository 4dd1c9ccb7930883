"""After healing, a drift run and its files tell what holds then."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar
from xml.etree import ElementTree as ET

import pytest

from clusterctl.adapters.config import Config
from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.pools.marking import mark_text
from clusterctl.adapters.store import Store
from clusterctl.adapters.validators import ValidationSettings
from clusterctl.core.breaker import Breaker
from clusterctl.core.maintenance_windows import DatedWindow, MaintenanceWindows
from clusterctl.core.pool_limits import PoolLimits
from clusterctl.model.drift import DriftAction
from clusterctl.model.errors import PoolError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.findings import NodeStatus
from clusterctl.model.gate_result import Outcome
from clusterctl.model.state import State
from clusterctl.terminal.drift_files import render_files
from clusterctl.workflows.drift import check_drift as drift_run
from clusterctl.workflows.drift.check_drift import DriftOptions, Healed
from clusterctl_validators.finding import Severity
from support.stores import DIGEST, a_finding, a_node, a_run, bring, burn_in, findings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node
    from clusterctl.model.verdict import Reason
    from clusterctl.workflows.drift.check_drift import DriftRun
    from clusterctl.workflows.run import Run

NAMES = ("r12-n01", "r12-n02", "r12-n03")
NODES = tuple(a_node(name, slot=i) for i, name in enumerate(NAMES))
GOOD, BAD, OTHER = a_finding(), a_finding(Outcome.FAIL), a_finding(Outcome.FAIL, check="hugepages.other")
HEAL = DriftOptions("rack-12", dict.fromkeys(Severity, DriftAction.HEAL), heal=True, documents=render_files)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """A site whose three nodes are admitted."""
    config = Config(root=tmp_path, inventory=(), state_dir=tmp_path, operator="ada")
    with Store.open(config.store_url) as store:
        store.register(NODES)
        store.start_run(a_run())
        for name in NAMES:
            bring(store, name, State.PROVISIONING)
            store.transition(name, State.PROVISIONED, run_id=a_run().id, operator="ada", spec_digest=DIGEST)
    return config


def watch(config: Config, monkeypatch: pytest.MonkeyPatch, *said: NodeFindings, options: DriftOptions = HEAL) -> DriftRun:
    def answer(
        run: Run, _nodes: object, _config: object, _settings: object, on_result: Callable[[NodeFindings], None], **_: object
    ) -> None:
        for one in said:
            run.store.save_findings(run.rundir.id, one)
            on_result(one)

    monkeypatch.setattr(drift_run, "record_each", answer)
    nodes: Sequence[Node] = [n for n in NODES if n.name in {s.node for s in said}]
    return drift_run.check_drift(config, nodes, options, ValidationSettings())


def provisioned(config: Config, *said: NodeFindings) -> None:
    """What the nodes said when they were verified after provisioning."""
    with Store.open(config.store_url) as store:
        store.save_findings(a_run().id, *said)


def did(node: str, action: str = "healed") -> dict[str, str]:
    return {"node": node, "action": action, "detail": "admitted in run 2"}


def test_the_files_tell_what_holds_after_the_heal(config: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    options = replace(HEAL, textfile=tmp_path / "drift.prom")
    before = watch(config, monkeypatch, *(findings(BAD, OTHER, node=n) for n in NAMES[:2]), findings(node=NAMES[2]), options=options)
    assert before.code is ExitCode.CHANGES_PENDING
    assert '"drift",severity="major",target="rack-12"} 4.0' in (tmp_path / "drift.prom").read_text()
    provisioned(config, findings(GOOD, replace(OTHER, outcome=Outcome.PASS), node=NAMES[0]))
    after = drift_run.update_after_healing(before, config, options, Healed((did(NAMES[0]),), ExitCode.OK))
    assert {d.node for d in after.report.deviations} == {NAMES[1]}
    said = json.loads((before.directory / "drift.json").read_text())
    assert said["summary"]["drift"] == 2
    assert said["actions"] == [{**did(NAMES[0]), "detail": "admitted in run 2; repaired: hugepages.other, hugepages.pages[1G].running"}]
    suites = {s.get("name"): s.get("failures") for s in ET.fromstring((before.directory / "drift.xml").read_text())}  # noqa: S314 our own text
    assert suites == {NAMES[0]: "0", NAMES[1]: "2", NAMES[2]: "0"}
    page = (before.directory / "drift.html").read_text()
    assert "repaired: hugepages.other" in page
    for text in ((before.directory / "drift.prom").read_text(), (tmp_path / "drift.prom").read_text()):
        assert '"drift",severity="major",target="rack-12"} 2.0' in text
        assert f'node="{NAMES[0]}"' not in text
    with Store.open(config.store_url) as store:
        assert {s.node for s in store.open_drift(NAMES)} == {NAMES[1]}, "what was repaired has ended"
        run = store.run(said["run_id"])
        assert (run.exit_code, run.summary["drift"]) == (ExitCode.CHANGES_PENDING, 2)


def test_a_node_that_is_still_coming_up_has_not_drifted(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[set[str]] = []
    down = replace(BAD, role="hardware", check="hardware.gpu[0].fabric")
    up_s = {NAMES[0]: 1e6, NAMES[1]: 30.0, NAMES[2]: 30.0}

    def answer(
        run: Run, nodes: Sequence[Node], _config: object, _settings: object, on_result: Callable[[NodeFindings], None], **_: object
    ) -> None:
        rounds.append({n.name for n in nodes})
        for node in nodes:
            bad = node.name == NAMES[0] or (node.name == NAMES[1] and len(rounds) <= 2)
            one = replace(findings(down if bad else replace(down, outcome=Outcome.PASS), node=node.name), uptime_s=up_s[node.name])
            run.store.save_findings(run.rundir.id, one)
            on_result(one)

    monkeypatch.setattr(drift_run, "record_each", answer)
    monkeypatch.setattr("clusterctl.workflows.just_booted.time.sleep", lambda _s: None)
    found = drift_run.check_drift(config, NODES, HEAL, ValidationSettings())
    assert rounds == [set(NAMES), {NAMES[1]}, {NAMES[1]}]
    assert {d.node for d in found.report.deviations} == {NAMES[0]}, "up for long, and its fabric is not"


def test_a_fleet_that_was_healed_whole_exits_with_zero(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    before = watch(config, monkeypatch, findings(BAD, node=NAMES[0]))
    provisioned(config, findings(node=NAMES[0]))
    after = drift_run.update_after_healing(before, config, HEAL, Healed((did(NAMES[0]),), ExitCode.OK))
    assert (after.code, after.shown, after.body["findings"]) == (ExitCode.OK, (), [])
    with Store.open(config.store_url) as store:
        assert store.run(after.body["run_id"]).exit_code == ExitCode.OK


class OnlyOnePool(LocalPool):
    """Fails after the first node is out, as a scheduler that goes away does."""

    def remove(self, node: str, reason: str) -> bool:
        if node != NAMES[0]:
            raise PoolError(detail="the scheduler does not answer", hint="look there")
        return super().remove(node, reason)

    def takes_jobs(self, node: str) -> bool:
        """Read back: not answered either."""
        if node != NAMES[0]:
            raise PoolError(detail="the scheduler does not answer", hint="look there")
        return node in self.members()


def test_who_is_out_is_told_where_a_drain_breaks_off(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(config.store_url) as store:
        for name in NAMES:
            burn_in(store, a_run(), name)
            bring(store, name, State.ADMITTED)
    monkeypatch.setattr(drift_run, "load_pool", lambda _name, store: OnlyOnePool(store))
    options = DriftOptions("rack-12", dict.fromkeys(Severity, DriftAction.DRAIN))
    found = watch(config, monkeypatch, *(findings(BAD, node=n) for n in NAMES[:2]), options=options)
    assert [(a["node"], a["action"]) for a in found.body["actions"]] == [(NAMES[0], "drained"), (NAMES[1], "drain refused")]
    assert found.body["actions"][1]["detail"] == "the scheduler does not answer"


class MarkedPool(LocalPool):
    """Keeps what it was told to show."""

    shown: ClassVar[dict[str, str]] = {}

    def mark(self, node: str, found: Reason) -> bool:
        """See `Marking.mark`."""
        if node == NAMES[1]:
            raise PoolError(detail="permission denied", hint="ask for it")
        self.shown[node] = mark_text(node, found)
        return True


def test_the_scheduler_shows_the_worst_check_of_a_node_that_drifted(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    admitted(config)
    monkeypatch.setattr(drift_run, "load_pool", lambda _name, store: MarkedPool(store))
    config = replace(config, limits=PoolLimits(Breaker(limit_percent=100)))
    worse = replace(OTHER, severity=Severity.CRITICAL)
    found = watch(config, monkeypatch, *(findings(BAD, worse, node=n) for n in NAMES[:2]), options=DRAIN)
    assert MarkedPool.shown == {NAMES[0]: f"check.{OTHER.check} {NAMES[0]}"}
    assert [a["action"] for a in found.body["actions"]] == ["drained", "drained"]
    assert found.body["actions"][1]["detail"].endswith("its scheduler does not show what was found: permission denied")


def test_what_is_still_bad_is_not_reported_as_repaired(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    before = watch(config, monkeypatch, findings(BAD, OTHER, node=NAMES[0]))
    provisioned(config, findings(GOOD, OTHER, node=NAMES[0]))
    after = drift_run.update_after_healing(before, config, HEAL, Healed((did(NAMES[0], "not healed"),), ExitCode.GATE_FAILED))
    assert [d.check for d in after.report.deviations] == ["hugepages.other"]
    assert after.body["actions"][0]["detail"] == "admitted in run 2; repaired: hugepages.pages[1G].running"
    assert after.code is ExitCode.GATE_FAILED


def test_a_node_that_was_lost_while_it_was_healed_is_lost(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    before = watch(config, monkeypatch, findings(BAD, node=NAMES[0]), findings(BAD, node=NAMES[1]))
    provisioned(config, findings(node=NAMES[0], status=NodeStatus.UNREACHABLE, detail="no route to host"))
    after = drift_run.update_after_healing(before, config, HEAL, Healed((did(NAMES[0], "not healed"),), ExitCode.UNREACHABLE))
    assert [x.node for x in after.report.lost] == [NAMES[0]]
    assert [d.node for d in after.report.deviations] == [NAMES[1]]


def test_who_was_left_stays_as_it_was_seen(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    before = watch(config, monkeypatch, findings(BAD, node=NAMES[0]))
    after = drift_run.update_after_healing(before, config, HEAL, Healed((did(NAMES[0], "left"),), ExitCode.CONFIG))
    assert after.report == before.report
    assert after.code is ExitCode.CONFIG


def admitted(config: Config) -> None:
    with Store.open(config.store_url) as store:
        for name in NAMES:
            burn_in(store, a_run(), name)
            bring(store, name, State.ADMITTED)
            LocalPool.create(store).admit(name, "good")


DRAIN = DriftOptions("rack-12", dict.fromkeys(Severity, DriftAction.DRAIN))


def test_drift_on_too_many_nodes_opens_the_breaker_until_a_person_looked(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    admitted(config)
    found = watch(config, monkeypatch, *(findings(BAD, node=n) for n in NAMES), options=DRAIN)
    assert {a["action"] for a in found.body["actions"]} == {"drain refused"}
    again = watch(config, monkeypatch, findings(BAD, node=NAMES[0]), options=DRAIN)
    assert [a["action"] for a in again.body["actions"]] == ["drain refused"], "one node alone, but nobody looked yet"
    with Store.open(config.store_url) as store:
        assert [(e.kind, e.operator) for e in store.breaker_events(9)] == [("tripped", "ada")]
        assert "draining 3 of 3 pool members" in store.breaker_events(1)[0].reason
        assert LocalPool.create(store).members() == set(NAMES)
        store.reset_breaker(operator="bob", reason="a wrong limit")
    after = watch(config, monkeypatch, findings(BAD, node=NAMES[0]), options=DRAIN)
    assert [a["action"] for a in after.body["actions"]] == ["drained"]


def test_a_node_that_drifted_leaves_the_pool_outside_of_the_maintenance_windows(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    admitted(config)
    past = datetime(2020, 1, 1, tzinfo=UTC)
    closed = replace(config, limits=PoolLimits(windows=MaintenanceWindows((DatedWindow(past, past),))))
    found = watch(closed, monkeypatch, findings(BAD, node=NAMES[0]), options=DRAIN)
    assert [a["action"] for a in found.body["actions"]] == ["drained"]
