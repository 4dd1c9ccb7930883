"""docs/how-to/upgrade-clusterctl.md, run as it is written: an old database is migrated, and the copy that was made before brings it back."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path

from clusterctl.adapters.store.schema_head import HEAD
from support.demo_rack import CLUSTERCTL
from support.doc_blocks import blocks_of
from support.old_store import create_old_database
from support.roles import ROOT

PAGE = ROOT / "docs" / "how-to" / "upgrade-clusterctl.md"
HERE = "tests/unit/store/test_upgrade_page.py"
COPY, MIGRATE, GO_BACK = (b.text for b in blocks_of(PAGE) if b.marks.get("runs-in") == HERE)


def shell(site: Path, text: str) -> str:
    environment = {**os.environ, "PATH": f"{Path(CLUSTERCTL).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-euc", text], cwd=site, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def version(site: Path) -> str:
    with sqlite3.connect(site / ".clusterctl" / "clusterctl.db") as database:
        return str(database.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def test_the_page_migrates_and_goes_back(tmp_path: Path) -> None:
    (tmp_path / "clusterctl.yml").write_text("inventory: ['@common']\nstate_dir: .clusterctl\n")
    (tmp_path / ".clusterctl").mkdir(mode=0o700)
    create_old_database(f"sqlite:///{tmp_path / '.clusterctl' / 'clusterctl.db'}")
    shell(tmp_path, COPY)
    assert version(tmp_path) == "0002"
    assert "r12-n01" in shell(tmp_path, MIGRATE)
    assert version(tmp_path) == HEAD
    shell(tmp_path, GO_BACK)
    assert version(tmp_path) == "0002"
