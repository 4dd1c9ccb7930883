"""`kill -9` of clusterctl in the middle of a group's measurement, on three nodes with real SSH, and the run after it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.store import Store
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.records import RunStatus
from support.burnin_rack import BurninRack
from support.killed_burnin import END_ALL, kill_in_the_middle, left

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.container_node import ContainerNode

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed")]

GATE = ("--gates", "nccl_group")


@pytest.fixture
def rack(burnin_containers: dict[str, ContainerNode], tmp_path: Path) -> Iterator[BurninRack]:
    yield BurninRack(burnin_containers, tmp_path / "site", tmp_path / "state")
    for one in burnin_containers.values():
        one.shell(END_ALL)


def test_the_next_burnin_passes_and_nothing_is_left_of_the_one_before(rack: BurninRack, capsys: pytest.CaptureFixture[str]) -> None:
    kill_in_the_middle(rack, *GATE, limit_s=300)
    assert left(rack).keys() == rack.nodes.keys()
    with Store.open(rack.url) as store:
        (dead,) = store.unfinished_runs()
    judged_code, judged = rack.clusterctl(capsys, "judge", dead.id)
    assert judged_code == ExitCode.GATE_FAILED
    assert not any(n["passed"] for n in judged["nodes"])

    code, data = rack.clusterctl(capsys, "burnin", "rack-b", *GATE)
    assert [(n["name"], r) for n in data["nodes"] for r in n["results"] if r["outcome"] != "pass"] == []
    assert (code, data["run"] == dead.id) == (ExitCode.OK, False)
    assert left(rack) == {}
    with Store.open(rack.url) as store:
        assert store.run(dead.id).status is RunStatus.ABANDONED
        assert store.leases() == ()
