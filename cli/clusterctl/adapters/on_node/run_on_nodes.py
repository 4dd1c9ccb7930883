"""Runs a playbook on the nodes themselves, with the same events, outcomes, redaction and files as `run_playbook`."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.ansible.playbook_log import PlaybookLog
from clusterctl.adapters.ansible.storage_errors import storage_errors
from clusterctl.adapters.on_node import archive
from clusterctl.adapters.on_node.node_run import Ended, NodeRun
from clusterctl.adapters.ssh.fanout import fan_out
from clusterctl.adapters.ssh.remote_result import RECONNECT_S, TransportError
from clusterctl.adapters.ssh.ssh import SshClient
from clusterctl.adapters.validators.bundle import Bundle, cached_file, sha256_of, zipped
from clusterctl.adapters.validators.passwords import passwords
from clusterctl.core.redact import Redactor
from clusterctl.model.playbook_result import HostOutcome, PlaybookResult, PlaybookStatus, TaskFailure
from clusterctl.model.task_event import HostStats

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from clusterctl.adapters.ansible.playbook_request import PlaybookRequest
    from clusterctl.adapters.inventory.sent_variables import SentVariables
    from clusterctl.model.become import BecomePassword
    from clusterctl.model.node import Node
    from clusterctl.model.task_event import TaskEvent

_POLL_S = 1.0
_STOP_S = 20.0
_SAFE_NAME = re.compile(r"[^\w.-]")


@dataclass(frozen=True, slots=True)
class OnNodeSettings:
    """How long things may take.

    Attributes:
        unattended_s: a run that no controller has followed for this long ends.
        reconnect_s: a controller that has lost a node tries for this long to reach it again.
    """

    unattended_s: float = 30.0
    reconnect_s: float = RECONNECT_S
    connect_timeout_s: float = 15.0


@dataclass(frozen=True, slots=True)
class OnNodeResult:
    """The result on the nodes where the playbook ran, and why it did not run on the others."""

    result: PlaybookResult
    unsuited: Mapping[str, str]


def run_on_nodes(
    request: PlaybookRequest,
    nodes: Sequence[Node],
    artifacts: Path,
    state_dir: Path,
    variables: SentVariables,
    *,
    holder: str = "",
    on_event: Callable[[TaskEvent], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    on_output: Callable[[str], None] | None = None,
    settings: OnNodeSettings = OnNodeSettings(),
) -> OnNodeResult:
    """Run `request` on `nodes`, each by itself; on an exception (also Ctrl-C) the runs on the nodes are ended first.

    `variables` are those of `nodes`, with the values of `-e` in `request.extra_args`; `holder` is who runs it, for whoever finds a node occupied.

    Raises:
        ClusterctlError: inventory or installation cannot be used; no node was contacted.
        StoreError: `artifacts` cannot be written, e.g. the disk is full.
    """
    path, content = cached_file(state_dir, archive.members(), zipped)
    bundle = Bundle(path, sha256_of(content), len(content), min_python=archive.MIN_PYTHON)
    redact = Redactor.of_command(os.environ, request.extra_args)
    with storage_errors(artifacts), PlaybookLog(artifacts, redact, on_event, on_output) as log:
        work = _Work(request, artifacts, bundle, variables, holder, log, cancelled or (lambda: False), settings)
        work.become = passwords(nodes, request.inventory)
        asyncio.run(work.run(nodes))
    return work.result(nodes, redact)


@dataclass(slots=True)
class _Work:
    request: PlaybookRequest
    artifacts: Path
    bundle: Bundle
    variables: SentVariables
    holder: str
    log: PlaybookLog
    cancelled: Callable[[], bool]
    settings: OnNodeSettings
    become: Mapping[str, BecomePassword] = field(default_factory=dict)
    runs: dict[str, NodeRun] = field(default_factory=dict)
    ends: dict[str, Ended] = field(default_factory=dict)
    unsuited: dict[str, str] = field(default_factory=dict)
    stopping: bool = False
    started: float = field(default_factory=time.monotonic)

    async def run(self, nodes: Sequence[Node]) -> None:
        async with SshClient(self.settings.connect_timeout_s) as client:
            watch = asyncio.create_task(self._watch(client))
            try:
                await fan_out(nodes, lambda node: self._one(client, node), self.request.forks)
            except BaseException:
                await asyncio.shield(self._stop(client))
                raise
            finally:
                watch.cancel()

    async def _one(self, client: SshClient, node: Node) -> None:
        problem, become = self.variables.problems.get(node.name, ""), self.become.get(node.name)
        if problem or self.stopping:
            self.unsuited |= {node.name: problem} if problem else {}
            return
        if become and become.problem:
            self.log.tally.unreachable[node.name] = TaskFailure("connect", "", f"become: {become.problem}")
            self._count(node.name, HostStats(unreachable=1))
            return
        log = f"ansible-{_SAFE_NAME.sub('_', node.name)}.log"
        run = NodeRun(node, self.bundle, self._request(node.name), lambda event: self.log.add(event, log), self.settings.reconnect_s)
        self.runs[node.name] = run
        end = self.ends[node.name] = await run.run(client, become.value if become else "")
        if end is Ended.UNSUITED:
            self.unsuited[node.name] = run.detail
        elif end is Ended.LOST:
            self.log.tally.unreachable[node.name] = TaskFailure("connect", "", run.detail)
            self._count(node.name, HostStats(unreachable=1))
        elif end is Ended.STOPPED:
            self.log.tally.failures.setdefault(node.name, []).append(TaskFailure("run", "", f"ended: {run.detail}"))
            self._forget(node.name)

    def _request(self, name: str) -> dict[str, Any]:
        request = self.request
        return {
            "token": secrets.token_hex(16),
            "holder": self.holder,
            "playbook": request.playbook,
            "tags": list(request.tags),
            "flags": [*(["--check"] if request.check else []), *(["--diff"] if request.diff else [])],
            "extra_vars": {**self.variables.extra, "ansible_connection": "preloaded", "ansible_become": False},
            "verbosity": request.verbosity,
            "inventory": self.variables.of_node[name],
            "environment": {"ANSIBLE_NOCOLOR": "1"},
            "unattended_s": self.settings.unattended_s,
            "timeout_s": request.timeout_s,
        }

    async def _watch(self, client: SshClient) -> None:
        while not self.cancelled():  # noqa: ASYNC110 it is polled
            await asyncio.sleep(_POLL_S)
        await self._stop(client)

    async def _stop(self, client: SshClient) -> None:
        """End what runs on the nodes; one that cannot be reached ends by itself, unattended."""
        self.stopping = True
        left = [run for name, run in self.runs.items() if name not in self.ends and run.sent]
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_S):
                await asyncio.gather(*(self._stop_one(client, run) for run in left))

    async def _stop_one(self, client: SshClient, run: NodeRun) -> None:
        become = self.become.get(run.node.name)
        with suppress(TransportError):
            await run.stop(client, become.value if become else "")

    def _count(self, name: str, stats: HostStats) -> None:
        self.log.tally.stats = {**(self.log.tally.stats or {}), name: stats}

    def _forget(self, name: str) -> None:
        """A recap that arrived at the same time as the stop is not reliable."""
        self.log.tally.stats = {n: s for n, s in (self.log.tally.stats or {}).items() if n != name}

    def result(self, nodes: Sequence[Node], redact: Redactor) -> OnNodeResult:
        names = [n.name for n in nodes if n.name not in self.unsuited]
        ends = {name: self.runs[name].detail for name, end in self.ends.items() if end is Ended.STOPPED}
        status = PlaybookStatus.CANCELLED if self.stopping else PlaybookStatus.COMPLETED
        if "timed_out" in ends.values():
            status = PlaybookStatus.TIMED_OUT
        hosts: dict[str, HostOutcome] = self.log.tally.outcomes(names)
        detail = "" if status is PlaybookStatus.COMPLETED else status.value.replace("_", " ")
        line = self.request.command_line(self.artifacts, redact)
        return OnNodeResult(PlaybookResult(status, hosts, line, time.monotonic() - self.started, detail), self.unsuited)
