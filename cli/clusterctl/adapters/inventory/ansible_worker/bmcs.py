"""How to reach the BMCs of some hosts: an answer that holds secrets; it goes through a pipe and is kept nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.adapters.inventory.ansible_worker.secret_texts import secret_texts
from clusterctl.adapters.inventory.ansible_worker.variables import InventoryVariables

if TYPE_CHECKING:
    from clusterctl.adapters.inventory.ansible_worker.session import Session

_ACCOUNT = {"url": "bmc_url", "user": "bmc_user", "password": "bmc_password", "ca_file": "bmc_ca_file"}
_READONLY = {"readonly_user": "bmc_readonly_user", "readonly_password": "bmc_readonly_password"}
FIELDS = {**_ACCOUNT, **_READONLY}
# What lets in: a node has no use for it, and whoever has its root would have the BMC of each node with the same account.
ACCOUNTS = frozenset(FIELDS.values()) - {"bmc_url", "bmc_ca_file"}
_NEEDED = ("url", "user", "password")
_HOW_TO_SET = "declare it for the node or its group, a password encrypted by ansible-vault (docs/how-to/power-and-bmc.md)"


def bmcs(session: Session, hosts: list[Any]) -> dict[str, Any]:
    """The access to each host's BMC, or why there is none."""
    variables = InventoryVariables(session)
    return {"bmcs": [{"node": str(h.name), **_access(session, variables, h)} for h in hosts]}


def _access(session: Session, variables: InventoryVariables, host: Any) -> dict[str, str]:
    texts, problem = secret_texts(session, variables, host, _ACCOUNT.values())
    if problem:
        return {"problem": problem}
    # Its vault may be another one, and only one section of a report needs it.
    others, readonly_problem = secret_texts(session, variables, host, _READONLY.values())
    found = {field: text for field, name in FIELDS.items() if (text := (texts | others).get(name)) is not None}
    missing = [FIELDS[f] for f in _NEEDED if not found.get(f)]
    if missing:
        return {"problem": f"{', '.join(missing)} not set: {_HOW_TO_SET}"}
    return {**found, "readonly_problem": readonly_problem}
