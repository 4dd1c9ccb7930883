"""The code blocks of the pages that are marked `runs-in: lab`, on two nodes of a lab rack, in the order of the pages."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from support.demo_rack import DemoRack
from support.doc_blocks import PAGES, blocks_of
from support.doc_shell import DocShell
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="no podman here")]

NUMBER = 44
TUTORIAL_FIRST = sorted(PAGES, key=lambda page: page.name != "tutorial.md")  # it records the nodes
ON_NODES = {page: blocks for page in TUTORIAL_FIRST if (blocks := [b for b in blocks_of(page) if b.marks.get("runs-in") == "lab"])}
RENAME = (
    (r"lab up rack-12", rf"lab up rack-{NUMBER} --nodes 2"),
    (r"lab down rack-12", r"lab status"),  # the next page goes on with the rack
    (r"\b(rack[-_]|r)12\b", rf"\g<1>{NUMBER}"),
    (r"127\.89\.12\.", rf"127.89.{NUMBER}."),
)


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoRack]:
    """A site like this checkout: its state directory is `.clusterctl`."""
    made = DemoRack(tmp_path_factory.mktemp("docs"), NUMBER)
    layers = ["'@common'", str(ROOT / "inventory" / "lab"), ".clusterctl/lab/hosts"]
    (made.site / "clusterctl.yml").write_text(f"inventory: [{', '.join(layers)}]\nstate_dir: .clusterctl\n")
    try:
        made.lab_up("--nodes", "2")
        yield made
    finally:
        made.clusterctl("lab", "down", made.target)


@pytest.mark.parametrize("page", ON_NODES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_blocks_of_a_page_run_as_shown(rack: DemoRack, page: Path, tmp_path: Path) -> None:
    DocShell(rack.site, tmp_path, RENAME).run(ON_NODES[page])
