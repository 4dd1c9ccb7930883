"""A small site in a temporary folder: the base site of tests/cases/spec with additional files."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from clusterctl.adapters.inventory.load import load_nodes
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from clusterctl.model.node import Node

CASES = ROOT / "tests" / "cases" / "spec"
CONTENT = CASES / "content"


class Site:
    """A folder with inventory layers, by default `common` and `site`."""

    def __init__(self, folder: Path, files: Mapping[str, str] | None = None, layers: Sequence[str] = ("common", "site")) -> None:
        self.folder = folder
        self.layers = [folder / name for name in layers]
        shutil.copytree(CASES / "base", folder, dirs_exist_ok=True)
        for name, text in (files or {}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)

    def nodes(
        self, target: str = "all", *, limit: str | None = None, extra_vars: Sequence[str] = (), vault_ids: Sequence[str] = ()
    ) -> tuple[Node, ...]:
        """Load the nodes with the roles of tests/cases/spec."""
        return load_nodes(self.layers, target, limit=limit, extra_vars=extra_vars, vault_ids=vault_ids, content=CONTENT)
