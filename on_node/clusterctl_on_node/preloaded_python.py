"""A Python with Ansible's module_utils imported that forks for each module: most of a module's time is the start of its Python.

Arguments: a socket path, the folder of Ansible's library. A client sends one byte with the file descriptors for stdin, stdout and stderr.
Stdin has one line of JSON with the variables of the task, and then the module's source. The answer is the exit status. It ends when its socket is gone, with the folder of its run.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import sys
import traceback
import types
from contextlib import suppress
from pathlib import Path

_LOOK_S = 5.0
_PRELOADED = (
    "ansible.module_utils.basic",
    "ansible.module_utils.common.text.converters",
    "ansible.module_utils.facts.system.distribution",
    "ansible.module_utils.facts.timeout",
    "ansible.module_utils.service",
    "ansible.module_utils.urls",
    # what the start of every module imports before the module itself
    "ansible.module_utils._internal._ansiballz._loader",
    "ansible.module_utils._internal._json._profiles._module_legacy_c2m",
    "ansible.module_utils._internal._json._profiles._module_legacy_m2c",
    "encodings.cp437",
    "runpy",
    "zipfile",
)


def preload(lib: str) -> None:
    """Import what most modules import; the folder itself is on no module's path afterwards."""
    sys.path.insert(0, lib)
    for name in _PRELOADED:
        with suppress(ImportError):
            importlib.import_module(name)
    sys.path.remove(lib)
    gc.collect()
    gc.freeze()


def serve(path: str, lib: str) -> None:
    """Serve for as long as the socket has its name."""
    preload(lib)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{path}.new")
    listener.listen(64)
    os.rename(f"{path}.new", path)  # noqa: PTH104 as below
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, socket.socket] = {}
    while os.path.exists(path):  # noqa: PTH110 called for every module
        ready, _, _ = select.select([listener.fileno(), ended], [], [], _LOOK_S)
        if ended in ready:
            os.read(ended, 4096)
            _answer_ended(running)
        if listener.fileno() in ready:
            client, _ = listener.accept()
            fds = _sent(client)
            if len(fds) == 3:  # noqa: PLR2004 stdin, stdout, stderr
                running[_fork_module(fds, [listener, client, *running.values()])] = client
            else:
                client.close()


def _sent(client: socket.socket) -> list[int]:
    """What the client sent; nothing where it sends nothing in time, for others wait behind it."""
    client.settimeout(_LOOK_S)
    with suppress(OSError):
        return socket.recv_fds(client, 1, 3)[1]
    return []


def _fork_module(fds: list[int], ours: list[socket.socket]) -> int:
    """Start a module, which gets none of `ours`; its process."""
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for one in ours:
            one.close()
        _become_module(fds)
    for fd in fds:
        os.close(fd)
    return pid


def _answer_ended(running: dict[int, socket.socket]) -> None:
    """Answer the clients of modules that have ended with their exit status."""
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            client = running.pop(found[0])
            code = os.waitstatus_to_exitcode(found[1])
            with suppress(OSError):  # nobody waits for it any more
                client.sendall(struct.pack("i", code if code >= 0 else 128 - code))  # as a shell reports a signal
            client.close()


def _become_module(fds: list[int]) -> None:
    """What `python3 < source` would be, without its start."""
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    os.environ["PWD"] = str(Path.cwd())  # as the shell does that starts a module otherwise
    code = 1
    try:
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, mode, closefd=False) for n, mode in enumerate("rww"))
        given = open(0, "rb", closefd=False)  # noqa: SIM115 the descriptor stays
        os.environ.update(json.loads(given.readline()))
        source = given.read()
        sys.argv = [""]
        module = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(source, "<stdin>", "exec"), module.__dict__)  # noqa: S102 that is its job: the payload is Ansible's own
        code = 0
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else int(e.code is not None)
    except BaseException:  # noqa: BLE001 as the interpreter does at its end
        traceback.print_exc()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    serve(*sys.argv[1:3])
