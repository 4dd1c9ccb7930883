"""Containers that several files of tests use, started anew for each file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.burnin_rack import burnin_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.container_node import ContainerNode


@pytest.fixture(scope="module")
def burnin_containers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ContainerNode]]:
    """The nodes of a burn-in, by name."""
    with burnin_nodes(tmp_path_factory.mktemp("nodes")) as running:
        yield running
