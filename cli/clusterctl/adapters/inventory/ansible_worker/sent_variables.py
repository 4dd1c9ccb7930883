"""The variables of hosts as Ansible on the node itself takes them: decrypted, with what only the controller can read already rendered.

Like the passwords of BMCs they go through a pipe and are kept nowhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleError
from ansible.parsing.vault import EncryptedString

from clusterctl.adapters.inventory.ansible_worker.bmcs import ACCOUNTS
from clusterctl.adapters.inventory.ansible_worker.origins import is_trusted, plain
from clusterctl.adapters.inventory.ansible_worker.templating import render_variables
from clusterctl.adapters.inventory.ansible_worker.variables import InventoryVariables
from clusterctl.adapters.inventory.references import is_template, reads_controller, templates_in

if TYPE_CHECKING:
    from clusterctl.adapters.inventory.ansible_worker.session import Session

# how to reach the node, which means nothing on the node; what a name begins with
_CONNECTION = ("ansible_ssh_", "ansible_become", "ansible_sudo", "ansible_su_")
_CONNECTION_NAMES = frozenset({"ansible_host", "ansible_port", "ansible_user", "ansible_password", "ansible_connection"})
_MAGIC = frozenset({"inventory_hostname", "inventory_hostname_short", "inventory_file", "inventory_dir", "group_names"})
_UNSAFE = "__ansible_unsafe"
# every task of a role reads them (`when` of provision.yml), each in a process that would compile its template anew
_READ_BY_EVERY_TASK = ("node_roles", "roles_owned_elsewhere")


def sent_variables(session: Session, hosts: list[Any]) -> dict[str, Any]:
    """Variables and groups of each host, or why Ansible on the node cannot have them; the extra variables, which are those of all."""
    variables = InventoryVariables(session)
    magic = _MAGIC | (frozenset(session.variables.get_vars()) - variables.extra.keys())
    return {
        "sent": [_of_host(session, variables, host, magic) for host in hosts],
        "extra": {name: _sendable(value) for name, value in variables.extra.items() if not _stays_here(name)},
    }


def _of_host(session: Session, variables: InventoryVariables, host: Any, magic: frozenset[str]) -> dict[str, Any]:
    known = variables.effective(host)
    own = {k: v for k, v in known.items() if k not in magic and k not in variables.extra and not _stays_here(k)}
    here = {name: value for name, value in own.items() if any(reads_controller(t) for t in templates_in(value))}
    name = str(host.name)
    try:
        rendered = render_variables(session.loader, here, known, lambda n: variables.place(host, n))
        values = {n: _unsafe(rendered.values[n]) if n in here else _sendable(v) for n, v in own.items() if n not in _unrendered(rendered)}
        often = {n: v for n, v in own.items() if n in _READ_BY_EVERY_TASK and n not in here}
        values |= _unsafe(render_variables(session.loader, often, known, lambda n: variables.place(host, n)).values)
    except AnsibleError:
        return {
            "node": name,
            "problem": "a variable cannot be decrypted: give the vault password (--vault-id, ANSIBLE_VAULT_PASSWORD_FILE)",
        }
    if rendered.problems:
        return {"node": name, "problem": f"{rendered.problems[0].path} reads files or variables of the controller and facts of the node"}
    return {"node": name, "values": values, "groups": list(variables.groups(host)), "problem": ""}


def _stays_here(name: str) -> bool:
    """Whether a variable is how to reach the node, or an account of its BMC."""
    return name in _CONNECTION_NAMES or name in ACCOUNTS or name.startswith(_CONNECTION)


def _unrendered(rendered: Any) -> frozenset[str]:
    return frozenset(p.path for p in rendered.problems)


def _sendable(value: Any) -> Any:
    """The value as JSON, its templates unrendered; text that is not a template is marked as such."""
    if isinstance(value, dict):
        return {str(plain(k)): _sendable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_sendable(v) for v in value]
    if isinstance(value, (str, EncryptedString)):
        text = str(plain(value))
        return {_UNSAFE: text} if is_template(text) and not is_trusted(value) else text
    return plain(value)


def _unsafe(value: Any) -> Any:
    """A rendered value, which must not be rendered again."""
    if isinstance(value, dict):
        return {k: _unsafe(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_unsafe(v) for v in value]
    return {_UNSAFE: value} if isinstance(value, str) and is_template(value) else value
