"""Validate many nodes at once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.adapters import clock
from clusterctl.adapters.site_content import checked_validator_dirs, site_content
from clusterctl.adapters.ssh import ssh_args
from clusterctl.adapters.ssh.fanout import fan_out
from clusterctl.adapters.ssh.ssh import SshClient
from clusterctl.adapters.validators import bundle as bundle_module
from clusterctl.adapters.validators import over_ansible, over_ssh
from clusterctl.adapters.validators.over_bmc import BmcRound
from clusterctl.adapters.validators.passwords import passwords
from clusterctl.adapters.validators.rack_members import members_outside
from clusterctl.adapters.validators.validation_settings import ValidationSettings
from clusterctl.core import observe, ownership, timestamps, waivers
from clusterctl.core.rack_comparison import RackRound
from clusterctl.model.errors import UsageProblemError
from clusterctl.model.findings import NodeStatus
from clusterctl.model.node import SSH_KINDS
from clusterctl_validators.finding import Outcome

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from clusterctl.model.findings import NodeFindings, ValidationListener
    from clusterctl.model.node import Connection, Node
    from clusterctl_validators.finding import Finding

    Stored = Callable[[str], NodeFindings | None]


def validate(
    nodes: Sequence[Node],
    state_dir: Path,
    *,
    inventory: Sequence[Path] = (),
    settings: ValidationSettings | None = None,
    on_result: Callable[[NodeFindings], None] | None = None,
    stored: Stored | None = None,
    listener: ValidationListener | None = None,
) -> tuple[NodeFindings, ...]:
    """Like `validate_each`, with all results in memory.

    Returns:
        One entry per node, in the order of `nodes`, waivers applied.
    """
    results: dict[str, NodeFindings] = {}

    def done(found: NodeFindings) -> None:
        results[found.node] = found
        if on_result:
            on_result(found)

    validate_each(nodes, state_dir, done, inventory=inventory, settings=settings, stored=stored, listener=listener)
    return tuple(results[n.name] for n in nodes)


def validate_each(
    nodes: Sequence[Node],
    state_dir: Path,
    on_result: Callable[[NodeFindings], None],
    *,
    inventory: Sequence[Path] = (),
    settings: ValidationSettings | None = None,
    stored: Stored | None = None,
    listener: ValidationListener | None = None,
) -> None:
    """Verify nodes against their spec; writes nothing to them but the bundle. Keeps no result: a fleet has millions of findings.

    Args:
        nodes: the nodes to validate.
        state_dir: where the bundle is cached.
        on_result: called in this thread with each node's result, what is owned elsewhere or observed marked, waivers applied, as it arrives; for nodes that are compared with each
            other, when the last of them has arrived.
        inventory: the layers, for nodes that are not reached by SSH, and for passwords of sudo and BMCs.
        settings: limits; None = the defaults.
        stored: returns the stored findings of a node that are still valid, for nodes outside the target that others are compared with.
        listener: follows which nodes are being queried, in this thread.

    Raises:
        UsageProblemError: no check matches one of `settings.only`.
        ConfigError: a waiver, the ssh arguments of a node or what a validator declares is invalid (no node was contacted), or the bundle cannot be built.
    """
    chosen = settings or ValidationSettings()
    bundle = bundle_module.build_bundle(state_dir, checked_validator_dirs(site_content()))
    observed = {n.name: observe.parse_observations(n.spec.observe, n.name) for n in nodes}
    waived = {n.name: waivers.parse_waivers(n.spec.waivers, n.name) for n in nodes}
    by_ssh = [n for n in nodes if _by_our_ssh(n.connection)]
    for node in by_ssh:
        ssh_args.parse_ssh_args(node.connection.ssh_args)
    rules = bundle.traits.rack_rules
    specs = {n.name: n.spec for n in nodes}
    racks = RackRound(nodes, rules, members_outside(nodes, rules, inventory, chosen, stored))
    selection = _Selection(chosen)

    def done(found: NodeFindings) -> None:
        everything = found.findings + (bmcs.findings(found.node) if found.status is NodeStatus.OK else ())
        began = "" if found.uptime_s is None else timestamps.after(clock.now(), -found.uptime_s)
        for complete in racks.add(replace(found, findings=everything, booted_at=began)):
            owned = ownership.judge_ownership(complete, specs[complete.node], bundle.traits)
            seen = observe.observe_findings(owned, observed[complete.node])
            applied = waivers.apply_waivers(seen, waived[complete.node], chosen.day)
            on_result(replace(complete, findings=selection.select(complete.status, applied)))

    others = [n for n in nodes if not _by_our_ssh(n.connection)]
    become = passwords(by_ssh, inventory)

    def validate_one(client: SshClient, node: Node) -> Awaitable[NodeFindings]:
        return over_ssh.validate_over_ssh(client, node, bundle, chosen, become.get(node.name))

    with BmcRound(nodes, bundle, inventory, chosen) as bmcs:
        if by_ssh:
            asyncio.run(_validate_all(by_ssh, validate_one, bmcs, chosen, done, listener=listener))
        if others:
            for node in others:
                _report_start(listener, node.name)
            for found in over_ansible.validate_over_ansible(others, bundle, chosen, inventory):
                _report_answer(listener, found.node)
                done(found)
    selection.require_matches()


def _by_our_ssh(connection: Connection) -> bool:
    """Whether we connect ourselves instead of Ansible: by ssh, and with sudo where the checks run as another user."""
    return connection.kind in SSH_KINDS and (not connection.by_sudo or connection.become_method == "sudo")


async def _validate_all(
    nodes: Sequence[Node],
    validate_one: Callable[[SshClient, Node], Awaitable[NodeFindings]],
    bmcs: BmcRound,
    settings: ValidationSettings,
    done: Callable[[NodeFindings], None],
    *,
    listener: ValidationListener | None,
) -> None:
    async with SshClient(settings.connect_timeout_s) as client:

        async def validate_and_report(node: Node) -> None:
            _report_start(listener, node.name)
            found = await validate_one(client, node)
            await bmcs.wait_for(node.name)
            _report_answer(listener, node.name)
            done(found)

        await fan_out(nodes, validate_and_report, settings.concurrency)


def _report_start(listener: ValidationListener | None, node: str) -> None:
    if listener is not None:
        listener.started(node)


def _report_answer(listener: ValidationListener | None, node: str) -> None:
    if listener is not None:
        listener.answered(node)


class _Selection:
    """What `settings.only` selects, and which of its globs have matched nothing so far."""

    def __init__(self, settings: ValidationSettings) -> None:
        self._globs = settings.globs
        self._unmatched = dict(zip(settings.globs, settings.only, strict=True))

    def select(self, status: NodeStatus, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        """The findings of a node that match; one that could not run stays, because it may stand for a match."""
        if not self._globs:
            return tuple(findings)
        matches = {f.check: [glob for glob in self._globs if waivers.matches(glob, f.check)] for f in findings}
        unanswered = status is not NodeStatus.OK or any(f.outcome is Outcome.COULD_NOT_RUN for f in findings)
        for glob in self._globs if unanswered else [g for matched in matches.values() for g in matched]:
            self._unmatched.pop(glob, None)
        return tuple(f for f in findings if matches[f.check] or f.outcome is Outcome.COULD_NOT_RUN)

    def require_matches(self) -> None:
        """Raises UsageProblemError if a glob matched no check of any node."""
        if self._unmatched:
            names = ", ".join(repr(one) for one in self._unmatched.values())
            raise UsageProblemError(detail=f"no check matches {names}", hint="without -k, `-o json` shows the ids of all checks")
