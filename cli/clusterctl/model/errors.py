"""Errors: a template, an exit code, a hint. `main.run` is the one place that turns them into text."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from clusterctl.model.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.model.problem import Problem


class ClusterctlError(Exception):
    """Base of every expected error.

    Attributes:
        template: what happened, filled from the keyword arguments (`str.format`).
        hint_template: what to do next, filled likewise; may be empty.
        exit_code: what the process exits with.
    """

    template: ClassVar[str] = "{detail}"
    hint_template: ClassVar[str] = ""
    exit_code: ClassVar[ExitCode] = ExitCode.UNEXPECTED

    def __init__(self, **values: object) -> None:
        self.values = values
        super().__init__(self.template.format(**values))

    @property
    def hint(self) -> str:
        """What to do next, or an empty string."""
        return self.hint_template.format(**self.values)


class UsageProblemError(ClusterctlError):
    """Options of the command line that cannot be combined."""

    hint_template = "{hint}"
    exit_code = ExitCode.USAGE


class ConfigError(ClusterctlError):
    """Configuration, inventory or profile is invalid."""

    template = "{detail}"
    hint_template = "{hint}"
    exit_code = ExitCode.CONFIG


class GatesInvalidError(ConfigError):
    """The gates of a node, or the HCAs that they measure, are declared wrongly.

    Attributes:
        problems: each with the path of its variable.
    """

    def __init__(self, *, problems: Iterable[Problem] = (), **values: object) -> None:
        super().__init__(**values)
        self.problems = tuple(problems)


class UnknownTargetError(ClusterctlError):
    """No host matches the target: an empty host set is an error, never a successful run."""

    template = "no node matches {target!r}{near}"
    hint_template = "`clusterctl inventory` lists groups and nodes; inventory read: {layers}"
    exit_code = ExitCode.CONFIG


class UnknownNodeError(ClusterctlError):
    """No recorded node matches the target."""

    template = "no recorded node matches {target!r}{near}"
    hint_template = "`clusterctl status all` lists them; a node is recorded when it is first planned, validated or provisioned"
    exit_code = ExitCode.CONFIG


class NothingRecordedError(UnknownNodeError):
    """No node is recorded at all."""

    template = "no node is recorded yet, so none matches {target!r}"
    hint_template = (
        "run in the folder of the site, or give --state-dir; `clusterctl plan`, `validate` or `provision` of a target records its nodes"
    )


class NameRangeError(ClusterctlError):
    """A range of names that cannot be meant."""

    template = "{word!r} {detail}"
    hint_template = "write a range of names as r12-n[01-18] or r12-n[01-04,07]"
    exit_code = ExitCode.CONFIG


class UnknownRunError(ClusterctlError):
    """No run, or several, match."""

    template = "no single run matches {run_id!r}{near}"
    hint_template = "`clusterctl history NODE` names the runs of a node; `last` is the newest run"
    exit_code = ExitCode.CONFIG


class SpecInvalidError(ClusterctlError):
    """The declared state breaks the schema of a role; every problem is listed at once."""

    template = "the declared state is invalid:\n{problems}"
    hint_template = "correct the named lines; no node was touched"
    exit_code = ExitCode.CONFIG


class PlanChangedError(ClusterctlError):
    """The nodes changed since the plan was made."""

    template = "nodes have changed since the plan in {file} was made:\n{problems}"
    hint_template = "no node was touched; make a new plan: `clusterctl plan {target} --out {file}`"
    exit_code = ExitCode.CONFIG


class LeaseHeldError(ClusterctlError):
    """Another run holds a node."""

    template = "{node} is held by {holder} (run {run_id}) since {since}"
    hint_template = "wait for that run, or see `clusterctl history {node}`; the lease of a dead run ends at once on its own host, elsewhere at {expires}"
    exit_code = ExitCode.CONFIG


class PoolTurnHeldError(LeaseHeldError):
    """Another run takes nodes out of the pool, and goes on doing so for minutes."""

    template = "{holder} has been taking nodes out of the pool since {since}; two runs at once could take out more than the limits allow"
    hint_template = "wait for it: the pool's scheduler is slow, or does not answer; the turn of a dead run ends at once on its own host, elsewhere at {expires}"


class MachineHeldError(LeaseHeldError):
    """Another run holds a machine, by another name."""

    template = "the machine at {node} is held by {holder} (run {run_id}) since {since}, under another name"
    hint_template = "two recorded nodes have one address: correct ansible_host, or `clusterctl forget` the one that no longer exists; else wait for that run"


class IllegalTransitionError(ClusterctlError):
    """The lifecycle does not allow this step."""

    template = "{node} is {current}: it cannot become {wanted}"
    hint_template = "{hint}"
    exit_code = ExitCode.USAGE


class ActionRefusedError(IllegalTransitionError):
    """The state of a node does not allow what is to be done with it."""

    template = "{node} is {current}: it cannot be {wanted}"


class JobsRunError(ClusterctlError):
    """The pool reports jobs on nodes, or does not report whether any run. No node was changed."""

    template = "{detail}"
    hint_template = "{hint}"
    exit_code = ExitCode.USAGE


class NodesAbsentError(ClusterctlError):
    """All nodes of a target are away: in RMA, retired, or in maintenance where that matters."""

    template = "all nodes of the target are away: {nodes}"
    hint_template = "{hint}"
    exit_code = ExitCode.USAGE


class PoolError(ClusterctlError):
    """The pool cannot be read or changed, or a change would break its rules."""

    template = "{detail}"
    hint_template = "{hint}"
    exit_code = ExitCode.CONFIG


class PoolUnreachableError(PoolError):
    """The scheduler behind the pool does not answer: nothing is known, and nothing entered the pool."""


class PoolStateUnknownError(PoolError):
    """It is unknown whether a node is in the pool: the scheduler did not answer, and did not show it either."""

    exit_code = ExitCode.CHANGES_PENDING


class BreakerError(PoolError):
    """The circuit breaker: too much of the pool would be out at once. Nothing was touched."""


class OutsideWindowError(PoolError):
    """Planned work outside of the maintenance windows would take nodes out of the pool. Nothing was touched."""

    exit_code = ExitCode.CHANGES_PENDING


class NoticeError(ClusterctlError):
    """A notice of planned maintenance contradicts itself, the clock or another notice. Nothing was recorded."""

    template = "{detail}"
    hint_template = "{hint}"
    exit_code = ExitCode.USAGE


class UnknownNoticeError(ClusterctlError):
    """No notice of planned maintenance has this id."""

    template = "there is no notice {notice}"
    hint_template = "`clusterctl announce --all` lists all of them"
    exit_code = ExitCode.CONFIG


class SigningError(ClusterctlError):
    """An admission record cannot be signed, or its signature cannot be checked."""

    template = "{detail}"
    hint_template = "{hint}"
    exit_code = ExitCode.CONFIG


class StoreError(ClusterctlError):
    """The database or the state directory cannot be used."""

    template = "cannot use the state in {path}: {detail}"
    hint_template = "{hint}"
    exit_code = ExitCode.UNEXPECTED


class DatabaseUrlError(StoreError):
    """`database_url` is malformed, names a database of another kind, or one whose driver is not installed."""

    template = "database_url {url} cannot be used: {detail}"
    exit_code = ExitCode.CONFIG


class StaleTokenError(StoreError):
    """Another worker has taken the shard: this one may not write any more."""

    template = "shard {shard_id} was taken by another worker: token {token} is not the newest, which is {newest}; nothing was written"
    hint_template = "nothing to do: the other worker goes on; `clusterctl status --runs` shows it"
    exit_code = ExitCode.INTERRUPTED


class QueueError(ClusterctlError):
    """The queue on the store's database cannot be used."""

    template = "cannot use the queue in {path}: {detail}"
    hint_template = "{hint}; what is queued stays queued"
    exit_code = ExitCode.UNEXPECTED


