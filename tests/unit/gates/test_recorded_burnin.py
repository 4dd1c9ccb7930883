"""The run of a burn-in in the store: burn-ins before it whose controller was killed."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters import processes
from clusterctl.adapters.config import Config
from clusterctl.adapters.store import Store
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.records import RunStatus
from clusterctl.workflows.burnin.recorded import burnin_run
from support.gates import node
from support.stores import a_run

if TYPE_CHECKING:
    from pathlib import Path

DEAD = "20260314-080000-burnin-dead"


def killed(config: Config, verb: str, *names: str) -> None:
    """A run of nodes whose process has ended without recording it."""
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    with Store.open(config.store_url) as store:
        store.register([node(name) for name in names])
        store.start_run(replace(a_run(DEAD), verb=verb, holder=replace(processes.current(), pid=ended.pid)), names)


@pytest.mark.parametrize(
    ("verb", "names", "status"),
    [
        ("burnin", ["n1", "n2"], RunStatus.ABANDONED),
        ("burnin", ["n2", "n3"], RunStatus.RUNNING),
        ("provision", ["n1", "n2"], RunStatus.RUNNING),
    ],
    ids=["of a node of this one", "of other nodes", "a provision, which its own verb continues"],
)
def test_a_burnin_closes_those_that_were_killed(tmp_path: Path, verb: str, names: list[str], status: RunStatus) -> None:
    config = Config(tmp_path, (), tmp_path)
    killed(config, verb, *names)
    with burnin_run("n1", [node("n1")], [], config, in_service=False) as run:
        closed = status is RunStatus.ABANDONED
        assert [DEAD in text and "nothing of it counts" in text for text in run.notes] == [True] * closed
    with Store.open(config.store_url) as store:
        found = store.run(DEAD)
        assert (found.status, found.exit_code) == (status, ExitCode.INTERRUPTED if closed else None)
        assert [r.id for r in store.unfinished_runs()] == ([] if closed else [DEAD])
