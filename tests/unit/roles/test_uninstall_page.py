"""docs/how-to/uninstall.md finds every file on a node that has the name of clusterctl and that the roles write."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

from support.doc_blocks import blocks_of
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "how-to" / "uninstall.md"
HERE = "tests/unit/roles/test_uninstall_page.py"
(FIND,) = (b.text for b in blocks_of(PAGE) if b.marks.get("runs-in") == HERE)
_PATH = re.compile(r"(/(?:etc|usr|var|opt|lib|boot|root|srv)/[\w./-]*clusterctl[\w./-]*)")


def written() -> set[str]:
    files = [*ROOT.glob("roles/*/vars/*.yml"), *ROOT.glob("roles/*/defaults/*.yml"), *ROOT.glob("roles/*/tasks/*.yml")]
    return {path for file in files for path in _PATH.findall(file.read_text(encoding="utf-8"))}


def test_the_command_of_the_page_finds_what_the_roles_write(tmp_path: Path) -> None:
    paths = written()
    assert len(paths) > 40
    for folder in ("etc", "usr/local", "var/lib", "var/cache"):
        (tmp_path / folder).mkdir(parents=True)
    for path in paths:
        file = tmp_path / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("") if not file.exists() else None
    command = re.sub(r" /(?=[a-z])", f" {tmp_path}/", FIND)
    found = subprocess.run(["bash", "-euc", command], capture_output=True, text=True, check=True).stdout.split()
    for path in found:
        file = tmp_path / path
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    assert [path for path in paths if (tmp_path / path.lstrip("/")).exists()] == []
