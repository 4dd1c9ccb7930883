"""Connection plug-in: as `local`, but modules are forked from one Python that has Ansible's module_utils imported."""

from __future__ import annotations

import fcntl
import json
import os
import re
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from ansible.plugins.connection.local import Connection as LocalConnection

DOCUMENTATION = """
name: preloaded
short_description: modules forked from a preloaded Python
description:
    - Runs on the node itself. A module that Ansible hands to an interpreter by pipelining is sent to a process that forks for it.
    - Whatever is unexpected takes the way of C(local).
author: clusterctl
extends_documentation_fragment:
    - connection_pipelining
"""

# how ansible-core 2.19 starts a module with pipelining and without become; a task's variables are before it, and match where they need no quotes
_STARTS_MODULE = re.compile(r"/bin/sh -c '(?P<variables>(?:[A-Za-z_]\w*=[\w@%+=:,./-]* )*)(?P<python>/[\w./-]+) && sleep 0'", re.ASCII)
# read when a Python starts (HOME: packages of the user), or by libraries that are loaded with it
_READ_AT_START = re.compile(r"PYTHON|LC_|LANG|LD_|MALLOC_|GLIBC_|OPENSSL_|HOME$|TZ$")
_START_S = 10.0
_POLL_S = 0.02


class Connection(LocalConnection):  # type: ignore[misc] # ansible-core has no types
    """`local` with a shorter start of modules."""

    transport = "preloaded"
    has_pipelining = True

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        """Run a command; a module in a fork."""
        found = _STARTS_MODULE.fullmatch(cmd) if in_data and not self.become else None
        variables = dict(word.split("=", 1) for word in found["variables"].split()) if found else {}
        client = _connected(found["python"]) if found and not any(map(_READ_AT_START.match, variables)) else None
        if client is None or in_data is None:
            result: tuple[int, bytes, bytes] = super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
            return result
        with client, tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write(json.dumps(variables).encode() + b"\n" + in_data)
            given.seek(0)
            socket.send_fds(client, [b"m"], [given.fileno(), out.fileno(), err.fileno()])
            status = client.recv(4)
            out.seek(0)
            err.seek(0)
            code = struct.unpack("i", status)[0] if len(status) == 4 else 1  # noqa: PLR2004 an int
            return code, out.read(), err.read()


def _connected(python: str) -> socket.socket | None:
    """A connection to the preloaded `python`, started where it does not run yet; None where it cannot be had."""
    folder = Path(os.environ["CLUSTERCTL_PRELOADED"])
    path = folder / python.strip("/").replace("/", "_")
    client = _try(path)
    if client is None:
        folder.mkdir(mode=0o700, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            client = _try(path) or _start(python, path)
    return client


def _start(python: str, path: Path) -> socket.socket | None:
    if path.with_suffix(".failed").exists():
        return None
    # Not beside this file: Ansible takes every file in a folder of plug-ins for one, and warns.
    server = Path(__file__).parents[1] / "preloaded_python.py"
    nothing: Any = subprocess.DEVNULL
    argv = [python, str(server), str(path), os.environ["CLUSTERCTL_PRELOADED_LIB"]]
    started = subprocess.Popen(argv, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True, cwd=Path.home())
    until = time.monotonic() + _START_S
    while time.monotonic() < until and started.poll() is None:
        client = _try(path)
        if client:
            return client
        time.sleep(_POLL_S)
    path.with_suffix(".failed").touch()
    return None


def _try(path: Path) -> socket.socket | None:
    client = socket.socket(socket.AF_UNIX)
    try:
        client.connect(str(path))
    except OSError:
        client.close()
        return None
    return client
