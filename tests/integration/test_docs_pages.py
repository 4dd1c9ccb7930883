"""The code blocks of README and docs that need no node, run as the pages show them (tests/support/doc_blocks.py explains the marks)."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from support.demo_rack import CLUSTERCTL
from support.doc_blocks import PAGES, blocks_of
from support.doc_shell import DocShell
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

RUN_HERE = {page: blocks for page in PAGES if (blocks := [b for b in blocks_of(page) if b.runs_here])}
NOT_EXPIRED = (r'(expires: "?)[0-9-]{10}', rf"\g<1>{datetime.now(UTC).date() + timedelta(days=90)}")


@pytest.mark.parametrize("page", RUN_HERE, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_blocks_of_a_page_run_as_shown(page: Path, tmp_path: Path) -> None:
    subprocess.run([CLUSTERCTL, "init", "mysite"], cwd=tmp_path, check=True, capture_output=True)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    DocShell(tmp_path / "mysite", scratch, (NOT_EXPIRED,)).run(RUN_HERE[page])
