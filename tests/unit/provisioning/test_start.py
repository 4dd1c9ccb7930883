"""How a provisioning run is put together from the site's configuration."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.config import Config
from clusterctl.adapters.phase_files import read_phases
from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.core.plan import make_plan
from clusterctl.model.errors import UsageProblemError
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.power import PowerAction
from clusterctl.model.provision import Note, ProvisionOptions
from clusterctl.workflows.provision import start
from clusterctl.workflows.provision.knowledge import Knowledge
from clusterctl.workflows.provision.request import ProgressListener, ProvisionRequest
from clusterctl.workflows.provision.start import plan_provision, run_provision
from clusterctl_validators.finding import Finding, Outcome, Severity
from support.gates import node
from support.stores import a_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl.model.node import Node
    from clusterctl.workflows.power.switch import PowerLimits
    from clusterctl.workflows.provision.context import RunContext
    from clusterctl.workflows.provision.query_progress import QueryProgress


@pytest.mark.parametrize("percent", [20, 0])
def test_checks_of_a_run_keep_the_sites_quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, percent: int) -> None:
    asked: list[dict[str, Any]] = []

    def validate(nodes: Sequence[Node], **how: Any) -> tuple[NodeFindings, ...]:
        asked.append(how)
        return tuple(NodeFindings(n.name, NodeStatus.OK, "", (), 0.1) for n in nodes)

    monkeypatch.setattr(start, "validate", validate)
    monkeypatch.setattr(start, "load_nodes", lambda *_args, **_how: (node("n1"),))
    config = Config(root=tmp_path, inventory=(), state_dir=tmp_path, operator="ada", cpu_quota_percent=percent)
    silent = ProgressListener(notify=lambda _: None, output=lambda _: None, confirm=lambda _: True)
    plan_provision(config, ProvisionRequest("n1", ProvisionOptions()), silent)
    assert [how["settings"].cpu_quota_percent for how in asked] == [percent]


def test_a_run_records_its_phases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def validate(nodes: Sequence[Node], *, listener: QueryProgress, **_how: Any) -> tuple[NodeFindings, ...]:
        for one in nodes:
            listener.started(one.name)
            listener.answered(one.name)
        return tuple(NodeFindings(n.name, NodeStatus.UNREACHABLE, "", (), 0.1) for n in nodes)

    monkeypatch.setattr(start, "validate", validate)
    monkeypatch.setattr(start, "load_nodes", lambda *_args, **_how: (node("n1"),))
    config = Config(root=tmp_path, inventory=(), state_dir=tmp_path, operator="ada")
    silent = ProgressListener(notify=lambda _: None, output=lambda _: None, confirm=lambda _: False)
    run_provision(config, ProvisionRequest("n1", ProvisionOptions()), silent)
    (directory,) = (tmp_path / "runs").iterdir()
    first = read_phases(directory)[0]
    assert (first.phase, first.nodes, list(first.spans), first.is_over) == ("check", ("n1",), ["n1"], True)


def test_a_role_that_no_node_has_is_refused_before_anything_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "load_nodes", lambda *_args, **_how: (node("n1"),))
    config = Config(root=tmp_path, inventory=(), state_dir=tmp_path, operator="ada")
    silent = ProgressListener(notify=lambda _: None, output=lambda _: None, confirm=lambda _: True)
    with pytest.raises(UsageProblemError, match="no node of the target has role 'hardwara'; did you mean 'hardware'") as caught:
        run_provision(config, ProvisionRequest("n1", ProvisionOptions(roles=("hardwara",))), silent)
    assert caught.value.hint == "roles of the target: hardware"
    assert not (tmp_path / "runs").exists()


def test_a_node_that_is_declared_as_other_hardware_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(start, "validate", lambda nodes, **_how: [NodeFindings(n.name, NodeStatus.OK, "", (), 0.1) for n in nodes])
    config = Config(root=tmp_path, inventory=(), state_dir=tmp_path, operator="ada")
    listener = ProgressListener(notify=told.append, output=lambda _: None, confirm=lambda _: True)
    for profile in ("profile_h100", "profile_h100", "profile_gb200", ""):
        one = replace(node("n1"), groups=(profile,))
        monkeypatch.setattr(start, "load_nodes", lambda *_args, one=one, **_how: (one,))
        plan_provision(config, ProvisionRequest("n1", ProvisionOptions()), listener)
    notes = [p.text for p in told if isinstance(p, Note) and "declared" in p.text]
    assert notes == ["n1 is declared as profile_gb200, it was profile_h100: what is recorded of it is about the hardware before"]


def test_power_cycles_of_a_run_keep_the_sites_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[list[str], PowerAction, str, bool]] = []

    def switch(nodes: Sequence[Node], accesses: dict[str, str], action: PowerAction, limits: PowerLimits, _ended: object) -> tuple[()]:
        asked.append(([f"{n.name} {accesses[n.name]}" for n in nodes], action, limits.budget, limits.force))
        return ()

    def check(context: RunContext) -> Knowledge:
        context.services.power_cycle(context.nodes)
        return Knowledge(make_plan((), ProvisionOptions(), read_traits(())), {})

    monkeypatch.setattr(start, "switch_nodes", switch)
    monkeypatch.setattr(start, "load_bmcs", lambda _layers, names, *, vault_ids: dict.fromkeys(names, f"bmc {vault_ids}"))
    monkeypatch.setattr(start, "load_nodes", lambda *_args, **_how: (node("n1"),))
    monkeypatch.setattr(start, "check_nodes", check)
    config = Config(root=tmp_path, inventory=(), state_dir=tmp_path, operator="ada", reboot_budget="3")
    silent = ProgressListener(notify=lambda _: None, output=lambda _: None, confirm=lambda _: True)
    plan_provision(config, ProvisionRequest("n1", ProvisionOptions(), vault_ids=("site@v",)), silent)
    assert asked == [(["n1 bmc ('site@v',)"], PowerAction.CYCLE, "3", False)]


def test_a_burn_in_names_the_nodes_with_another_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    kernels = {"n1": "6.8.0-1040-nvidia", "n2": "6.8.0-1046-nvidia", "n3": "6.8.0-1046-nvidia"}

    def seen(name: str) -> NodeFindings:
        kernel = Finding("kernel.release.running", "kernel", Outcome.NOT_APPLICABLE, Severity.MINOR, found=kernels[name])
        return NodeFindings(name, NodeStatus.OK, "", (kernel,), 0.1)

    def check(context: RunContext) -> Knowledge:
        services = context.services
        services.store.start_run(a_run("earlier"), kernels)
        services.store.save_findings("earlier", *map(seen, kernels))
        assert services.burn_in(context.nodes, (), lambda _: None) == ()
        return Knowledge(make_plan((), ProvisionOptions(), read_traits(())), {})

    monkeypatch.setattr(start, "run_burnin", lambda *_args, **_how: ())
    monkeypatch.setattr(start, "load_nodes", lambda *_args, **_how: tuple(map(node, kernels)))
    monkeypatch.setattr(start, "check_nodes", check)
    config = Config(root=tmp_path, inventory=(), state_dir=tmp_path, operator="ada")
    listener = ProgressListener(notify=told.append, output=lambda _: None, confirm=lambda _: True)
    plan_provision(config, ProvisionRequest("n1,n2,n3", ProvisionOptions()), listener)
    notes = [p.text for p in told if isinstance(p, Note) and "differs" in p.text]
    assert [n.partition("; no verdict")[0] for n in notes] == [
        "warning: kernel differs: n1: 6.8.0-1040-nvidia, against 6.8.0-1046-nvidia on most (2 nodes)"
    ]
