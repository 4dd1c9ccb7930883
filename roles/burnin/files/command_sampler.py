"""Runs a short command again and again while a step runs, as `nvidia-smi` beside a load. Standard library, Python 3.8+."""

from __future__ import annotations

import subprocess
import threading
import time
from typing import Any

from child_process import Output, ended_within

# A command that takes longer is ended, and recorded without an exit status. Drivers answer in tenths of a second; one that waits for a dying GPU takes 30 s.
LIMIT_S = 30.0
KEPT_CHARACTERS = 4096


class CommandSampler:
    """What a command printed, every `every_s` seconds, with the time that it took."""

    def __init__(self, argv: list[str], every_s: float, environment: dict[str, str]) -> None:
        self.argv = argv
        self.every_s = every_s
        self.environment = environment
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

    def sample(self) -> None:
        """Run the command once."""
        begun = time.monotonic()
        status, text = None, ""
        try:
            process = subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=self.environment,
                start_new_session=True,
            )
        except OSError as e:
            text = f"{self.argv[0]}: {e.strerror}"
        else:
            output = Output(process.stdout)
            ended = ended_within(process, LIMIT_S)
            text = output.text()[:KEPT_CHARACTERS]
            status = process.returncode if ended and process.returncode is not None and process.returncode >= 0 else None
        took = time.monotonic() - begun
        self.samples.append({"at_s": round(begun - self.began, 3), "took_s": round(took, 3), "exit_status": status, "stdout": text})

    def _sample_often(self) -> None:
        due = time.monotonic()
        while not self.over.wait(max(0.0, due - time.monotonic())):
            self.sample()
            due = max(due + self.every_s, time.monotonic())
