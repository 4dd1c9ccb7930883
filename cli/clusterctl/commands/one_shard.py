"""The process of one shard, started by `clusterctl worker`: the shard is named on standard input, and its end ends this process."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

from clusterctl.commands.options import load_config
from clusterctl.model.provision import Note
from clusterctl.model.shard import Fence
from clusterctl.terminal import messages
from clusterctl.workflows.provision.request import ProgressListener
from clusterctl.workflows.queue.provision_shard import provision_shard

if TYPE_CHECKING:
    import rich_click as click

    from clusterctl.model.provision import Progress


def provision_named_shard(ctx: click.Context, vault_ids: tuple[str, ...]) -> int:
    """Provision the shard of the first line of standard input; returns the exit code of its run."""
    fence = Fence(**json.loads(sys.stdin.readline()))
    threading.Thread(target=end_with_the_worker, name="worker-watch", daemon=True).start()
    config = load_config(ctx, gates=True)
    listener = ProgressListener(_notify, messages.note, lambda _plan: True)
    return provision_shard(config, fence, vault_ids, listener)


def end_with_the_worker() -> None:
    """A killed worker closes the pipe: without it nobody would renew the claim on the shard."""
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


def _notify(progress: Progress) -> None:
    """Tasks and moves of nodes are in the run's directory and in the record."""
    if isinstance(progress, Note):
        messages.note(progress.text)
