"""Python programs that tests start hundreds of times: a process that has imported one forks for each start. Only the import is saved.

As a program, with MODULE:FUNCTION, it is that process: each line of its stdin describes a start, each line of its stdout is an exit status.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_MOST = 4


class ForkedPython:
    """A process that has imported `entry`, in an environment that is read while it is imported."""

    def __init__(self, entry: str, environment: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, entry],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            start_new_session=True,
        )

    def run(
        self, argv: Sequence[str], *words: str, environment: Mapping[str, str], folder: Path, limit_s: float, given: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """What `subprocess.run` returns for the program.

        Args:
            words: the arguments of the function; `argv` is sys.argv.
            given: its stdin.

        Raises:
            TimeoutExpired: it has not ended in time.
        """
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        with TemporaryDirectory(prefix="clusterctl-start-") as own:
            files = [Path(own) / name for name in ("in", "out", "err")]
            for file in files:
                file.write_text(given if file.name == "in" else "", encoding="utf-8")
            start = {"argv": argv, "words": words, "environment": dict(environment), "folder": str(folder), "files": list(map(str, files))}
            process.stdin.write(json.dumps(start) + "\n")
            process.stdin.flush()
            if not select.select([process.stdout], [], [], limit_s)[0]:
                os.killpg(process.pid, signal.SIGKILL)  # a later answer would be taken for that of another start
                process.wait()
                raise subprocess.TimeoutExpired(list(argv), limit_s)
            code = int(process.stdout.readline())
            out, err = (file.read_text(encoding="utf-8") for file in files[1:])
            return subprocess.CompletedProcess(list(argv), code, out, err)

    def close(self) -> None:
        """End the process."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        self.process.wait()


_KEPT: dict[tuple[str, frozenset[tuple[str, str]]], ForkedPython] = {}


def forked_python(entry: str, environment: Mapping[str, str]) -> ForkedPython:
    """The process for `entry` in this environment; it is kept for later tests, and ends with this process at the latest, because its stdin does."""
    key = (entry, frozenset(environment.items()))
    found = _KEPT.pop(key, None)
    if found is None or found.process.poll() is not None:
        found = ForkedPython(entry, environment)
    _KEPT[key] = found
    if len(_KEPT) > _MOST:
        _KEPT.pop(next(iter(_KEPT))).close()
    return found


def _serve(entry: str) -> None:
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        module, _, name = entry.partition(":")
        function = getattr(importlib.import_module(module), name)
        gc.collect()
        gc.freeze()
        for line in sys.stdin:
            pid = os.fork()
            if pid == 0:
                answers.close()
                _become(function, **json.loads(line))
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), file=answers, flush=True)


def _become(
    function: Callable[..., Any], argv: list[str], words: list[str], environment: dict[str, str], folder: str, files: list[str]
) -> None:
    code = 1
    try:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        for number, (file, mode) in enumerate(zip(files, "rww", strict=True)):
            opened = Path(file).open(mode, encoding="utf-8")  # noqa: SIM115 the descriptor stays
            os.dup2(opened.fileno(), number)
        buffers = (-1, -1, 1)
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, mode, buffers[n], "utf-8", closefd=False) for n, mode in enumerate("rww"))
        sys.argv = argv
        function(*words)
        code = 0
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else int(e.code is not None)
        if isinstance(e.code, str):
            sys.stderr.write(f"{e.code}\n")
    except BaseException:  # noqa: BLE001 as the interpreter does at its end
        traceback.print_exc()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of this file: a module of tests is no module of the program
    _serve(sys.argv[1])
