"""Puts a provisioning run together: configuration and target in, real edges around, result out."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from clusterctl.adapters.ansible.runner import run_playbook
from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.adapters.pools.loader import load_pool
from clusterctl.adapters.run_directory import RunDir
from clusterctl.adapters.signing import signer
from clusterctl.adapters.store import Store
from clusterctl.adapters.validators import ValidationSettings, validate
from clusterctl.adapters.versions import versions
from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.core.redact import Redactor
from clusterctl.model.errors import LeaseHeldError, UsageProblemError
from clusterctl.model.provision import Note, ProvisionOptions
from clusterctl.model.state import State
from clusterctl.workflows.burnin.measure_and_judge import run_burnin
from clusterctl.workflows.provision.check import check_nodes
from clusterctl.workflows.provision.context import RunContext, Services
from clusterctl.workflows.provision.flow import provision, warn
from clusterctl.workflows.provision.resume import resumed, save_request, take_over
from clusterctl.workflows.provision.session import session
from clusterctl.workflows.target_filter import present

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from clusterctl.adapters.config import Config
    from clusterctl.core.gates.gates_profile import GatesProfile
    from clusterctl.core.saved_plan import SavedPlan
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.node import Node
    from clusterctl.model.provision import Plan, Progress, ProvisionResult
    from clusterctl.model.task_event import TaskEvent


@dataclass(frozen=True, slots=True)
class ProvisionRequest:
    """What the operator asked for.

    Attributes:
        target: a host pattern; empty with `resume`.
        resume: an earlier run to go on with; its nodes, inventory and options are taken.
        agreed: a plan that the nodes must still fit.
    """

    target: str
    options: ProvisionOptions
    limit: str | None = None
    extra_vars: tuple[str, ...] = ()
    vault_ids: tuple[str, ...] = ()
    resume: str = ""
    agreed: SavedPlan | None = None


@dataclass(frozen=True, slots=True)
class ProgressListener:
    """Who watches: progress, Ansible's own output (with -v), and the one question."""

    notify: Callable[[Progress], None]
    output: Callable[[str], None]
    confirm: Callable[[Plan], bool]


def run_provision(config: Config, request: ProvisionRequest, listener: ProgressListener) -> ProvisionResult:
    """Provision.

    Raises:
        ClusterctlError: with the exit code of whatever made it impossible; see docs/reference/exit-codes.md.
    """
    with Store.open(config.store_url) as store:
        started = _Start.prepare(config, request, store, listener)
        names = [n.name for n in started.nodes]
        partners = [p.name for p in started.partners]
        for text in take_over(store, names):
            listener.notify(Note(text))
        rundir = RunDir.create(config.state_dir, "provision")
        argv = [Redactor()(word) for word in sys.argv[1:]]
        target = request.target or f"--resume {request.resume}"
        try:
            with session(store, rundir, target=target, operator=config.operator, nodes=names, argv=argv, partners=partners) as keeper:
                save_request(rundir, started.inventory, target, started.options)
                context = started.run_context(rundir, listener)
                context.lease_lost = keeper.lost.is_set
                return provision(context, listener.confirm, {n: p.baselines for n, p in started.profiles.items()}, versions())
        except LeaseHeldError:
            rundir.path.rmdir()
            raise


def plan_provision(config: Config, request: ProvisionRequest, listener: ProgressListener) -> Plan:
    """What `run` would do; touches nothing and records nothing but where the nodes stand."""
    with Store.open(config.store_url) as store:
        started = _Start.prepare(config, request, store, listener)
        context = started.run_context(RunDir("plan", config.state_dir), listener)
        made = check_nodes(context)
        warn(context, made)
        return made


def _refuse_bad_partners(store: Store, names: Sequence[str]) -> None:
    """Whoever is measured against must be known to be good: a bad partner would be believed, and the wrong node blamed."""
    for record in store.nodes(names):
        if record.state is not State.ADMITTED:
            hint = "name admitted nodes; `clusterctl status` lists them"
            raise UsageProblemError(detail=f"{record.name} is {record.state}: not known to be good, so no partner", hint=hint)


@dataclass(frozen=True, slots=True)
class _Start:
    config: Config
    store: Store
    inventory: tuple[Path, ...]
    options: ProvisionOptions
    nodes: tuple[Node, ...]
    partners: tuple[Node, ...]
    profiles: dict[str, GatesProfile]
    agreed: SavedPlan | None = None

    @classmethod
    def prepare(cls, config: Config, request: ProvisionRequest, store: Store, listener: ProgressListener) -> _Start:
        inventory, target, options = config.inventory, request.target, request.options
        if request.resume:
            left = resumed(store, request.resume, options.ansible_args)
            inventory, options = left.inventory, left.options
            target = request.target or ",".join(left.nodes)
        load = partial(load_nodes, inventory, extra_vars=request.extra_vars, vault_ids=request.vault_ids)
        nodes = present(store, load(target, limit=request.limit), lambda text: listener.notify(Note(text)))
        partners = load(",".join(options.partners)) if options.partners else ()
        partners = tuple(p for p in partners if p.name not in {n.name for n in nodes})
        today = datetime.now(UTC).date()
        profiles = {n.name: profile_of(n, today) for n in (*nodes, *partners)}
        store.register((*nodes, *partners))
        _refuse_bad_partners(store, [p.name for p in partners])
        return cls(config, store, inventory, options, nodes, partners, profiles, request.agreed)

    def run_context(self, rundir: RunDir, listener: ProgressListener) -> RunContext:
        config, options = self.config, self.options

        def burn_in(nodes: Sequence[Node], partners: Sequence[Node], on_event: Callable[[TaskEvent], None]) -> Sequence[GateResult]:
            return run_burnin(nodes, rundir, replace(config, inventory=self.inventory), options.level, partners=partners, on_event=on_event)

        services = Services(
            store=self.store,
            pool=load_pool(config.pool, self.store),
            play=partial(run_playbook, on_output=listener.output if options.verbosity else None),
            validate=partial(
                validate,
                state_dir=config.state_dir,
                inventory=self.inventory,
                settings=ValidationSettings(cpu_quota_percent=config.cpu_quota_percent),
                stored=partial(self.store.findings, current=True),
            ),
            burn_in=burn_in,
            expected_gates=lambda node: self.profiles[node.name].levels[options.level],
            sign=signer(config.signing_key),
        )
        if self.agreed:
            services = replace(services, agreed=self.agreed.demand)
        by_name = {n.name: n for n in self.nodes}
        return RunContext(
            services,
            options,
            rundir,
            self.inventory,
            config.operator,
            by_name,
            listener.notify,
            partners=self.partners,
            reboot_budget=config.reboot_budget,
        )
