"""A fleet is validated and recorded without holding it in memory."""

from __future__ import annotations

import gc
import json
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from clusterctl.adapters.config import Config
from clusterctl.adapters.store import Store
from clusterctl.adapters.validators import ValidationSettings, sent_findings
from clusterctl.model.errors import InterruptedRunError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.node import Node, NodeSpec, Place
from clusterctl.model.records import RunStatus
from clusterctl.model.state import State
from clusterctl.terminal.findings import show_findings
from clusterctl.workflows import validate as recorded
from clusterctl_validators.finding import Finding, Outcome
from support.fake_answers import PASS, FakeNode
from support.roles import ROOT
from support.ssh_node import SshNode

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("home")


def fleet(server: SshNode, count: int) -> tuple[Node, ...]:
    spec = NodeSpec({"example": {}}, {}, (), "digest")
    return tuple(Node(f"n{i:02}", (), server.connection(), Place(), spec) for i in range(count))


def config_of(folder: Path) -> Config:
    return Config(root=folder, inventory=(), state_dir=folder / "state", operator="ada")


def test_the_quota_of_the_site_is_sent_to_nodes(tmp_path: Path) -> None:
    config = replace(config_of(tmp_path), cpu_quota_percent=20)
    fake = FakeNode()
    with SshNode(tmp_path / "node", fake) as server:
        nodes = fleet(server, 1)
        with recorded.read_only_run("validate", "all", nodes, config) as run:
            recorded.record_each(run, nodes, config, ValidationSettings(), lambda _found: None)
    assert [request["options"]["cpu_quota_percent"] for request in fake.requests] == [20]


def test_every_node_is_stored_and_none_stays_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "_AT_A_TIME", 4)
    for kept, most in (("_arrays", "_ARRAYS_AT_MOST"), ("_parts", "_PARTS_AT_MOST")):
        monkeypatch.setattr(sent_findings, kept, {})
        monkeypatch.setattr(sent_findings, most, 1)
    most_held = 0
    seen: list[weakref.ref[Any]] = []

    def on_result(found: NodeFindings) -> None:
        nonlocal most_held
        seen.extend(weakref.ref(f) for f in found.findings)
        gc.collect()
        most_held = max(most_held, sum(ref() is not None for ref in seen))

    def differing(sent: dict[str, Any]) -> dict[str, Any]:
        """The same finding in other bytes: with equal bytes, all nodes would have one object."""
        return {**sent, "findings": [{**PASS, "check": "example.a", "unknown_key": sent["node"]}]}

    with SshNode(tmp_path / "node", FakeNode(edit=differing)) as server:
        nodes = (*fleet(server, 10), Node("n99", (), server.connection(port=1), Place(), NodeSpec({"example": {}}, {}, (), "digest")))
        with recorded.read_only_run("drift", "all", nodes, config_of(tmp_path)) as run:
            recorded.record_each(run, nodes, config_of(tmp_path), ValidationSettings(concurrency=2), on_result)
    assert run.code is ExitCode.UNREACHABLE
    assert run.summary == {"nodes": 11, "not_as_declared": ["n99"]}
    assert most_held <= 4 + 2 * 2 + 1
    with Store.open(config_of(tmp_path).store_url) as store:
        found = {n.name: store.findings(n.name, run.rundir.id) for n in nodes}
        assert {name: f.status for name, f in found.items() if f} == {n.name: NodeStatus.OK for n in nodes[:10]} | {
            "n99": NodeStatus.UNREACHABLE
        }
        assert all([c.check for c in f.findings] == ["example.a"] for name, f in found.items() if f and name != "n99")


