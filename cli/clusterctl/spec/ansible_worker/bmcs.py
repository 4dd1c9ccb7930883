"""How to reach the BMCs of some hosts: the one answer that holds a secret; it goes through a pipe and is kept nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleError

from clusterctl.spec.ansible_worker.templating import render
from clusterctl.spec.ansible_worker.variables import InventoryVariables

if TYPE_CHECKING:
    from clusterctl.spec.ansible_worker.session import Session

_FIELDS = {"url": "bmc_url", "user": "bmc_user", "password": "bmc_password", "ca_file": "bmc_ca_file"}
_NEEDED = ("url", "user", "password")


def bmcs(session: Session, hosts: list[Any]) -> dict[str, Any]:
    """The access to each host's BMC, or why there is none."""
    variables = InventoryVariables(session)
    return {"bmcs": [{"node": str(h.name), **_access(session, variables, h)} for h in hosts]}


def _access(session: Session, variables: InventoryVariables, host: Any) -> dict[str, str]:
    known = variables.effective(host)
    found: dict[str, str] = {}
    for field, name in _FIELDS.items():
        if name not in known:
            continue
        try:
            rendered = render(session.loader, {name: known[name]}, known, lambda n: variables.place(host, n))
        except AnsibleError:
            return {"problem": f"{name} cannot be decrypted: give the vault password (--vault-id, ANSIBLE_VAULT_PASSWORD_FILE)"}
        if rendered.problems:
            return {"problem": f"{name} cannot be rendered"}
        found[field] = str(rendered.values[name] or "")
    missing = [_FIELDS[f] for f in _NEEDED if not found.get(f)]
    return {"problem": f"{', '.join(missing)} not set: its BMC cannot be asked"} if missing else found
