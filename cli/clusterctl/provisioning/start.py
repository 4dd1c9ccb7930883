"""Puts a provisioning run together: configuration and target in, real edges around, result out."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from clusterctl.errors import LeaseHeldError, UsageProblemError
from clusterctl.gates.burnin import run_burnin
from clusterctl.gates.profile import profile_of
from clusterctl.lifecycle import State
from clusterctl.pool.loader import load_pool
from clusterctl.presence import present
from clusterctl.provisioning.check import check
from clusterctl.provisioning.flow import provision, warn
from clusterctl.provisioning.model import Note, Options
from clusterctl.provisioning.resume import remember, resumed, take_over
from clusterctl.provisioning.session import session
from clusterctl.provisioning.work import Edges, Work
from clusterctl.redact import Redactor
from clusterctl.rundir import RunDir
from clusterctl.runner import run_playbook
from clusterctl.signing import signer
from clusterctl.spec.load import load_nodes
from clusterctl.store import Store
from clusterctl.validation import Settings, validate
from clusterctl.versions import versions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from clusterctl.agreed_plan import AgreedPlan
    from clusterctl.config import Config
    from clusterctl.events import TaskEvent
    from clusterctl.gates.model import GateResult
    from clusterctl.gates.profile import GatesProfile
    from clusterctl.node import Node
    from clusterctl.provisioning.model import Plan, Progress, Result


@dataclass(frozen=True, slots=True)
class Request:
    """What the operator asked for.

    Attributes:
        target: a host pattern; empty with `resume`.
        resume: an earlier run to go on with; its nodes, inventory and options are taken.
        agreed: a plan that the nodes must still fit.
    """

    target: str
    options: Options
    limit: str | None = None
    extra_vars: tuple[str, ...] = ()
    vault_ids: tuple[str, ...] = ()
    resume: str = ""
    agreed: AgreedPlan | None = None


@dataclass(frozen=True, slots=True)
class Audience:
    """Who watches: progress, Ansible's own output (with -v), and the one question."""

    tell: Callable[[Progress], None]
    output: Callable[[str], None]
    confirm: Callable[[Plan], bool]


def run(config: Config, request: Request, audience: Audience) -> Result:
    """Provision.

    Raises:
        ClusterctlError: with the exit code of whatever made it impossible; see docs/reference/exit-codes.md.
    """
    with Store.open(config.store_url) as store:
        started = _Start.prepare(config, request, store, audience)
        names = [n.name for n in started.nodes]
        partners = [p.name for p in started.partners]
        for text in take_over(store, names):
            audience.tell(Note(text))
        rundir = RunDir.create(config.state_dir, "provision")
        argv = [Redactor()(word) for word in sys.argv[1:]]
        target = request.target or f"--resume {request.resume}"
        try:
            with session(store, rundir, target=target, operator=config.operator, nodes=names, argv=argv, partners=partners) as keeper:
                remember(rundir, started.inventory, target, started.options)
                work = started.work(rundir, audience)
                work.lease_lost = keeper.lost.is_set
                return provision(work, audience.confirm, {n: p.baselines for n, p in started.profiles.items()}, versions())
        except LeaseHeldError:
            rundir.path.rmdir()
            raise


def plan(config: Config, request: Request, audience: Audience) -> Plan:
    """What `run` would do; touches nothing and records nothing but where the nodes stand."""
    with Store.open(config.store_url) as store:
        started = _Start.prepare(config, request, store, audience)
        work = started.work(RunDir("plan", config.state_dir), audience)
        made = check(work)
        warn(work, made)
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
    options: Options
    nodes: tuple[Node, ...]
    partners: tuple[Node, ...]
    profiles: dict[str, GatesProfile]
    agreed: AgreedPlan | None = None

    @classmethod
    def prepare(cls, config: Config, request: Request, store: Store, audience: Audience) -> _Start:
        inventory, target, options = config.inventory, request.target, request.options
        if request.resume:
            left = resumed(store, request.resume, options.ansible_args)
            inventory, options = left.inventory, left.options
            target = request.target or ",".join(left.nodes)
        load = partial(load_nodes, inventory, extra_vars=request.extra_vars, vault_ids=request.vault_ids)
        nodes = present(store, load(target, limit=request.limit), lambda text: audience.tell(Note(text)))
        partners = load(",".join(options.partners)) if options.partners else ()
        partners = tuple(p for p in partners if p.name not in {n.name for n in nodes})
        today = datetime.now(UTC).date()
        profiles = {n.name: profile_of(n, today) for n in (*nodes, *partners)}
        store.register((*nodes, *partners))
        _refuse_bad_partners(store, [p.name for p in partners])
        return cls(config, store, inventory, options, nodes, partners, profiles, request.agreed)

    def work(self, rundir: RunDir, audience: Audience) -> Work:
        config, options = self.config, self.options

        def burn_in(nodes: Sequence[Node], partners: Sequence[Node], on_event: Callable[[TaskEvent], None]) -> Sequence[GateResult]:
            return run_burnin(nodes, rundir, replace(config, inventory=self.inventory), options.level, partners=partners, on_event=on_event)

        edges = Edges(
            store=self.store,
            pool=load_pool(config.pool, self.store),
            play=partial(run_playbook, on_output=audience.output if options.verbosity else None),
            validate=partial(
                validate,
                state_dir=config.state_dir,
                inventory=self.inventory,
                settings=Settings(cpu_quota_percent=config.cpu_quota_percent),
                stored=partial(self.store.findings, current=True),
            ),
            burn_in=burn_in,
            expected_gates=lambda node: self.profiles[node.name].levels[options.level],
            sign=signer(config.signing_key),
        )
        if self.agreed:
            edges = replace(edges, agreed=self.agreed.demand)
        by_name = {n.name: n for n in self.nodes}
        return Work(
            edges,
            options,
            rundir,
            self.inventory,
            config.operator,
            by_name,
            audience.tell,
            partners=self.partners,
            reboot_budget=config.reboot_budget,
        )
