"""Where values are written that are not known to be wrong until they are rendered: Ansible keeps the origin of what a template passes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible._internal._templating._engine import TemplateEngine
from ansible.errors import AnsibleError

from clusterctl.adapters.inventory.ansible_worker.origins import where_path
from clusterctl.adapters.inventory.ansible_worker.rules import steps
from clusterctl.adapters.inventory.ansible_worker.targets import example_host
from clusterctl.adapters.inventory.ansible_worker.variables import InventoryVariables

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.adapters.inventory.ansible_worker.session import Session


def written_places(session: Session, paths: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """File and line of each (node or group, path); the nearest known place on the way, an empty file where nothing sets the variable."""
    variables = InventoryVariables(session)
    return {"places": [_place(session, variables, owner, path) for owner, path in paths]}


def _place(session: Session, variables: InventoryVariables, owner: str, path: str) -> tuple[str, int]:
    host = session.inventory.get_host(owner) or example_host(session.inventory, owner)
    name, way = steps(path)
    effective = variables.effective(host)
    value = effective.get(name)
    try:
        value = TemplateEngine(loader=session.loader, variables=dict(effective)).template(value)
    except AnsibleError:  # what cannot be rendered is a problem of its own, with its own place
        way = ()
    return where_path(value, way, variables.place(host, name))
