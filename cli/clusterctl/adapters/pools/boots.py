"""Pools whose scheduler reports the boots of its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.boots import ReportedBoot


@runtime_checkable
class ReportingBoots(Protocol):
    """What a pool offers in addition if its scheduler reports the boot of each node, so that no node is contacted to learn it."""

    def boots(self) -> Mapping[str, ReportedBoot]:
        """The boots of the nodes that are up; one that the scheduler reports as down, or without a boot, is left out.

        Raises:
            PoolError: the scheduler does not report them.
        """
        ...


@runtime_checkable
class ReturningBooted(Protocol):
    """What a pool offers in addition if its scheduler itself takes a node out that booted by itself."""

    def return_booted(self, node: str, /) -> bool:
        """Let jobs run on a node that the scheduler took out for a boot, and nobody else. Returns whether that changed anything.

        Raises:
            PoolError: it is out for another reason by now, or does not answer.
        """
        ...
