"""Runs a short command again and again while a step runs, as `nvidia-smi` beside a load. Standard library, Python 3.8+."""

from __future__ import annotations

import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

from child_process import Output, ended_within

if TYPE_CHECKING:
    from collections.abc import Sequence

# A command that takes longer is ended, and recorded without an exit status. Drivers answer in tenths of a second; one that waits for a dying GPU takes 30 s.
LIMIT_S = 30.0
KEPT_CHARACTERS = 4096


class CommandSampler:
    """What a command printed, every `every_s` seconds, with the time that it took.

    After the first that took `slow_s` each of `alone`, the same command about one device, is run once.
    """

    def __init__(
        self,
        argv: list[str],
        every_s: float,
        environment: dict[str, str],
        alone: Sequence[tuple[str, list[str]]] = (),
        slow_s: float = LIMIT_S,
    ) -> None:
        self.argv = argv
        self.every_s = every_s
        self.environment = environment
        self.alone = alone
        self.slow_s = slow_s
        self.samples: list[dict[str, Any]] = []
        self.over = threading.Event()
        self.began = time.monotonic()
        self.thread = threading.Thread(target=self._sample_often, daemon=True)

    def start(self) -> CommandSampler:
        """Sample until `end`."""
        self.thread.start()
        return self

    def end(self) -> list[dict[str, Any]]:
        """The samples, without one that is still being taken when its time is over."""
        self.over.set()
        self.thread.join(LIMIT_S + 10)
        return list(self.samples)

    def sample(self, argv: list[str], device: str = "") -> float:
        """Run a command once. Returns the seconds that it took."""
        begun = time.monotonic()
        status, text = None, ""
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=self.environment,
                start_new_session=True,
            )
        except OSError as e:
            text = f"{argv[0]}: {e.strerror}"
        else:
            output = Output(process.stdout)
            ended = ended_within(process, LIMIT_S)
            text = output.text()[:KEPT_CHARACTERS]
            status = process.returncode if ended and process.returncode is not None and process.returncode >= 0 else None
        took = time.monotonic() - begun
        at_s = round(begun - self.began, 3)
        self.samples.append({"at_s": at_s, "took_s": round(took, 3), "exit_status": status, "stdout": text, "device": device})
        return took

    def _sample_often(self) -> None:
        due = time.monotonic()
        while not self.over.wait(max(0.0, due - time.monotonic())):
            if self.sample(self.argv) >= self.slow_s:
                self._sample_alone()
            due = max(due + self.every_s, time.monotonic())

    def _sample_alone(self) -> None:
        """Two that are slow name none, so that the rest is not waited for."""
        alone, self.alone, slow = self.alone, (), 0
        for device, argv in alone:
            if self.over.is_set() or slow > 1:
                return
            slow += self.sample(argv, device) >= self.slow_s


def tracer_of(step: dict[str, Any], environment: dict[str, str]) -> CommandSampler | None:
    """What traces a step, begun; None where nothing does."""
    if not step.get("trace_argv"):
        return None
    slow_s = step.get("trace_slow_s") or LIMIT_S
    return CommandSampler(step["trace_argv"], step["trace_s"], environment, step.get("trace_alone", ()), slow_s).start()
