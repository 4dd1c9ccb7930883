"""Across racks, idle admitted nodes are measured by the gates of groups that all of them have."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.config import Config, read_config
from clusterctl.adapters.store import Store
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.group_findings import GroupFindings
from clusterctl.model.node import Connection, Node, NodeSpec, Place
from clusterctl.model.shard import Shard, ShardKind
from clusterctl.model.state import State
from clusterctl.workflows.burnin.recorded import BurninRun
from clusterctl.workflows.queue import measure_across as module
from support.stores import DIGEST, a_result, a_run, bring, burn_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RACKS = {"a1": "r1", "a2": "r1", "b1": "r2"}
SHARD = Shard("order-1", "", "", tuple(RACKS), "c", "ada", {"level": "full"}, ShardKind.ACROSS, id=4, token=2)
LEVELS = {"gates_levels": {"quick": ["load_errors"], "standard": ["load_errors"], "full": ["load_errors", "storage_throughput"]}}


def a_node(name: str, gates: dict[str, Any] | None = None) -> Node:
    place = Place(rack=RACKS[name], slot=1)
    return Node(name, ("all", "profile_lab"), Connection("127.0.0.1"), place, NodeSpec({"hugepages": {}}, gates or LEVELS, (), DIGEST))


@dataclass
class Site:
    config: Config
    monkeypatch: pytest.MonkeyPatch
    nodes: dict[str, Node] = field(default_factory=lambda: {n: a_node(n) for n in RACKS})
    at_work: dict[str, str] = field(default_factory=dict)
    measured: list[tuple[tuple[str, ...], Any, tuple[str, ...]]] = field(default_factory=list)

    def admit(self, *names: str) -> None:
        with Store.open(self.config.store_url) as store:
            store.register(list(self.nodes.values()))
            run = a_run()
            store.start_run(run, list(self.nodes))
            for name in names:
                burn_in(store, run, name)
                bring(store, name, State.ADMITTED)

    def measure(self, shard: Shard = SHARD) -> module.AcrossResult:
        @contextmanager
        def burnin_run(target: str, nodes: list[Node], _partners: object, _config: Config, level: str, **words: Any) -> Iterator[BurninRun]:
            self.measured.append((tuple(n.name for n in nodes), (target, level, words), ()))
            yield BurninRun(type("Dir", (), {"id": "run-9"})())

        def run_burnin(
            _subjects: object, _rundir: object, _config: Config, _level: str, *, gates: tuple[str, ...], **_words: Any
        ) -> tuple[Any, ...]:
            self.measured[-1] = (*self.measured[-1][:2], gates)
            return (a_result(node="a1"),)

        self.monkeypatch.setattr(module, "load_nodes", lambda _layers, names, **_words: tuple(self.nodes[n] for n in names.split(",")))
        self.monkeypatch.setattr(module, "busy", lambda _pool, names: {n: w for n, w in self.at_work.items() if n in names})
        self.monkeypatch.setattr(module, "burnin_run", burnin_run)
        self.monkeypatch.setattr(module, "run_burnin", run_burnin)
        self.monkeypatch.setattr(module, "group_findings", lambda *_words: GroupFindings())
        return module.measure_across(self.config, shard, ())


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clusterctl.yml").write_text("inventory: [hosts.yml]\nstate_dir: state\n")
    return Site(read_config(), monkeypatch)


def test_admitted_nodes_of_all_racks_are_measured_by_the_gates_of_groups(site: Site) -> None:
    site.admit(*RACKS)
    assert site.measure() == module.AcrossResult(ExitCode.OK, "run-9", "")
    ((names, (target, level, words), gates),) = site.measured
    assert (names, level, gates) == (("a1", "a2", "b1"), "full", ("storage_throughput",))
    assert (target, words) == ("order-1, across racks", {"in_service": True, "fence": SHARD.fence})


def test_nodes_that_run_jobs_are_left_out_and_named(site: Site) -> None:
    site.admit(*RACKS)
    site.at_work = {"a2": "job 17"}
    assert site.measure().detail == "left out: a2 run jobs"
    assert site.measured[0][0] == ("a1", "b1")


@pytest.mark.parametrize(
    ("admitted", "at_work", "why"),
    [
        ((), {}, "fewer than two racks"),
        (("a1", "a2"), {}, "fewer than two racks"),
        (("a1", "b1"), {"b1": "job 17"}, "on which no job runs; left out: b1 run jobs"),
    ],
    ids=["none", "one rack", "the other is at work"],
)
def test_one_rack_alone_is_not_measured(site: Site, admitted: tuple[str, ...], at_work: dict[str, str], why: str) -> None:
    site.admit(*admitted)
    site.at_work = at_work
    found = site.measure()
    assert (found.exit_code, found.run_id, site.measured) == (ExitCode.GATE_FAILED, "", [])
    assert why in found.detail


def test_a_level_without_such_a_gate_measures_nothing(site: Site) -> None:
    site.admit(*RACKS)
    quick = site.measure(replace(SHARD, options={"level": "quick"}))
    assert (quick.exit_code, quick.detail) == (ExitCode.OK, "not measured: level quick has no gate of groups")
    site.nodes["b1"] = a_node("b1", {"gates_levels": {level: ["load_errors"] for level in ("quick", "standard", "full")}})
    assert site.measure().detail == "not measured: level full has no gate of groups"
    assert site.measured == []
