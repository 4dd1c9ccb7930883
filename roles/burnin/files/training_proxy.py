"""Trains a small model with PyTorch on all GPUs of a group, one rank per GPU, and prints one JSON object per line.

training_proxy.py --address A --port P --index I --nodes N --first-rank R --ranks G --world W --width W --layers L --sequence S --batch B --steps N
                  --kill-rank 0|1 --meet-s S --limit-s L [--device cuda]
training_proxy.py --version

Every node runs it at the same time; its ranks meet at the address of the first node. With --kill-rank 1, ranks start again from the checkpoint of half
of the steps, the last one kills itself, and all start once more; each start meets at a port of its own, P to P + 2. This file needs no PyTorch,
training_rank.py does. Python 3.8.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from torch_gemm import emit
from torch_gemm import main as gemm_main
from training_places import LAYOUT, read_place

SCHEMA_VERSION = 1
NO_TORCH, FAILED, ALONE, PORT_TAKEN, HANGS = 3, 4, 5, 6, 7
PROGRAM = Path(__file__).with_name("training_rank.py")
POLL_S = 0.2
# What is left of the time limit for the end.
END_S = 15
# Ranks whose neighbour died end with an error of their own, and say so; later they are ended.
ERRORS_S = 10
# NCCL needs it to multiply the same way each time (PyTorch, torch.use_deterministic_algorithms: cuBLAS).
DETERMINISTIC = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}


class Start(NamedTuple):
    """One start of all ranks.

    Attributes:
        name: `whole`, `killed`, `resumed`.
        begin: the first step; 0 without a checkpoint.
        save, kill: the steps before which the checkpoint is written, and in which the last rank kills itself; -1 = none.
    """

    name: str
    begin: int = 0
    save: int = -1
    kill: int = -1


class Problem(Exception):  # noqa: N818 what ends a run, with its exit status
    """A start that did not go to its end: the exit status of the program, what to call it and a text."""

    def __init__(self, status: int, name: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.name, self.detail = status, name, detail


class Ranks:
    """The ranks of this node, of one start."""

    def __init__(self, options: argparse.Namespace, folder: Path, number: int, start: Start, until: float) -> None:
        self.options, self.folder, self.start, self.until = options, folder, start, until
        # A CPU has no ranks of its own to share its cores with.
        threads = {"OMP_NUM_THREADS": "1"} if options.device == "cpu" else {}
        self.processes = []
        for local in range(options.ranks):
            self.place(local).write_bytes(bytes(LAYOUT.size))
            words = {
                "address": options.address, "port": options.port + number, "world": options.world, "rank": options.first_rank + local, "local": local,
                "width": options.width, "layers": options.layers, "sequence": options.sequence, "batch": options.batch, "steps": options.steps,
                "start": start.begin, "save": start.save, "kill": start.kill, "meet-s": options.meet_s, "limit-s": options.limit_s,
                "device": options.device, "folder": folder, "run": start.name,
            }  # fmt: skip
            argv = [sys.executable, str(PROGRAM), *(f"--{name}={value}" for name, value in words.items())]
            # A file, so that no rank waits for a reader.
            with self.output(local).open("wb") as out:
                self.processes.append(subprocess.Popen(argv, stdout=out, env={**os.environ, **DETERMINISTIC, **threads}))

    def place(self, local: int) -> Path:
        """The file where a rank notes where it stands."""
        return self.folder / f"place{local}"

    def output(self, local: int) -> Path:
        """The file of what a rank prints."""
        return self.folder / f"rank{local}.jsonl"

    def run(self) -> None:
        """Wait for the end of all ranks, and print what they printed.

        Raises:
            Problem: one of them ended early, or did not end.
        """
        try:
            self._wait()
        except Problem:
            statuses = [process.poll() for process in self.processes]
            self.end()
            self.print_lines()
            for local, found in enumerate(self.places()):
                emit(line="place", rank=self.options.first_rank + local, gpu=local, run=self.start.name, status=statuses[local], **found)
            raise
        finally:
            self.end()
        # Whose neighbour killed itself ends with an error, as planned.
        if self.start.kill < 0:
            self.print_lines()

    def _wait(self) -> None:
        since = 0.0
        while True:
            now, statuses = time.monotonic(), [process.poll() for process in self.processes]
            killed = [place["step"] == self.start.kill and place["phase"] in ("compute", "communicate") for place in self.places()]
            early = any(status and not killed[local] for local, status in enumerate(statuses))
            since = since or (now if early or all(killed) else 0.0)
            if None not in statuses or (since and now - since > ERRORS_S):
                if early:
                    raise self._early(statuses)
                return
            if now > self.until:
                raise Problem(HANGS, "hangs", f"the ranks did not end within {self.options.limit_s} s")
            time.sleep(POLL_S)

    def places(self) -> list[dict[str, Any]]:
        """Where each rank stands, or stood last."""
        return [read_place(self.place(local).read_bytes()) for local in range(len(self.processes))]

    def _early(self, statuses: list[int | None]) -> Problem:
        if NO_TORCH in statuses:
            return Problem(NO_TORCH, "no_torch", f"{sys.executable} has no PyTorch")
        if {status for status in statuses if status} == {ALONE}:
            return Problem(ALONE, "alone", "not all ranks met")
        return Problem(FAILED, "failed", "a rank ended before its last step")

    def print_lines(self) -> None:
        """What ranks printed, without what libraries did."""
        for local in range(len(self.processes)):
            for line in self.output(local).read_text(encoding="utf-8", errors="replace").splitlines():
                (sys.stdout if line.startswith("{") else sys.stderr).write(line + "\n")
        sys.stdout.flush()

    def end(self) -> None:
        """No rank stays."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
        for process in self.processes:
            process.wait()


def check_port(port: int) -> None:
    """The first rank will listen on it.

    Raises:
        Problem: it is taken.
    """
    with socket.socket(socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as e:
            raise Problem(PORT_TAKEN, "port_taken", f"port {port}: {e.strerror}") from e


def starts_of(options: argparse.Namespace) -> list[Start]:
    """All starts of a run."""
    half, later = options.steps // 2, options.steps * 3 // 4
    if not options.kill_rank:
        return [Start("whole")]
    return [Start("whole", save=half), Start("killed", begin=half, kill=later), Start("resumed", begin=half)]


def main(words: list[str]) -> int:
    """Read the options and run."""
    if words == ["--version"]:
        return gemm_main(words)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", required=True)
    parser.add_argument("--device", default="cuda")
    names = (
        "port",
        "index",
        "nodes",
        "first-rank",
        "ranks",
        "world",
        "width",
        "layers",
        "sequence",
        "batch",
        "steps",
        "kill-rank",
        "meet-s",
        "limit-s",
    )
    for name in names:
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args(words)
    shape = {name: getattr(options, name) for name in ("index", "nodes", "first_rank", "ranks", "world", "steps")}
    emit(line="head", schema_version=SCHEMA_VERSION, **shape)
    until = time.monotonic() + options.limit_s - END_S
    with tempfile.TemporaryDirectory(prefix="training-", dir=".") as folder:
        try:
            starts = starts_of(options)
            for number in range(len(starts) if options.index == 0 else 0):
                check_port(options.port + number)
            for number, start in enumerate(starts):
                Ranks(options, Path(folder), number, start, until).run()
        except Problem as e:
            emit(line="problem", problem=e.name, detail=e.detail)
            return e.status
    emit(line="end")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
