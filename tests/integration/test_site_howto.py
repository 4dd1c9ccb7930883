"""docs/how-to/own-role-validator-gate-pool.md as it is written: its files are a site, its commands run on a lab node."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.demo_rack import DemoRack, host_kernel_settings
from support.howto import steps, write_files
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="no podman here")]

NUMBER = 41
PAGE = (ROOT / "docs" / "how-to" / "own-role-validator-gate-pool.md").read_text()


def own_rack(text: str) -> str:
    """The page's rack under the number of this test."""
    return re.sub(r"\b(rack[-_]|r)12\b", rf"\g<1>{NUMBER}", text)


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoRack]:
    made = DemoRack(tmp_path_factory.mktemp("mysite"), NUMBER, {"COLUMNS": "400"})
    names = write_files(own_rack(PAGE), made.site)
    assert {"clusterctl.yml", "validators/test_login_banner.py", "plugins/memory_gate.py", "plugins/file_pool.py"} <= set(names)
    try:
        yield made
    finally:
        made.clusterctl("lab", "down", made.target)


def test_every_command_does_what_the_page_shows(rack: DemoRack) -> None:
    before = host_kernel_settings()
    report = ""
    for step in steps(own_rack(PAGE)):
        done = rack.run(*step.command.split())
        assert done.code == step.status, f"{step.command}: {done.code}\n{done.out}\n{done.err}"
        assert step.missing(done.out + done.err) == [], f"{step.command}:\n{done.out}\n{done.err}"
        report = done.out.strip() if step.command == "clusterctl report" else report
    page = Path(report).read_text()
    assert "memory_copy" in page
    assert "login_banner" in page
    assert host_kernel_settings() == before
