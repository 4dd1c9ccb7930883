"""A fleet is asked and recorded without holding it in memory."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.config import Config
from clusterctl.exit_codes import ExitCode
from clusterctl.findings import NodeFindings, NodeStatus
from clusterctl.node import Node, NodeSpec, Place
from clusterctl.store import Store
from clusterctl.store.records import RunStatus
from clusterctl.validation import Settings, recorded
from support.fake_answers import FakeNode
from support.ssh_node import SshNode

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("home")


def fleet(server: SshNode, count: int) -> tuple[Node, ...]:
    spec = NodeSpec({"example": {}}, {}, (), "digest")
    return tuple(Node(f"n{i:02}", (), server.connection(), Place(), spec) for i in range(count))


def config_of(folder: Path) -> Config:
    return Config(root=folder, inventory=(), state_dir=folder / "state", operator="ada")


def test_every_node_is_stored_and_none_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "_AT_A_TIME", 4)
    most_held = 0
    seen: list[weakref.ref[Any]] = []

    def told(found: NodeFindings) -> None:
        nonlocal most_held
        seen.extend(weakref.ref(f) for f in found.findings)
        gc.collect()
        most_held = max(most_held, sum(ref() is not None for ref in seen))

    with SshNode(tmp_path / "node", FakeNode()) as server:
        nodes = (*fleet(server, 10), Node("n99", (), server.connection(port=1), Place(), NodeSpec({"example": {}}, {}, (), "digest")))
        with recorded.read_only_run("drift", "all", nodes, config_of(tmp_path)) as run:
            recorded.record_each(run, nodes, config_of(tmp_path), Settings(concurrency=2), told)
    assert run.code is ExitCode.UNREACHABLE
    assert run.summary == {"nodes": 11, "not_as_declared": ["n99"]}
    assert most_held <= 4 + 2 * 2
    with Store.open(config_of(tmp_path).store_url) as store:
        found = {n.name: store.findings(n.name, run.rundir.id) for n in nodes}
        assert {name: f.status for name, f in found.items() if f} == {n.name: NodeStatus.OK for n in nodes[:10]} | {
            "n99": NodeStatus.UNREACHABLE
        }
        assert all([c.check for c in f.findings] == ["example.a"] for name, f in found.items() if f and name != "n99")


def test_what_was_answered_before_an_interruption_is_kept(tmp_path: Path) -> None:
    answered: list[str] = []

    def stop(found: NodeFindings) -> None:
        answered.append(found.node)
        if len(answered) == 3:
            raise KeyboardInterrupt

    with SshNode(tmp_path / "node", FakeNode()) as server:
        nodes = fleet(server, 6)
        with (
            pytest.raises(KeyboardInterrupt),
            recorded.read_only_run("drift", "all", nodes, config_of(tmp_path)) as run,
        ):
            recorded.record_each(run, nodes, config_of(tmp_path), Settings(concurrency=1), stop)
    with Store.open(config_of(tmp_path).store_url) as store:
        assert [n.name for n in nodes if store.findings(n.name)] == answered
        assert store.run(run.rundir.id).status is RunStatus.INTERRUPTED
