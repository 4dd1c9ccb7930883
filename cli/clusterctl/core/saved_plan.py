"""A plan that was saved with `plan --out`, compared with the nodes as they are now. Pure."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.core.plan import plan_body
from clusterctl.model.errors import ConfigError, PlanChangedError
from clusterctl.model.running_text import fold_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from clusterctl.model.plan import Plan

_SCHEMA_VERSION = 1
HOW_TO_SAVE = "write one with `clusterctl plan TARGET --out FILE`"


@dataclass(frozen=True, slots=True)
class SavedNode:
    """A node in a saved plan.

    Attributes:
        status: of its validation.
        digest: of the declared state that it was compared with.
        lines: check -> what failed, in words.
    """

    status: str
    digest: str
    lines: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """The nodes of a plan file."""

    file: Path
    target: str
    nodes: Mapping[str, SavedNode]

    def require_unchanged(self, plan: Plan, digests: Mapping[str, str]) -> None:
        """Return if the nodes of `plan` are as in this plan.

        Raises:
            PlanChangedError: a node is not in the plan, its declared state changed, or other checks fail than in the plan.
        """
        now = _nodes(plan_body(plan, digests)["nodes"])
        nodes: defaultdict[str, list[str]] = defaultdict(list)
        for name, node in now.items():
            for problem in self._changed(name, node):
                nodes[problem].append(name)
        if nodes:
            problems = "\n".join(f"  {fold_names(names)}: {problem}" for problem, names in nodes.items())
            raise PlanChangedError(file=self.file, problems=problems, target=self.target)

    def _changed(self, name: str, now: SavedNode) -> Iterable[str]:
        then = self.nodes.get(name)
        if then is None:
            return ["not in the plan"]
        if then.status != now.status:
            return [f"{now.status}; in the plan: {then.status}"]
        if then.digest != now.digest:
            return ["the declared state was changed"]
        checks = sorted(then.lines.keys() | now.lines.keys())
        both = ((c, then.lines.get(c, "is as declared"), now.lines.get(c, "is as declared")) for c in checks)
        return [f"{check}: {after}; in the plan: {before}" for check, before, after in both if before != after]


def parse_saved_plan(text: str, file: Path) -> SavedPlan:
    """The plan in the text of `file`, which `clusterctl plan --out FILE` wrote.

    Raises:
        ConfigError: the text is not such a plan.
    """
    try:
        data = json.loads(text)
        if (data["kind"], data["schema_version"]) != ("plan", _SCHEMA_VERSION):
            raise ConfigError(
                detail=f"{file}: is a {data['kind']} of version {data['schema_version']}", hint=f"{HOW_TO_SAVE}, without --ansible"
            )
        return SavedPlan(file, data["target"], _nodes(data["nodes"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise ConfigError(detail=f"{file}: is not a plan: {e!r}", hint=HOW_TO_SAVE) from e


def _nodes(listed: Iterable[Mapping[str, object]]) -> dict[str, SavedNode]:
    return {str(n["name"]): SavedNode(str(n["status"]), str(n["spec_digest"]), _lines(n)) for n in listed}


def _lines(node: Mapping[str, object]) -> dict[str, str]:
    failing = [*_list(node, "changes"), *_list(node, "beyond_roles")]
    lines = {c["check"]: f"found {c['found'] or 'nothing'}, expected {c['expected'] or 'nothing'}" for c in failing}
    return lines | {c["check"]: f"could not run ({c['reason']})" for c in _list(node, "could_not_run")}


def _list(node: Mapping[str, object], key: str) -> list[dict[str, str]]:
    found = node[key]
    if not isinstance(found, list):
        raise TypeError(f"{key} is not a list")
    return found
