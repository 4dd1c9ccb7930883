"""docs/how-to/own-role-validator-gate-pool.md as it is written: its files are a site, its commands run on a lab node."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.demo_rack import DemoRack, host_kernel_settings
from support.doc_blocks import blocks_of
from support.doc_shell import DocShell
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="no podman here")]

NUMBER = 41
BLOCKS = [b for b in blocks_of(ROOT / "docs" / "how-to" / "own-role-validator-gate-pool.md") if "not-run" not in b.marks]
OWN_RACK = (r"\b(rack[-_]|r)12\b", rf"\g<1>{NUMBER}")


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoRack]:
    made = DemoRack(tmp_path_factory.mktemp("mysite"), NUMBER)
    try:
        yield made
    finally:
        made.clusterctl("lab", "down", made.target)


def test_every_command_does_what_the_page_shows(rack: DemoRack, tmp_path: Path) -> None:
    before = host_kernel_settings()
    files = {b.file for b in BLOCKS}
    assert {"clusterctl.yml", "validators/test_login_banner.py", "plugins/memory_gate.py", "plugins/file_pool.py"} <= files
    DocShell(rack.site, tmp_path, (OWN_RACK,)).run(BLOCKS)
    page = Path(rack.ok("report").out.strip()).read_text()
    assert "memory_copy" in page
    assert "login_banner" in page
    assert host_kernel_settings() == before
