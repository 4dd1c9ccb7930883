"""Check everything an inventory declares: all nodes, their gates and waivers, and the profiles that have no node yet."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from clusterctl.adapters.inventory.groups import by_digest
from clusterctl.adapters.inventory.invalid import problems_of, spec_invalid_error
from clusterctl.adapters.inventory.load import find_places, list_hosts, load_and_lint_nodes, load_profile, own_inventory_read_once
from clusterctl.adapters.site_content import site_content
from clusterctl.core.gates.gates_problems import gates_problems
from clusterctl.core.observe_problems import observe_problems
from clusterctl.core.waiver_problems import waiver_problems
from clusterctl.model.declared_state import InventoryCheck
from clusterctl.model.errors import SpecInvalidError, StoreError
from clusterctl.model.findings import NodeStatus
from clusterctl.model.problem import Problem, merge

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.model.declared_state import SpecGroup
    from clusterctl.model.node import Node


class _Words(TypedDict):
    """Ansible's own options, as typed."""

    extra_vars: Sequence[str]
    vault_ids: Sequence[str]


def check_declared_state(
    config: Config, target: str | None = None, *, extra_vars: Sequence[str] = (), vault_ids: Sequence[str] = ()
) -> InventoryCheck:
    """Check all nodes and all profiles; with `target`, its nodes only.

    Raises:
        UnknownTargetError: no node matches `target`, or there is neither a node nor a profile.
        ConfigError: a layer cannot be used.
        SpecInvalidError: something is wrong; every problem is listed once, with file and line where it is written.
    """
    words = _Words(extra_vars=extra_vars, vault_ids=vault_ids)
    topology = None if target else list_hosts(config.inventory, vault_ids=vault_ids)
    profiles = topology.idle_profiles if topology else ()
    nodes, problems = ((), ()) if profiles and topology and not topology.hosts else _nodes(config, target or "all", words)
    checks, store_problem = _known_checks(config, [n for n in nodes if n.spec.waivers or n.spec.observe])
    today = datetime.now(UTC).date()
    rendered = [*_gates(nodes), *(p for n in nodes for p in waiver_problems(n, checks.get(n.name, ()), today))]
    rendered += [p for n in nodes for p in observe_problems(n, checks.get(n.name, ()))]
    with own_inventory_read_once(config.inventory, vault_ids) if profiles else nullcontext():
        for profile in profiles:
            try:
                spec = load_profile(config.inventory, profile, **words)
            except SpecInvalidError as e:
                problems += problems_of(e)
            else:
                rendered += gates_problems(spec, (profile,))
    problems += tuple(_unverified(nodes))
    found = (*problems, *_placed(config, rendered, problems, words))
    if found:
        raise spec_invalid_error(found)
    return InventoryCheck(nodes=len(nodes), specs=len(by_digest(nodes)), profiles=profiles, store_problem=store_problem)


def require_gates(groups: Sequence[SpecGroup]) -> Sequence[SpecGroup]:
    """The specs; refuses gates that cannot be read.

    Raises:
        SpecInvalidError: every problem at once.
    """
    if wrong := [p for g in groups for p in gates_problems(g.spec, g.nodes or (g.profile,))]:
        raise spec_invalid_error(wrong)
    return groups


def _unverified(nodes: Sequence[Node]) -> Iterator[Problem]:
    """Roles of the site that a node has and that nothing verifies: they would be applied, and never seen to drift."""
    content = site_content()
    for role, folder in content.roles.items():
        if content.validator_of(role) is None and any(role in node.spec.roles for node in nodes):
            yield Problem("", f"nothing verifies what role {role} sets: validators/test_{role}.py is missing", str(folder))


def _nodes(config: Config, target: str, words: _Words) -> tuple[tuple[Node, ...], tuple[Problem, ...]]:
    """The nodes, none where their variables break a schema; and what is wrong in the files they come from."""
    try:
        return load_and_lint_nodes(config.inventory, target, **words)
    except SpecInvalidError as e:
        return (), problems_of(e)


def _placed(config: Config, problems: Sequence[Problem], known: Collection[Problem], words: _Words) -> tuple[Problem, ...]:
    """The problems of rendered values with file and line, without those of variables that are `known` to be misspelt."""
    if not problems:
        return ()
    places = find_places(config.inventory, [(p.nodes[0], p.path) for p in problems], **words)
    misspelt = {(p.path, p.file, p.line) for p in known}
    placed = merge(replace(p, file=file, line=line) for p, (file, line) in zip(problems, places, strict=True))
    return tuple(p for p in placed if (p.path, p.file, p.line) not in misspelt)


def _gates(nodes: Sequence[Node]) -> list[Problem]:
    """What is wrong with the gates of nodes, each distinct spec judged once."""
    alike: dict[tuple[str, int, frozenset[str]], list[Node]] = {}
    for node in nodes:  # nodes with the same gates share one object of them, which is not read for each
        observed = frozenset(one.get("gate", "") for one in node.spec.observe if not one.get("rule"))
        alike.setdefault((node.spec.digest, id(node.spec.gates), observed), []).append(node)
    return [p for members in alike.values() for p in gates_problems(members[0].spec, tuple(n.name for n in members))]


def _known_checks(config: Config, nodes: Sequence[Node]) -> tuple[dict[str, frozenset[str]], str]:
    """Node -> the checks of its last validation, where that was under the spec of today; and why the database cannot be read.

    A database that is not there yet is not made: the inventory may be checked where there is none.
    """
    if not nodes or not (config.database_url or Path(config.store_url.removeprefix("sqlite:///")).is_file()):
        return {}, ""
    from clusterctl.adapters.store import Store  # noqa: PLC0415 only where a waiver is declared

    found: dict[str, frozenset[str]] = {}
    try:
        with Store.open_to_read(config.store_url) as store:
            for node in nodes:
                last = store.findings(node.name, spec_digest=node.spec.digest)
                if last is not None and last.status is NodeStatus.OK:
                    found[node.name] = frozenset(f.check for f in last.findings)
    except StoreError as e:
        return {}, str(e)
    return found, ""
