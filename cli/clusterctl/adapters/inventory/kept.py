"""An inventory that many processes read: one process keeps it open and answers all of them, so that a rack does not pay for reading a whole fleet."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.private_directory import private_dir

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterctl.adapters.inventory.wire import WorkerRequest

SOCKET_VARIABLE = "CLUSTERCTL_KEPT_INVENTORY"
_WAITING = 128


@contextmanager
def keep_inventory(request: WorkerRequest, argv: list[str], environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The environment variable with which other processes query the kept inventory, for as long as the context lasts; empty where it cannot be kept.

    They read the files as they were at its beginning: the caller must ensure that they have not changed. Requests wait until it is read.

    Args:
        request: for the sources that are kept.
        argv: starts the Ansible worker; the descriptor of the socket is added.
        environment: of the Ansible worker.
    """
    with private_dir() as folder, socket.socket(socket.AF_UNIX) as listening:
        path = str(folder / "inventory")
        try:
            listening.bind(path)
        except OSError:  # the folder's path is longer than the name of a socket may be
            yield {}
            return
        listening.listen(_WAITING)
        fd = listening.fileno()
        quiet = subprocess.DEVNULL
        with subprocess.Popen(
            [*argv, str(fd)], stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, env=environment, pass_fds=[fd], start_new_session=True
        ) as process:
            listening.close()
            try:
                if process.stdin:
                    with suppress(BrokenPipeError):
                        process.stdin.write(json.dumps(request.to_dict()).encode())
                        process.stdin.close()
                yield {SOCKET_VARIABLE: path}
            finally:
                process.kill()


def ask_kept_inventory(request: WorkerRequest, timeout_s: float) -> dict[str, Any] | None:
    """The reply of an inventory that is kept for this process; None where there is none, or it has no answer."""
    path = os.environ.get(SOCKET_VARIABLE)
    if not path:
        return None
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(timeout_s)
            client.connect(path)
            client.sendall(json.dumps(request.to_dict()).encode())
            client.shutdown(socket.SHUT_WR)
            with client.makefile("r", encoding="utf-8") as answered:
                reply: dict[str, Any] = json.load(answered)
    except (OSError, ValueError):
        return None
    return reply
