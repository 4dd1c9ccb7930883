"""Records the events of a playbook run: what Ansible printed, one line of JSON per task, and the count of both."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Self

from clusterctl.adapters.ansible.tally import Tally
from clusterctl.model.task_event import TaskEvent, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from clusterctl.adapters.ansible.events import AnsibleEvent
    from clusterctl.core.redact import Redactor

_LAST_LINES = 10


class PlaybookLog:
    """A context manager over `events.jsonl` and a log of what was printed, both without secrets.

    Attributes:
        tally: what has happened so far.
        last_lines: the end of what was printed.
    """

    def __init__(
        self,
        artifacts: Path,
        redact: Redactor,
        on_event: Callable[[TaskEvent], None] | None = None,
        on_output: Callable[[str], None] | None = None,
    ) -> None:
        self._artifacts, self._redact = artifacts, redact
        self._on_event, self._on_output = on_event, on_output
        self._record: IO[str]
        self._logs: dict[str, IO[str]] = {}
        self.tally = Tally()
        self.last_lines: list[str] = []

    def __enter__(self) -> Self:
        self._artifacts.mkdir(parents=True, exist_ok=True)
        self._record = self._opened("events.jsonl")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for file in (self._record, *self._logs.values()):
            file.close()

    def add(self, event: AnsibleEvent, log: str = "ansible.log") -> None:
        """Record one event of ansible-runner; `log` is the file for what was printed."""
        if text := self._redact(event.text):
            self._file(log).write(text.replace("\r\n", "\n") + "\n")
            self.last_lines = [*self.last_lines[1 - _LAST_LINES :], text.strip()]
            if self._on_output:
                self._on_output(text)
        if event.stats is not None:
            self.tally.stats = {**(self.tally.stats or {}), **event.stats}
        if event.task is None:
            return
        task = self._masked(event.task)
        self.tally.add(task)
        if task.status is not TaskStatus.STARTED:
            # Not asdict, which copies what is in the fields, for every task of every node.
            fields = {name: getattr(task, name) for name in TaskEvent.__slots__}
            self._record.write(json.dumps(fields, ensure_ascii=False) + "\n")
        if self._on_event:
            self._on_event(task)

    def _masked(self, task: TaskEvent) -> TaskEvent:
        """Without secrets. Nearly every task is the same without, and a copy of each costs more than to look for them."""
        shown = self._redact(task.task), self._redact(task.diff), self._redact(task.message)
        return task if shown == (task.task, task.diff, task.message) else replace(task, task=shown[0], diff=shown[1], message=shown[2])

    def _file(self, name: str) -> IO[str]:
        if name not in self._logs:
            self._logs[name] = self._opened(name)
        return self._logs[name]

    def _opened(self, name: str) -> IO[str]:
        """JSON of a node can hold half of a character pair, which a file cannot."""
        return (self._artifacts / name).open("a", encoding="utf-8", errors="backslashreplace")
