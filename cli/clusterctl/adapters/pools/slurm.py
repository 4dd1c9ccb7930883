"""The pool `slurm`: a node is in while Slurm starts jobs on it, and out while it is drained with a reason of ours."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import AfterValidator, Field

from clusterctl.adapters.pools.base import LEADER, is_ours, signed
from clusterctl.adapters.pools.marking import mark_text
from clusterctl.adapters.pools.settings import PoolSettings
from clusterctl.adapters.pools.slurm_commands import LONGEST_REASON, PROGRAMS, SlurmCommands, kept_value
from clusterctl.adapters.pools.slurm_nodes import DYNAMIC, SlurmNode
from clusterctl.adapters.pools.vacating import wait_until_empty
from clusterctl.adapters.programs import program_check
from clusterctl.core import timestamps
from clusterctl.model.boots import ReportedBoot
from clusterctl.model.errors import PoolError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from clusterctl.adapters.store.store import Store
    from clusterctl.model.doctor_check import Check
    from clusterctl.model.verdict import Reason

_PAUSE_S = 1.0
_JOBS_PAUSE_S = 5.0
# These end drains whose reason begins so, by rules of their own: helpers/node-mark-online of mej/nhc, 9c4a38c0;
# nodeset_sync.go and slurmcontrol.go of SlinkyProject/slurm-operator, f2ed3fc5; slurm_nodes_controller.go of nebius/soperator, c238d993
_OF_OTHERS = {
    "NHC:": "Node Health Check",
    "slurm-operator:": "Slinky's slurm-operator",
    "[node_problem]": "Soperator",
    "[hardware_problem]": "Soperator",
}


def _ends_no_drain(leader: str) -> str:
    if leader in _OF_OTHERS:
        raise ValueError(f"{leader} is that of {_OF_OTHERS[leader]}, which returns such nodes to service by its own rules")
    return leader


class SlurmSettings(PoolSettings):
    """`pool:` beside `kind: slurm`.

    Attributes:
        partition: only nodes of this partition are members; empty = all nodes of Slurm.
        features: what admitted nodes have in addition, for `--constraint`.
        conf: path of slurm.conf; empty = where Slurm finds it.
        timeout_s: how long one command of Slurm may take.
        answer_s: how long a node that is admitted has to answer slurmctld.
        wait_minutes: how long `provision` and `drain --wait` wait for running jobs.
        reason_leader: how the reasons begin that clusterctl writes. No space, because what reads reasons splits there; none of the characters that scontrol or a shell reads.
    """

    partition: str = ""
    features: list[Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]+$")]] = Field(default_factory=list)
    conf: str = ""
    timeout_s: float = Field(default=60.0, gt=0)
    answer_s: float = Field(default=60.0, ge=0)
    wait_minutes: float = Field(default=30.0, ge=0)
    reason_leader: Annotated[str, Field(pattern=r"^[A-Za-z0-9\[\](){}<>_.:#/+-]{1,32}$"), AfterValidator(_ends_no_drain)] = LEADER


class SlurmPool:
    """Nodes of Slurm, through scontrol. They must exist in Slurm; clusterctl creates and deletes none."""

    settings_model: ClassVar[type[PoolSettings]] = SlurmSettings

    def __init__(self, settings: SlurmSettings, commands: SlurmCommands) -> None:
        self._settings, self._commands = settings, commands

    @classmethod
    def create(cls, _store: Store, settings: SlurmSettings, /) -> SlurmPool:
        """A pool on the commands of Slurm."""
        return cls(settings, SlurmCommands(settings.conf, settings.timeout_s))

    @classmethod
    def needs(cls, _settings: SlurmSettings, /) -> tuple[Check, ...]:
        """See `Needing.needs`: the commands of Slurm."""
        return tuple(map(program_check, PROGRAMS))

    def admit(self, node: str, reason: str) -> bool:
        """See `Pool.admit`. A node whose slurmd does not answer is refused, and stays drained."""
        present = self._known(node)
        _refuse_foreign(present)
        if present.is_silent:
            present = self._answering(present, reason)
        if present.is_invalid:
            self._refuse_invalid(present, reason)
        missing = [f for f in self._settings.features if f not in present.active_features]
        if missing:
            self._set_features(present, _with(present.features, missing), _with(present.active_features, missing))
        if present.is_held:
            self._commands.update(node, {"State": "RESUME"})
        return present.is_held or bool(missing)

    def remove(self, node: str, reason: str) -> bool:
        """See `Pool.remove`. A node that is only away is drained, too: else Slurm returns it by itself when its slurmd is back.

        Raises:
            PoolError: Slurm reboots it, powers it down or returns it at a time, and would end our drain then.
        """
        present = self._commands.node(node)
        if present is None:
            return False
        _refuse_returning(present)
        surplus = [f for f in self._settings.features if f in present.features]
        if surplus and (is_ours(present.reason) or present.takes_jobs):
            self._set_features(present, _without(present.features, surplus), _without(present.active_features, surplus))
        if "DRAIN" in present.states and not present.registered_less:
            return False
        of_slurm = present.is_away or present.registered_less
        foreign = present.is_held and present.reason and not of_slurm and not is_ours(present.reason)
        self._commands.update(node, {"State": "DRAIN", "Reason": present.reason if foreign else self._signed(reason)})
        return present.takes_jobs

    def mark(self, node: str, found: Reason) -> bool:
        """See `Marking.mark`. Slurm dates a reason anew when its text changes."""
        present = self._commands.node(node)
        text = self._signed(mark_text(node, found))
        if present is None or "DRAIN" not in present.states or not _may_resume(present) or present.reason == text:
            return False
        self._commands.update(node, {"Reason": text})
        return True

    def members(self) -> frozenset[str]:
        """See `Pool.members`."""
        return frozenset(n.name for n in self._nodes() if n.takes_jobs)

    def takes_jobs(self, node: str) -> bool:
        """See `Readable.takes_jobs`. In whichever partition: a node that clusterctl took out of one is out of all."""
        present = self._commands.node(node)
        return present is not None and present.takes_jobs

    def boots(self) -> Mapping[str, ReportedBoot]:
        """See `ReportingBoots.boots`. The time of a boot is by the clock of slurmctld; what that is ahead is subtracted.

        At RESUME, Slurm forgets the boot of a node until the node registers, seconds later (seen in 22.05).
        """
        ahead_s = self._commands.clock_ahead_s()
        return {
            n.name: ReportedBoot("", timestamps.after(n.booted_at, -ahead_s), n.takes_jobs, n.is_out_for_its_boot)
            for n in self._nodes()
            if n.booted_at and not n.is_silent
        }

    def return_booted(self, node: str) -> bool:
        """See `ReturningBooted.return_booted`."""
        present = self._known(node)
        if present.takes_jobs:
            return False
        if not present.is_out_for_its_boot:
            _refuse_foreign(present)
            raise PoolError(
                detail=f"{node} is {'+'.join(sorted(present.states))}, not down for a boot any more",
                hint=f"see `scontrol show node {node}`",
            )
        if present.is_invalid:
            self._refuse_invalid(present, "verified after a boot")
        self._commands.update(node, {"State": "RESUME"})
        return True

    def removed_since(self, moment: str) -> frozenset[str]:
        """See `Pool.removed_since`; Slurm keeps whole seconds."""
        return frozenset(n.name for n in self._nodes() if not n.takes_jobs and is_ours(n.reason) and n.changed_at > moment)

    def busy(self, nodes: Collection[str]) -> Mapping[str, str]:
        """See `Vacating.busy`. squeue rejects names unknown to Slurm, and may hide jobs: then the state of the node shows that it is in use."""
        wanted = set(nodes)
        known = {n.name: n for n in self._commands.nodes() if n.name in wanted}
        jobs = self._commands.jobs(sorted(known)) if known else {}
        hidden = {name for name, n in known.items() if n.is_in_use and name not in jobs}
        if hidden:  # or their jobs ended between the two answers
            hidden &= {n.name for n in self._commands.nodes() if n.is_in_use}
        found = {n: f"job {', '.join(j)}" for n, j in jobs.items()}
        return found | dict.fromkeys(sorted(hidden), "in use, and squeue shows no job to this user")

    def vacate(self, nodes: Collection[str], waiting: Callable[[Mapping[str, str]], None]) -> Mapping[str, str]:
        """See `Vacating.vacate`. No job is ended: those that run may finish."""
        return wait_until_empty(lambda: self.busy(nodes), waiting, limit_s=60 * self._settings.wait_minutes, pause_s=_JOBS_PAUSE_S)

    def _signed(self, reason: str) -> str:
        return kept_value(signed(reason, self._settings.reason_leader, LONGEST_REASON))

    def _nodes(self) -> list[SlurmNode]:
        return [n for n in self._commands.nodes() if self._settings.partition in ("", *n.partitions)]

    def _known(self, node: str) -> SlurmNode:
        present = self._commands.node(node)
        if present is None:
            raise PoolError(detail=f"Slurm has no node {node}", hint="add it to slurm.conf, or start its slurmd with -Z as a dynamic node")
        if self._settings.partition not in ("", *present.partitions):
            raise PoolError(
                detail=f"{node} is not in the partition {self._settings.partition}",
                hint="add it to the partition in slurm.conf, or correct `pool:`",
            )
        return present

    def _answering(self, present: SlurmNode, reason: str) -> SlurmNode:
        """The node as soon as its slurmd answers. If it never does, it is drained: else jobs would start when it comes back."""
        end = time.monotonic() + self._settings.answer_s
        while present.is_silent:
            if time.monotonic() > end:
                self.remove(present.name, f"{reason}, but it does not answer slurmctld")
                state = "+".join(sorted(present.states))
                hint = f"see `systemctl status slurmd` and the time on {present.name}"
                raise PoolError(detail=f"{present.name} does not answer slurmctld ({state})", hint=hint)
            time.sleep(_PAUSE_S)
            present = self._known(present.name)
            _refuse_foreign(present)
        return present

    def _refuse_invalid(self, present: SlurmNode, reason: str) -> None:
        """It would not run jobs, and enter the pool by itself later. Slurm's own reason stays."""
        if not present.is_held:
            self.remove(present.name, f"{reason}, but it registers with less than slurm.conf has")
        why = f": {present.reason}" if present.registered_less else ""
        raise PoolError(
            detail=f"{present.name} registers in Slurm with less than slurm.conf has (INVALID_REG){why}",
            hint=f"restart slurmd on {present.name}; `slurmd -C` and `slurmd -G` there show what it registers, its log why",
        )

    def _set_features(self, node: SlurmNode, available: Collection[str], active: Collection[str]) -> None:
        self._commands.update(node.name, {"AvailableFeatures": ",".join(available), "ActiveFeatures": ",".join(active)})


