"""An inventory that is read once and queried often: every request is answered by a fork of the process that read it."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.adapters.inventory.ansible_worker.answering import reply_to
from clusterctl.adapters.inventory.ansible_worker.confinement import confine
from clusterctl.adapters.inventory.ansible_worker.failures import WorkerError
from clusterctl.adapters.inventory.ansible_worker.roles import load_roles
from clusterctl.adapters.inventory.ansible_worker.session import open_session, with_extra_vars
from clusterctl.adapters.inventory.ansible_worker.variables import InventoryVariables
from clusterctl.adapters.inventory.wire import WorkerRequest

if TYPE_CHECKING:
    import socket

    from clusterctl.adapters.inventory.ansible_worker.session import Session


def keep_open(kept: WorkerRequest, listening: socket.socket) -> None:
    """Answer requests for the sources of `kept` until this process is ended.

    What cannot be read, and what a plug-in or script returns anew each time, is not kept: without this process a request takes the ordinary way.
    """
    try:
        session = open_session(kept)
        _read_all(session, kept)
    except WorkerError:
        return
    if not session.inventory.is_static:
        return
    gc.collect()
    gc.freeze()
    forked = multiprocessing.get_context("fork")
    while True:
        client, _ = listening.accept()
        forked.Process(target=_answer, args=(client, kept, session, os.getpid())).start()  # reaps those that have ended
        client.close()


def _read_all(session: Session, kept: WorkerRequest) -> None:
    """Ansible reads the files of variables and roles only when it needs them: later requests must see them as they are now."""
    load_roles(session.loader, map(Path, kept.role_dirs))
    variables = InventoryVariables(session)
    for _ in variables.entities(session.inventory.get_hosts()):
        pass


def _answer(client: socket.socket, kept: WorkerRequest, session: Session, server: int) -> None:
    """Answer one request; other sources than the kept ones have no answer here, nor does what fails unexpectedly."""
    confine(server)
    with client, client.makefile("r", encoding="utf-8") as received:
        request = WorkerRequest.from_dict(json.load(received))
        if request.has_sources_of(kept):
            reply = reply_to(request, with_extra_vars(session, request))
            client.sendall(json.dumps(reply, ensure_ascii=False).encode())
