"""Runs a playbook. The only module that imports ansible_runner; it contains the workarounds for its known defects."""

from __future__ import annotations

import os
import queue
import shlex
import shutil
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.ansible import environment as ansible_env
from clusterctl.adapters.ansible import process_tree
from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.ansible.events import read_event
from clusterctl.adapters.ansible.playbook_log import PlaybookLog
from clusterctl.adapters.ansible.playbook_request import PlaybookRequest
from clusterctl.adapters.ansible.storage_errors import storage_errors
from clusterctl.adapters.private_directory import private_dir
from clusterctl.core.redact import Redactor
from clusterctl.model.errors import ConfigError
from clusterctl.model.playbook_result import HostOutcome, HostStatus, PlaybookResult, PlaybookStatus, TaskFailure
from clusterctl.model.program import Program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clusterctl.model.task_event import TaskEvent

__all__ = ["HostOutcome", "HostStatus", "PlaybookRequest", "PlaybookResult", "PlaybookStatus", "TaskFailure", "run_playbook"]

_POLL_S = 1.0


def run_playbook(
    request: PlaybookRequest,
    artifacts: Path,
    on_event: Callable[[TaskEvent], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    on_output: Callable[[str], None] | None = None,
) -> PlaybookResult:
    """Run a playbook to its end and return the outcome of every requested node.

    `on_event` and `on_output` are called in the thread of the caller. `ansible.log` and `events.jsonl` are written to `artifacts`,
    without secrets. On an exception (also Ctrl-C) Ansible and all its workers are ended first. If the controller is killed, the
    parent-death signal ends the run.

    Raises:
        ConfigError: ansible-playbook is not installed, or there are no nodes.
        StoreError: `artifacts` cannot be written, e.g. the disk is full.
    """
    if not request.nodes:
        raise ConfigError(detail="a playbook run without nodes", hint="name at least one node")
    with storage_errors(artifacts), private_dir() as private:
        return _Run(request, artifacts, private, on_event, cancelled, on_output).run()


@dataclass(slots=True)
class _Run:
    """One run: ansible-runner in its own thread, events handled in the thread of the caller."""

    request: PlaybookRequest
    artifacts: Path
    private: Path
    on_event: Callable[[TaskEvent], None] | None
    cancelled: Callable[[], bool] | None
    on_output: Callable[[str], None] | None
    redact: Redactor = field(init=False)
    events: queue.SimpleQueue[Mapping[str, Any] | None] = field(default_factory=queue.SimpleQueue)
    stopped: PlaybookStatus | None = None
    exit_status: int | None = None
    crash: BaseException | None = None
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.redact = Redactor.of_command(os.environ, self.request.extra_args)

    def run(self) -> PlaybookResult:
        self.artifacts.mkdir(parents=True, exist_ok=True)
        runner = self._prepare()
        thread = threading.Thread(target=self._work, args=(runner,), name="ansible-runner")
        thread.start()
        try:
            log = self._handle_events()
        except BaseException:
            self._stop(PlaybookStatus.CANCELLED)
            raise
        finally:
            thread.join()
        if self.crash is not None:
            raise self.crash
        return self._result(log)

    def _prepare(self) -> Any:
        from ansible_runner import Runner, RunnerConfig  # noqa: PLC0415 slow to import, and needed only here

        request = self.request
        binary = ansible_env.executable(Program.ANSIBLE_PLAYBOOK)
        if binary is None:
            raise ConfigError(detail="ansible-playbook is not installed", hint="install ansible-core into clusterctl's environment")
        config = RunnerConfig(
            private_data_dir=str(self.private),
            playbook=str(request.playbook_path()),
            inventory=[str(i) for i in request.inventory],
            limit=request.limit(self.artifacts),
            tags=",".join(request.tags) or None,
            forks=request.forks,
            verbosity=request.verbosity or None,
            cmdline=shlex.join(request.fixed_args()) or None,
            envvars={"ANSIBLE_HOST_KEY_CHECKING": os.environ.get("ANSIBLE_HOST_KEY_CHECKING", "True")},
            fact_cache_type="",
            quiet=True,
            suppress_env_files=True,
        )
        config.prepare()
        # prepare() reads env/settings and the whole environment, so these settings must come after it
        config.suppress_output_file = config.suppress_ansible_output = True
        config.pexpect_timeout = _POLL_S
        config.env = ansible_env.minimal_environment(config.env, content_dir())
        config.cwd = str(Path.cwd())
        guard = shutil.which(Program.SETPRIV)
        config.command = [*((guard, "--pdeathsig", "TERM", "--") if guard else ()), binary, *config.command[1:]]
        return Runner(config, cancel_callback=self._must_stop, event_handler=self._receive, status_handler=self._delete_command_file)

    def _work(self, runner: Any) -> None:
        try:
            _, self.exit_status = runner.run()
        except BaseException as e:  # noqa: BLE001 raised again in the thread of the caller
            self.crash = e
        finally:
            self.events.put(None)

    def _receive(self, event: Mapping[str, Any]) -> bool:
        self.events.put(event)
        return False  # no file per event

    def _delete_command_file(self, status: Mapping[str, Any], runner_config: Any) -> None:
        if status["status"] == "running":  # `command` exists by now, and contains the environment
            (Path(runner_config.artifact_dir) / "command").unlink(missing_ok=True)

    def _must_stop(self) -> bool:
        if self.stopped is None and self.cancelled is not None and self.cancelled():
            self._stop(PlaybookStatus.CANCELLED)
        elif self.stopped is None and time.monotonic() - self.started > self.request.timeout_s:
            self._stop(PlaybookStatus.TIMED_OUT)
        return self.stopped is not None

    def _stop(self, why: PlaybookStatus) -> None:
        self.stopped = self.stopped or why
        process_tree.end_processes(str(self.private))

    def _handle_events(self) -> PlaybookLog:
        with PlaybookLog(self.artifacts, self.redact, self.on_event, self.on_output) as log:
            while (event := self.events.get()) is not None:
                log.add(read_event(event))
        return log

    def _result(self, log: PlaybookLog) -> PlaybookResult:
        status, detail = PlaybookStatus.COMPLETED, ""
        if self.stopped is not None:
            status = self.stopped
            detail = f"stopped after {self.request.timeout_s} s" if status is PlaybookStatus.TIMED_OUT else "cancelled"
            log.tally.stats = None  # a recap that arrived at the same time as the stop is not reliable
        elif log.tally.stats is None:
            # ansible-runner has no exit status of what a signal ended
            status = PlaybookStatus.KILLED if self.exit_status is None else PlaybookStatus.COULD_NOT_START
            detail = " ".join(line for line in log.last_lines if line)[-1000:]
        hosts = log.tally.outcomes(self.request.nodes)
        return PlaybookResult(
            status, hosts, self.request.command_line(self.artifacts, self.redact), time.monotonic() - self.started, detail
        )
