"""Read a request from stdin, answer on stdout. Whatever Ansible prints goes to stderr.

    python -m clusterctl.adapters.inventory.ansible_worker PARENT_PID [SOCKET_FD]

With the descriptor of a listening socket it keeps the sources of the request open, and answers on that socket.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import sys

from clusterctl.adapters.inventory.ansible_worker.answering import reply_to
from clusterctl.adapters.inventory.ansible_worker.confinement import confine
from clusterctl.adapters.inventory.ansible_worker.keeping import keep_open
from clusterctl.adapters.inventory.wire import WorkerRequest

# Of a large inventory nearly everything stays in use: by default a fifth of the time goes into looking for garbage.
_OBJECTS_UNTIL_COLLECTION = 200_000


def main(parent: str, listening: str = "") -> None:
    """One request, one answer; or answers for as long as the parent lives."""
    confine(int(parent))
    gc.set_threshold(_OBJECTS_UNTIL_COLLECTION)
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as channel:
        os.dup2(2, 1)
        request = WorkerRequest.from_dict(json.load(sys.stdin))
        if listening:
            keep_open(request, socket.socket(fileno=int(listening)))
            return
        json.dump(reply_to(request), channel, ensure_ascii=False)
        channel.flush()


if __name__ == "__main__":
    main(*sys.argv[1:3])