def _refuse_returning(node: SlurmNode) -> None:
    if node.returns_rebooted:
        raise PoolError(
            detail=f"Slurm reboots {node.name} and returns it to service then, drained or not (NextState={node.next_state})",
            hint=f"wait until it is back, or end it with `scontrol cancel_reboot {node.name}`; then run the same command again",
        )
    if node.returns_powered_down:
        raise PoolError(
            detail=f"Slurm powers {node.name} down and ends every drain then (POWER_DOWN)",
            hint="run the same command again when it is powered down: a drain that is set then stays",
        )
    if node.returns_timed:
        end = f"scontrol update nodename={node.name} state={'drain' if 'DRAIN' in node.states else 'down'} resumeafter=-1 reason=WHY"
        raise PoolError(
            detail=f"Slurm returns {node.name} to service at {node.returns_at[:19]}Z, drained or not (ResumeAfterTime)",
            hint=f"wait until then, or end it with `{end}`; then run the same command again",
        )


def _refuse_foreign(node: SlurmNode) -> None:
    if not node.is_held or _may_resume(node):
        return
    if node.is_away:
        hint = f"find out why; `clusterctl provision {node.name}` or `scontrol update nodename={node.name} state=resume` returns it"
        raise PoolError(detail=f"Slurm itself took {node.name} out: {node.reason}", hint=hint)
    raise PoolError(
        detail=f"{node.name} was taken out of Slurm by somebody else: {node.reason or '(no reason)'}",
        hint="clusterctl undoes only what it did; whoever took it out puts it back",
    )


def _may_resume(node: SlurmNode) -> bool:
    """Whether we took it out, or nobody did: Slurm, by what it registered then, or its own configuration when it joined."""
    return is_ours(node.reason) or node.registered_less or (DYNAMIC in node.states and "DRAIN" in node.states and not node.reason)


def _with(features: Collection[str], more: Collection[str]) -> list[str]:
    return [*features, *(f for f in more if f not in features)]


def _without(features: Collection[str], fewer: Collection[str]) -> list[str]:
    return [f for f in features if f not in fewer]
