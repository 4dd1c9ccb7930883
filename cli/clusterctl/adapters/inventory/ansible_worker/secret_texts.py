"""Render variables of one host that may be secret; errors never show a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible.errors import AnsibleError

from clusterctl.adapters.inventory.ansible_worker.templating import render_variables

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from clusterctl.adapters.inventory.ansible_worker.session import Session
    from clusterctl.adapters.inventory.ansible_worker.variables import InventoryVariables


def secret_texts(session: Session, variables: InventoryVariables, host: Any, names: Iterable[str]) -> tuple[dict[str, str], str]:
    """Those of `names` that are set, as text, nothing set being an empty one; and why one cannot be had (then no text counts)."""
    known = variables.effective(host)
    found: dict[str, str] = {}
    for name in names:
        if name not in known:
            continue
        try:
            rendered = render_variables(session.loader, {name: known[name]}, known, lambda n: variables.place(host, n))
        except AnsibleError:
            return {}, f"{name} cannot be decrypted: give the vault password (--vault-id, ANSIBLE_VAULT_PASSWORD_FILE)"
        if rendered.problems:
            return {}, f"{name} cannot be rendered"
        found[name] = "" if rendered.values[name] is None else str(rendered.values[name])
    return found, ""
