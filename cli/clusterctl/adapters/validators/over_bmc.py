"""Query the BMCs while the nodes are validated: evidence of the roles that a node itself cannot give."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Self

from clusterctl.adapters.site_content import make_importable
from clusterctl.model.errors import ClusterctlError
from clusterctl_validators.finding import Finding, Outcome, Severity
from clusterctl_validators.off_node import check_role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from clusterctl.adapters.bmc.access import BmcAccess
    from clusterctl.adapters.validators.bundle import Bundle
    from clusterctl.adapters.validators.validation_settings import ValidationSettings
    from clusterctl.model.node import Node
    from clusterctl.model.validator_traits import ValidatorTraits

_AT_ONCE = 32


class BmcRound:
    """The BMCs of some nodes, queried in threads while the body runs; a node without such a role costs nothing."""

    def __init__(self, nodes: Sequence[Node], bundle: Bundle, inventory: Sequence[Path], settings: ValidationSettings) -> None:
        self._roles = {n.name: _roles(n, bundle.traits, settings) for n in nodes}
        self._site_dirs = bundle.site_dirs
        self._inventory = inventory
        self._pool: ThreadPoolExecutor | None = None
        self._findings: dict[str, Future[tuple[Finding, ...]]] = {}

    def __enter__(self) -> Self:
        selected = [name for name, roles in self._roles.items() if roles]
        if selected:
            make_importable(self._site_dirs)
            self._pool = ThreadPoolExecutor(min(_AT_ONCE, len(selected)), "bmc")
            accesses = self._pool.submit(self._load_accesses, selected)
            self._findings = {name: self._pool.submit(_check_with_bmc, accesses, name, self._roles[name]) for name in selected}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=kind is None, cancel_futures=kind is not None)

    async def wait_for(self, node: str) -> None:
        """Wait until the BMC of `node` has answered or failed; other nodes go on."""
        if node in self._findings:
            await asyncio.wait([asyncio.wrap_future(self._findings[node])])

    def findings(self, node: str) -> tuple[Finding, ...]:
        """The findings from the BMC of `node`; empty if the node has none of these roles."""
        return self._findings[node].result() if node in self._findings else ()

    def _load_accesses(self, names: Sequence[str]) -> Mapping[str, BmcAccess]:
        from clusterctl.adapters.inventory.bmcs import load_bmcs  # noqa: PLC0415 only where a BMC is queried

        return load_bmcs(self._inventory, names)


def _roles(node: Node, traits: ValidatorTraits, settings: ValidationSettings) -> dict[str, dict[str, object]]:
    return {r: dict(v) for r, v in node.spec.roles.items() if traits.by_bmc(r) and settings.selects(r)}


def _check_with_bmc(accesses: Future[Mapping[str, BmcAccess]], name: str, roles: Mapping[str, dict[str, object]]) -> tuple[Finding, ...]:
    from clusterctl.adapters.bmc.query import query_bmc  # noqa: PLC0415 only where a BMC is queried
    from clusterctl_tools.redfish import BmcError  # noqa: PLC0415

    found: list[Finding] = []
    for role, variables in roles.items():
        try:
            view = query_bmc(accesses.result()[name], role, variables)
        except (BmcError, ClusterctlError) as e:
            reason = f"its BMC could not be queried: {e}"
            found.append(Finding(f"{role}.bmc", role, Outcome.COULD_NOT_RUN, Severity.MAJOR, reason=reason))
        else:
            found += check_role(role, variables, view)
    return tuple(found)
