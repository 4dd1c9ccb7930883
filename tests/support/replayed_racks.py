"""Racks whose nodes are SSH servers on loopback that replay the answers of a healthy lab node; they can be silent at first."""

from __future__ import annotations

import socket
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LIFETIME_S = 6 * 3600  # they end with this process; a fleet of 12,500 nodes and one worker takes eleven minutes


def fleet() -> Any:
    """The module of the benchmarks that has the nodes."""
    if str(ROOT / "benchmarks") not in sys.path:
        sys.path.append(str(ROOT / "benchmarks"))
    return import_module("fleet")


@dataclass
class ReplayedRacks:
    """A site of clusterctl with its nodes.

    Attributes:
        sites: rack -> its site in the inventory.
    """

    folder: Path
    nodes: int
    per_rack: int
    database_url: str
    sites: dict[str, str]

    def __post_init__(self) -> None:
        self._site = fleet().Site(self.folder, self.nodes, fleet().RECORDED_FINDINGS, self.per_rack)
        self._site.write()
        for rack, name in self.sites.items():
            (self._site.layer / "group_vars" / f"{rack}.yml").write_text(f"site: {name}\n")
        settings = f"inventory: ['@common', site]\nstate_dir: state\noperator: ada\ndatabase_url: {self.database_url}\n"
        (self.folder / "clusterctl.yml").write_text(settings)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """The nodes answer during the `with` block."""
        with self._site.servers(_LIFETIME_S):
            yield

    @contextmanager
    def silent(self) -> Iterator[None]:
        """The nodes accept connections during the `with` block and say nothing."""
        with ExitStack() as stack:
            for n in range(self.nodes):
                listening = stack.enter_context(socket.socket())
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listening.bind((fleet().address(n), self._site.port))
                listening.listen(16)
            yield
