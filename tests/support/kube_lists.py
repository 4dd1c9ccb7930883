"""Lists as an API server of Kubernetes answers them: selectors of fields, pages, and how many are left where nothing is selected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence


def a_pod(name: str, node: str, phase: str = "Running") -> dict[str, Any]:
    """A pod of a ReplicaSet; an empty node is none yet."""
    owners = [{"kind": "ReplicaSet", "name": "o", "controller": True}]
    metadata = {"namespace": "ml", "name": name, "ownerReferences": owners}
    return {"metadata": metadata, "spec": {"nodeName": node} if node else {}, "status": {"phase": phase}}


def listed(items: Sequence[dict[str, Any]], target: str) -> dict[str, Any]:
    """The answer to `GET target` with these items.

    As in the API's conventions, `remainingItemCount` is left out where a selector is given (kubernetes.io, API concepts).
    """
    query = {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}
    terms = [t for t in query.get("fieldSelector", "").split(",") if t]
    found = [item for item in items if all(_matches(item, term) for term in terms)]
    begin, limit = int(query.get("continue", 0)), int(query.get("limit", 0)) or len(found)
    left = len(found) - begin - limit
    metadata: dict[str, Any] = {"continue": str(begin + limit)} if left > 0 else {}
    if left > 0 and not terms:
        metadata["remainingItemCount"] = left
    return {"metadata": metadata, "items": found[begin : begin + limit]}


def _matches(item: dict[str, Any], term: str) -> bool:
    name, _, wanted = term.partition("=")
    value: Any = item
    for step in name.removesuffix("!").split("."):
        value = value.get(step, {})
    return bool(value == wanted) != name.endswith("!")