def test_the_run_that_is_changing_a_node_meanwhile_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failing = {"check": "example.a", "role": "example", "outcome": "fail", "severity": "major", "expected": "1", "found": "0"}
    with SshNode(tmp_path / "node", FakeNode(edit=lambda answer: {**answer, "findings": [failing]})) as server:
        nodes = fleet(server, 2)
        with recorded.read_only_run("validate", "all", nodes, config_of(tmp_path)) as run:
            run.store.acquire(["n01"], run_id="run-7", holder="grace")
            results = recorded.validate_recorded(run, nodes, config_of(tmp_path), ValidationSettings())
    assert results[0].held_by == ""
    assert results[1].held_by.startswith("grace (run run-7) since ")
    show_findings(results, "table", run.rundir.id)
    assert capsys.readouterr().out.count("held by grace (run run-7) since") == 1
    show_findings(results, "json", run.rundir.id)
    document = json.loads(capsys.readouterr().out)
    Draft202012Validator(json.loads((ROOT / "docs/reference/schemas/validation.schema.json").read_text())).validate(document)
    assert [bool(n["held_by"]) for n in document["nodes"]] == [False, True]
    assert all(n["at"] for n in document["nodes"])


def test_results_before_an_interruption_are_stored(tmp_path: Path) -> None:
    received: list[str] = []

    def stop(found: NodeFindings) -> None:
        received.append(found.node)
        if len(received) == 3:
            raise KeyboardInterrupt

    with SshNode(tmp_path / "node", FakeNode()) as server:
        nodes = fleet(server, 6)
        with (
            pytest.raises(InterruptedRunError),
            recorded.read_only_run("drift", "all", nodes, config_of(tmp_path)) as run,
        ):
            recorded.record_each(run, nodes, config_of(tmp_path), ValidationSettings(concurrency=1), stop)
    with Store.open(config_of(tmp_path).store_url) as store:
        assert [n.name for n in nodes if store.findings(n.name)] == received
        assert store.run(run.rundir.id).status is RunStatus.INTERRUPTED


def test_a_single_tray_is_compared_with_the_stored_values_of_its_rack(tmp_path: Path) -> None:
    """The second tray reported another cluster; when it is quarantined later, its stored value is no longer valid."""
    variables = {"nvlink_domain_trays": 2, "nvlink_domain_ready_min": 2, "nvlink_domain_cluster_uuid": "", "nvlink_domain_clique_id": ""}
    (tmp_path / "hosts.yml").write_text("all: {hosts: {n0: {rack: r1}, n1: {rack: r1}}}\n")
    config = replace(config_of(tmp_path), inventory=(tmp_path / "hosts.yml",))

    def edit(answer: dict[str, Any]) -> object:
        one = {"check": "nvlink_domain.cluster_uuid", "role": "nvlink_domain", "outcome": "pass", "severity": "critical"}
        return {**answer, "findings": [{**one, "found": f"of {answer['node']}"}]}

    with SshNode(tmp_path / "node", FakeNode(edit=edit)) as server:
        spec = NodeSpec({"nvlink_domain": variables}, {}, (), "digest")
        nodes = [Node(f"n{i}", (), server.connection(), Place(rack="r1"), spec) for i in range(2)]

        def rack_finding(one: Node, quarantined: str = "") -> Finding:
            with recorded.read_only_run("validate", one.name, nodes, config) as run:
                if quarantined:
                    run.store.transition(quarantined, State.QUARANTINED, run_id=run.rundir.id, operator="ada", reason="for the test")
                (found,) = recorded.validate_recorded(run, [one], config, ValidationSettings())
            return next(f for f in found.findings if f.check == "nvlink_domain.rack.cluster_uuid")

        rack_findings = [rack_finding(nodes[1]), rack_finding(nodes[0]), rack_finding(nodes[0], quarantined="n1")]
    assert [f.outcome for f in rack_findings] == [Outcome.COULD_NOT_RUN, Outcome.FAIL, Outcome.COULD_NOT_RUN]
    assert rack_findings[0].reason == "1 of 2 nodes known, 2 needed: n0 not in the target, and nothing valid is stored"
    assert rack_findings[1].found == "of n0"
