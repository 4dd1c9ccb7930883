"""How to reach the BMCs of some hosts: an answer that holds secrets; it goes through a pipe and is kept nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.adapters.inventory.ansible_worker.secret_texts import secret_texts
from clusterctl.adapters.inventory.ansible_worker.variables import InventoryVariables

if TYPE_CHECKING:
    from clusterctl.adapters.inventory.ansible_worker.session import Session

FIELDS = {
    "url": "bmc_url",
    "user": "bmc_user",
    "password": "bmc_password",
    "ca_file": "bmc_ca_file",
    "readonly_user": "bmc_readonly_user",
    "readonly_password": "bmc_readonly_password",
}
_NEEDED = ("url", "user", "password")


def bmcs(session: Session, hosts: list[Any]) -> dict[str, Any]:
    """The access to each host's BMC, or why there is none."""
    variables = InventoryVariables(session)
    return {"bmcs": [{"node": str(h.name), **_access(session, variables, h)} for h in hosts]}


def _access(session: Session, variables: InventoryVariables, host: Any) -> dict[str, str]:
    texts, problem = secret_texts(session, variables, host, FIELDS.values())
    if problem:
        return {"problem": problem}
    found = {field: texts[name] for field, name in FIELDS.items() if name in texts}
    missing = [FIELDS[f] for f in _NEEDED if not found.get(f)]
    return {"problem": f"{', '.join(missing)} not set: its BMC cannot be asked"} if missing else found