class ContentDiffersError(ClusterctlError):
    """A worker has other roles, validators or inventory than the command that queued a shard, or than it had at its start."""

    template = "{what} is for content {wanted}, this machine has {found}"
    hint_template = "bring checkout and packages of this machine to the state of the controller, and start the worker again"
    exit_code = ExitCode.CONFIG


class EventsBusyError(ClusterctlError):
    """Another process sends events now."""

    template = "another process sends the events of {folder}"
    hint_template = "one `clusterctl events` is enough; it sends what is new, too"
    exit_code = ExitCode.CONFIG


class RunDirectoryGoneError(ClusterctlError):
    """The raw records of a run were deleted, or lost with the controller's disk."""

    template = "run {run}: the run directory no longer exists"
    hint_template = "its results are still in the database (`clusterctl history NODE`); `clusterctl provision NODE` measures again"
    exit_code = ExitCode.UNEXPECTED


class ExtraMissingError(ClusterctlError):
    """A verb needs packages that an extra of clusterctl brings."""

    template = "{package} is not installed"
    hint_template = "pip install 'clusterctl[{extra}]'"
    exit_code = ExitCode.CONFIG


class ListenError(ClusterctlError):
    """The address or socket that was named cannot be listened on."""

    template = "cannot listen on {where}: {detail}"
    hint_template = "{hint}"
    exit_code = ExitCode.CONFIG


class InterruptedRunError(ClusterctlError):
    """Ctrl-C, a signal or a time limit ended the run."""

    template = "interrupted: {detail}"
    hint_template = "{hint}"
    exit_code = ExitCode.INTERRUPTED


class PathError(ClusterctlError):
    """The operating system refuses a path: it is closed to this user, too long, or on a file system that is full or read-only."""

    template = "{path}: {detail}"
    hint_template = "{hint}"
    exit_code = ExitCode.CONFIG


class OutputLostError(ClusterctlError):
    """The command did its work, but what it printed did not arrive."""

    template = "the output is incomplete: {detail}"
    hint_template = "make room where it is written to; `clusterctl status` and `clusterctl history NODE` show what was done"
    exit_code = ExitCode.UNEXPECTED


class LabError(ClusterctlError):
    """The lab cannot do what was requested."""

    template = "lab: {detail}"
    hint_template = "{hint}"
    exit_code = ExitCode.UNEXPECTED
