"""One run as a service of the node: it outlives the connection that started it, and ends when nobody attends it any more."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from clusterctl_on_node import run_folder
from clusterctl_on_node.follower import ATTENDED, END, READ
from clusterctl_on_node.processes import adopt_orphans, end_descendants
from clusterctl_on_node.trim import trimmed
from clusterctl_on_node.worker_input import argv, environment, kwargs

if TYPE_CHECKING:
    from pathlib import Path

_UNATTENDED = "unattended"
_PRIVATE = "private"
_RECAP = "playbook_on_stats"
_POLL_S = 0.5
_GRACE_S = 10.0


@dataclass
class Service:
    """One run.

    Attributes:
        folder: of the run; deleted at the end.
        content: the unpacked archive.
        why: why the run was ended, or ended by itself, before its end; empty otherwise.
        recap: Ansible reported the end of its playbook.
    """

    folder: Path
    content: Path
    why: str = ""
    recap: bool = False
    worker: subprocess.Popen[bytes] | None = None
    done: threading.Event = field(default_factory=threading.Event)

    def run(self) -> int:
        """Run the playbook, write its events, wait for the controller to have read them."""
        adopt_orphans()
        request = self.folder / run_folder.REQUEST
        requested = json.loads(request.read_bytes())
        request.unlink()
        lock = run_folder.open_lock(self.folder.parent / "lock")
        with (self.folder / run_folder.EVENTS).open("xb") as events:
            if not run_folder.try_lock(lock):
                self._end(events, {"held": lock.read(200).strip()})
            else:
                lock.truncate(0)
                lock.write(f"{requested['holder']}\n")
                lock.flush()
                self._end(events, {"rc": self._work(requested, events), "why": self.why})
            lock.close()
        run_folder.remove(self.folder / _PRIVATE)
        if self.why != _UNATTENDED:
            self._linger(requested["unattended_s"])
        run_folder.remove(self.folder)
        return 0

    def _work(self, requested: dict[str, Any], events: BinaryIO) -> int:
        private = self.folder / _PRIVATE
        (private / "inventory").mkdir(mode=0o700, parents=True)
        (private / "inventory" / "hosts.json").write_text(json.dumps(requested["inventory"]), encoding="utf-8")
        with (self.folder / "stderr").open("wb") as errors:
            self.worker = subprocess.Popen(
                argv(self.content, private),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment(self.content, self.folder, requested["environment"]),
                start_new_session=True,
            )
        given, printed = self.worker.stdin, self.worker.stdout
        if given is None or printed is None:
            raise BrokenPipeError
        with suppress(BrokenPipeError), given:
            given.write(json.dumps({"kwargs": kwargs(requested, self.content)}).encode() + b'\n{"eof": true}\n')
        threading.Thread(target=self._watch, args=(requested["unattended_s"], requested["timeout_s"]), daemon=True).start()
        for line in printed:
            if line.startswith(b'{"zipfile"'):
                break
            self.recap |= _write_event(line, events) == _RECAP
        printed.read()
        code = self.worker.wait()
        self.done.set()
        if not self.why and not self.recap:
            self.why = early_end(code)
        if self.why:
            end_descendants(_GRACE_S)
        if code:
            events.write(json.dumps({"event": "error", "stdout": self._last_words()}).encode() + b"\n")
        return code

    def _last_words(self) -> str:
        return (self.folder / "stderr").read_text(encoding="utf-8", errors="replace")[-2000:]

    def _watch(self, unattended_s: float, timeout_s: float) -> None:
        """End the worker where nobody has listened for `unattended_s`, where a follower requests it, or where it takes too long."""
        seen = began = time.monotonic()
        while not self.done.wait(_POLL_S):
            now = time.monotonic()
            seen = now if self._attended() else seen
            if (self.folder / run_folder.STOP).exists():
                self._kill("cancelled")
            elif now - seen > unattended_s:
                self._kill(_UNATTENDED)
            elif now - began > timeout_s:
                self._kill("timed_out")

    def _kill(self, why: str) -> None:
        if self.worker is None or self.done.is_set():
            return
        self.why = self.why or why
        end_descendants(_GRACE_S)

    def _end(self, events: BinaryIO, what: dict[str, Any]) -> None:
        events.write(END + json.dumps(what).encode() + b"}\n")
        events.flush()

    def _attended(self) -> bool:
        """Whether somebody follows the run: a follower holds the lock for as long as its connection."""
        with run_folder.open_lock(self.folder / ATTENDED) as file:
            return not run_folder.try_lock(file)

    def _linger(self, unattended_s: float) -> None:
        """Until the controller has read the end; as long as a run goes on unattended, so that one whose connection broke can come back for it."""
        seen = time.monotonic()
        while not (self.folder / READ).exists() and time.monotonic() - seen < unattended_s:
            seen = time.monotonic() if self._attended() else seen
            time.sleep(_POLL_S)


def early_end(code: int) -> str:
    """What the exit status of the runner shows of a playbook without a recap; where a signal ended ansible-playbook, the runner has no status for it, and exits with 0."""
    if code > 0:
        return f"Ansible ended with exit status {code} before the end of its playbook"
    return "Ansible was killed on the node, where `journalctl -k` shows whether memory ran out"


def _write_event(line: bytes, events: BinaryIO) -> str:
    """Hand on an event of the runner, and return its kind; its statuses add nothing to the events and the exit status."""
    try:
        event = json.loads(line)
    except ValueError:
        event = {"event": "error", "stdout": line.decode(errors="replace").rstrip()}
    kept = trimmed(event) if "event" in event else None
    if kept is not None:
        events.write(json.dumps(kept).encode() + b"\n")
        events.flush()
    return str(event.get("event", ""))
