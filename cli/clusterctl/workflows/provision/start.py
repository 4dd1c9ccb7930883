"""Starts a provisioning run: selects the nodes, connects the services, runs the steps in a recorded run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from clusterctl.adapters.ansible.runner import run_playbook
from clusterctl.adapters.config_keys import APPLY_ON_NODE
from clusterctl.adapters.inventory.bmcs import load_bmcs
from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.adapters.pools.answering import LIMIT_S, Answering
from clusterctl.adapters.pools.loader import load_pool
from clusterctl.adapters.run_directory import RunDir
from clusterctl.adapters.signing import signer
from clusterctl.adapters.store import Store
from clusterctl.adapters.store.leases import DEFAULT_TTL_S, SHARD_TTL_S
from clusterctl.adapters.validator_declarations import validator_traits
from clusterctl.adapters.validators import ValidationSettings, validate
from clusterctl.adapters.versions import versions
from clusterctl.core.gates.judging.group_findings import group_findings, group_texts
from clusterctl.core.near_match import did_you_mean
from clusterctl.core.overrides import overridden
from clusterctl.model.errors import UsageProblemError
from clusterctl.model.power import PowerAction
from clusterctl.model.provision import Note
from clusterctl.model.state import State
from clusterctl.workflows.admit import Admitter, Candidate
from clusterctl.workflows.burnin.measure_and_judge import run_burnin, subjects_of
from clusterctl.workflows.installed_versions import keep_installed
from clusterctl.workflows.lease import leases_on
from clusterctl.workflows.lemons import due_of
from clusterctl.workflows.own_history import usual_of
from clusterctl.workflows.parts import read_all_parts
from clusterctl.workflows.power.run_power import switch_nodes
from clusterctl.workflows.power.switch import PowerLimits
from clusterctl.workflows.provision.ansible_words import extra_vars_of
from clusterctl.workflows.provision.apply_on_nodes import ApplyOnNodes
from clusterctl.workflows.provision.check import check_nodes
from clusterctl.workflows.provision.context import RunContext
from clusterctl.workflows.provision.flow import provision, warn
from clusterctl.workflows.provision.neighbours import hold, neighbour_names, nodes_alone
from clusterctl.workflows.provision.partners import with_partners
from clusterctl.workflows.provision.phase_clock import PhaseClock
from clusterctl.workflows.provision.query_progress import QueryProgress
from clusterctl.workflows.provision.resume import INTERRUPTED, RESUME_HINT, resumed, save_request, take_over
from clusterctl.workflows.provision.run_roles import report_where
from clusterctl.workflows.provision.services import Services
from clusterctl.workflows.reconcile import reconcile
from clusterctl.workflows.run import RunStart, recorded_run
from clusterctl.workflows.target_filter import without_absent_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.node import Node
    from clusterctl.model.plan import Plan
    from clusterctl.model.power import PowerReport
    from clusterctl.model.provision import ProvisionResult
    from clusterctl.model.task_event import TaskEvent
    from clusterctl.workflows.provision.request import ProgressListener, ProvisionRequest


def run_provision(config: Config, request: ProvisionRequest, listener: ProgressListener) -> ProvisionResult:
    """Provision the nodes of a request.

    Raises:
        ClusterctlError: with the exit code of the cause; see docs/reference/exit-codes.md.
    """
    with Store.open(config.store_url, fence=request.fence) as store:
        selected = _select(config, request, store, listener)
        names = tuple(selected.candidates)
        reconcile(store, load_pool(config.pool, store), config.operator)
        for text in take_over(store, names):
            listener.notify(Note(text))
        target = request.target or f"--resume {request.resume}"
        leased = leases_on([*(c.node for c in selected.candidates.values()), *selected.partners])
        ttl_s = SHARD_TTL_S if request.fence else DEFAULT_TTL_S
        start = RunStart(
            "provision", target, config.operator, config.state_dir, names, leased, ttl_s, interrupted=INTERRUPTED, hint=RESUME_HINT
        )
        with recorded_run(store, start) as run, PhaseClock(run.rundir) as phases:
            listener = replace(listener, notify=phases.following(listener.notify))
            store.register([*(c.node for c in selected.candidates.values()), *selected.partners])
            save_request(run.rundir, selected.request, target)
            context = _context(config, store, selected, run.rundir, listener, lease_lost=run.lease_lost.is_set)
            result = provision(context, listener.confirm)
            run.code, run.summary = result.exit_code, context.summary(result)
        return result


def plan_provision(config: Config, request: ProvisionRequest, listener: ProgressListener) -> Plan:
    """What `run_provision` would do; changes nothing and records only where the nodes stand."""
    with Store.open(config.store_url) as store:
        selected = _select(config, request, store, listener)
        context = _context(config, store, selected, RunDir("plan", config.state_dir), listener)
        known = with_partners(context, check_nodes(context))
        warn(context, known.plan)
        report_where(context, known)
        return known.plan


@dataclass(frozen=True, slots=True)
class _Selected:
    """The request with inventory and options filled in (those of the run it resumes), and its nodes.

    Attributes:
        subjects: every node and partner with its gates profile.
    """

    request: ProvisionRequest
    candidates: dict[str, Candidate]
    subjects: dict[str, Subject]
    partners: tuple[Node, ...]


def _select(config: Config, request: ProvisionRequest, store: Store, listener: ProgressListener) -> _Selected:
    request = replace(request, inventory=config.inventory)
    target = request.target
    if request.resume:
        left = resumed(store, request.resume, request.options.ansible_args)
        request = replace(request, inventory=left.inventory, options=left.options)
        target = request.target or ",".join(left.nodes)
    options = request.options
    extra_vars = extra_vars_of(options.ansible_args)
    load = partial(load_nodes, request.inventory, extra_vars=extra_vars, vault_ids=request.vault_ids)
    nodes = without_absent_nodes(store, load(target, limit=request.limit), lambda text: listener.notify(Note(text)))
    if extra_vars:
        _refuse_overrides(load(target, limit=request.limit, extra_vars=()), nodes)
    names = {n.name for n in nodes}
    partners = tuple(p for p in load(",".join(options.partners)) if p.name not in names) if options.partners else ()
    subjects = {s.name: s for s in subjects_of(nodes, partners)}
    _require_known_roles(options.roles, nodes)
    for text in _other_profiles(store, nodes):
        listener.notify(Note(text))
    store.register_new((*nodes, *partners))
    _require_admitted(store, [p.name for p in partners])
    due = due_of(store, config.lemon_limits, [n.name for n in nodes])
    own = [subjects[n.name] for n in nodes]
    candidates = {s.name: Candidate(s.node, s.deciding(options.level), s.profile.baselines, due.get(s.name)) for s in own}
    return _Selected(request, candidates, subjects, partners)


def _together(selected: _Selected, nodes: Sequence[Node], partners: Sequence[Node]) -> list[Subject]:
    """A node that the run has admitted measures with others and is not judged again; a neighbour was not among the selected nodes."""
    found = [p for p in partners if p.name not in selected.subjects]
    known = {**selected.subjects, **{s.name: s for s in subjects_of((), found)}}
    return [*(known[n.name] for n in nodes), *(replace(known[p.name], partner=True) for p in partners)]


def _refuse_overrides(declared: Sequence[Node], given: Sequence[Node]) -> None:
    """A node is admitted as what the inventory declares: the next `validate` has no `-e`."""
    for name, what in overridden(declared, given).items():
        raise UsageProblemError(
            detail=f"-e changes what {name} is declared to be: {what}",
            hint="declare it in group_vars or host_vars of the site; -e may set what no node is compared with, as playbook options",
        )


def _require_known_roles(selected: Sequence[str], nodes: Sequence[Node]) -> None:
    """A role that no node of the target declares would select nothing, and a run that does nothing proves nothing."""
    known = {role for n in nodes for role in n.spec.roles}
    unknown = [role for role in selected if role not in known]
    if unknown:
        hint = f"roles of the target: {', '.join(sorted(known)) or 'none'}"
        raise UsageProblemError(detail=f"no node of the target has role {unknown[0]!r}{did_you_mean(unknown[0], known)}", hint=hint)


def _other_profiles(store: Store, nodes: Sequence[Node]) -> Iterator[str]:
    """Nodes that were recorded as other hardware: their history is of that."""
    before = {r.name: r.profile for r in store.nodes([n.name for n in nodes])}
    for node in nodes:
        then = before.get(node.name, "")
        if then and node.profile and then != node.profile:
            yield f"{node.name} is declared as {node.profile}, it was {then}: what is recorded of it is about the hardware before"


def _require_admitted(store: Store, partners: Sequence[str]) -> None:
    """A partner must be known to be good: a bad one would mark healthy nodes faulty."""
    for record in store.nodes(partners):
        if record.state is not State.ADMITTED:
            hint = "name admitted nodes; `clusterctl status` lists them"
            raise UsageProblemError(detail=f"{record.name} cannot be a partner: it is {record.state}", hint=hint)


def _on_node(config: Config, request: ProvisionRequest, rundir: RunDir, listener: ProgressListener) -> ApplyOnNodes:
    options = request.options
    return ApplyOnNodes(
        config.state_dir,
        f"{config.operator}, run {rundir.id}",
        request.inventory,
        tuple(request.vault_ids),
        options.ansible_args,
        extra_vars_of(options.ansible_args),
        listener.output if options.verbosity else None,
    )


def _context(
    config: Config,
    store: Store,
    selected: _Selected,
    rundir: RunDir,
    listener: ProgressListener,
    *,
    lease_lost: Callable[[], bool] | None = None,
) -> RunContext:
    """`lease_lost`: None where nothing is changed, so nothing is held."""
    request = selected.request
    options = request.options
    traits = validator_traits()

    def burn_in(nodes: Sequence[Node], partners: Sequence[Node], on_event: Callable[[TaskEvent], None]) -> Sequence[GateResult]:
        site = replace(config, inventory=request.inventory)
        subjects = _together(selected, nodes, partners)
        usual = usual_of(store, [n.name for n in nodes])
        installed = keep_installed(store, [s.name for s in subjects], rundir, traits)
        results = run_burnin(subjects, rundir, site, options.level, usual=usual, on_event=on_event)
        for text in group_texts(group_findings(subjects, results, installed)):
            listener.notify(Note(f"warning: {text}"))
        return results

    def alone(nodes: Sequence[Node], partners: Sequence[Node]) -> Mapping[str, str]:
        return nodes_alone(_together(selected, nodes, partners), options.level)

    def neighbours(nodes: Sequence[Node], excluded: Sequence[str]) -> Sequence[Node]:
        names = neighbour_names(store, nodes, excluded, config.auto_partners, rundir.id)
        if not names or (lease_lost and not hold(store, names, rundir.id, config.operator)):
            return ()
        return load_nodes(request.inventory, ",".join(names), vault_ids=request.vault_ids)

    def power_cycle(nodes: Sequence[Node]) -> Sequence[PowerReport]:
        accesses = load_bmcs(request.inventory, [n.name for n in nodes], vault_ids=request.vault_ids)
        limits = PowerLimits(budget=config.reboot_budget)
        return switch_nodes(
            nodes, accesses, PowerAction.CYCLE, limits, lambda r: listener.notify(Note(f"{r.node}: power cycle {r.outcome}"))
        )

    pool = load_pool(config.pool, store)
    answering = Answering(pool, LIMIT_S, in_doubt=True, waiting=lambda e: listener.notify(Note(f"waiting for the scheduler: {e}")))
    services = Services(
        store=store,
        pool=pool,
        play=partial(run_playbook, on_output=listener.output if options.verbosity else None),
        validate=partial(
            validate,
            state_dir=config.state_dir,
            inventory=request.inventory,
            settings=ValidationSettings(cpu_quota_percent=config.cpu_quota_percent),
            stored=partial(store.findings, current=True),
            listener=QueryProgress(listener.notify),
        ),
        burn_in=burn_in,
        alone=alone,
        neighbours=neighbours,
        admitter=Admitter(store, answering, config.operator, versions(), signer(config.signing_key)),
        power_cycle=power_cycle,
        read_parts=partial(read_all_parts, inventory=request.inventory),
        traits=traits,
        on_node=_on_node(config, request, rundir, listener) if config.apply == APPLY_ON_NODE else None,
    )
    return RunContext(
        services,
        request,
        rundir,
        selected.candidates,
        listener.notify,
        lease_lost or (lambda: False),
        partners=selected.partners,
        reboot_budget=config.reboot_budget,
        limits=config.limits,
    )
