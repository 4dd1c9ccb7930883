"""docs/how-to/backup-and-restore.md, run as it is written: what it restores is the record of the backup, and it names the nodes that changed since."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from clusterctl.adapters.run_directory import RunDir
from clusterctl.adapters.store import Store
from clusterctl.model.state import State
from support.demo_rack import CLUSTERCTL
from support.doc_blocks import blocks_of
from support.roles import ROOT
from support.stores import a_node, a_run, bring, burn_in, fresh

PAGE = ROOT / "docs" / "how-to" / "backup-and-restore.md"
HERE = "tests/unit/store/test_restore_page.py"
BACK_UP, RESTORE, CHANGED, TAKE_OUT = (b.text for b in blocks_of(PAGE) if b.marks.get("runs-in") == HERE)
N1, N4 = "r12-n01", "r12-n04"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Two admitted nodes."""
    (tmp_path / "clusterctl.yml").write_text("inventory: ['@common']\nstate_dir: .clusterctl\n")
    with fresh(tmp_path / ".clusterctl") as store:
        rundir = RunDir.create(tmp_path / ".clusterctl", "provision")
        rundir.write_json(f"verdicts/{N1}.json", {})
        store.register([a_node(N1, slot=1), a_node(N4, slot=4)])
        store.start_run(a_run(rundir.id, str(rundir.path)))
        for name in (N1, N4):
            burn_in(store, a_run(rundir.id), name)
            bring(store, name, State.ADMITTED)
    return tmp_path


def shell(site: Path, text: str) -> str:
    environment = {**os.environ, "PATH": f"{Path(CLUSTERCTL).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-euc", text], cwd=site, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def store_of(site: Path) -> Store:
    return Store.open(f"sqlite:///{site / '.clusterctl' / 'clusterctl.db'}")


def quarantined_since(site: Path) -> None:
    rundir = RunDir.create(site / ".clusterctl", "provision")
    rundir.write_json(f"verdicts/{N4}.json", {})
    with store_of(site) as store:
        store.start_run(a_run(rundir.id, str(rundir.path)))
        store.transition(N4, State.QUARANTINED, run_id=rundir.id, operator="ada", reason="XID 79")


@pytest.mark.parametrize("damage", [b"", b"\x00" * 8192], ids=["emptied", "overwritten"])
def test_the_page_restores_the_record_and_names_what_changed_since(site: Path, damage: bytes) -> None:
    os.utime(next((site / ".clusterctl" / "runs").glob(f"*/verdicts/{N1}.json")), (1000, 1000))
    with store_of(site):  # a run goes on meanwhile: its journal lies beside the database
        shell(site, BACK_UP)
    os.utime(site / "backup" / "clusterctl.db", (2000, 2000))
    quarantined_since(site)
    (site / ".clusterctl" / "clusterctl.db").write_bytes(damage)
    printed = shell(site, RESTORE)
    assert N1 in printed
    assert N4 in printed
    assert shell(site, CHANGED).splitlines() == [f"{N4}.json"]
    shell(site, TAKE_OUT)
    with store_of(site) as store:
        assert {n.name: n.state for n in store.nodes()} == {N1: State.ADMITTED, N4: State.MAINTENANCE}


def test_a_second_backup_replaces_the_first(site: Path) -> None:
    shell(site, BACK_UP)
    quarantined_since(site)
    shell(site, BACK_UP)
    (site / ".clusterctl" / "clusterctl.db").write_bytes(b"")
    shell(site, RESTORE)
    with store_of(site) as store:
        assert store.nodes([N4])[0].state is State.QUARANTINED
