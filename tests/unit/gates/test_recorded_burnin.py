"""The run of a burn-in in the store: burn-ins before it whose controller was killed."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters import processes
from clusterctl.adapters.config import Config
from clusterctl.adapters.store import Store
from clusterctl.model.errors import LeaseHeldError, MachineHeldError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.node import Connection
from clusterctl.model.records import RunStatus
from clusterctl.workflows.burnin.recorded import burnin_run
from clusterctl.workflows.lease import leases_on
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
    with burnin_run("n1", [node("n1")], [], config, "quick", in_service=False) as run:
        closed = status is RunStatus.ABANDONED
        assert [DEAD in text and "nothing of it counts" in text for text in run.notes] == [True] * closed
    with Store.open(config.store_url) as store:
        found = store.run(DEAD)
        assert (found.status, found.exit_code) == (status, ExitCode.INTERRUPTED if closed else None)
        assert [r.id for r in store.unfinished_runs()] == ([] if closed else [DEAD])


def test_a_machine_under_two_names_is_measured_by_one_run_at_a_time(tmp_path: Path) -> None:
    config = Config(tmp_path, (), tmp_path, operator="ada")
    with burnin_run("n1", [node("n1", host="10.0.0.9")], [], config, "quick", in_service=False) as run:
        with (
            pytest.raises(MachineHeldError, match=rf"10.0.0.9 port 22 is held by ada \(run {run.rundir.id}\)"),
            burnin_run("gpu9", [node("gpu9", host="10.0.0.9")], [], config, "quick", in_service=False),
        ):
            raise AssertionError
        with (
            pytest.raises(LeaseHeldError, match=r"^n1 is held by ada"),
            burnin_run("n1", [node("n1")], [], config, "quick", in_service=False),
        ):
            raise AssertionError
        with burnin_run("n2", [node("n2", host="10.0.0.8")], [], config, "quick", in_service=False):
            pass
    with burnin_run("gpu9", [node("gpu9", host="10.0.0.9")], [], config, "quick", in_service=False):
        pass


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({}, {"user": "ubuntu"}, True),
        ({}, {"port": 2222}, False),
        ({}, {"ssh_args": ("-o", "ProxyJump=site-b")}, False),
        ({}, {"ssh_args": ("-o", "ConnectTimeout=9")}, True),
        ({"kind": "podman"}, {"kind": "podman"}, False),
    ],
)
def test_what_is_one_machine(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    first, second = (
        replace(node(name, host="10.0.0.9"), connection=Connection("10.0.0.9", **how)) for name, how in (("a", one), ("b", other))
    )
    assert bool(leases_on([first]) & leases_on([second])) is same
