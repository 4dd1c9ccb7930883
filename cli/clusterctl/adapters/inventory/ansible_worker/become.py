"""The passwords for sudo of some hosts, found where Ansible finds them; like those of BMCs they go through a pipe and are kept nowhere."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ansible import constants
from ansible.plugins.loader import become_loader

from clusterctl.adapters.inventory.ansible_worker.places import BECOME_PASSWORDS
from clusterctl.adapters.inventory.ansible_worker.secret_texts import secret_texts
from clusterctl.adapters.inventory.ansible_worker.variables import InventoryVariables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.adapters.inventory.ansible_worker.session import Session


def become_passwords(session: Session, hosts: list[Any]) -> dict[str, Any]:
    """The password of each host, or why it cannot be had."""
    variables = InventoryVariables(session)
    return {"become": [{"node": str(h.name), **_password(session, variables, h)} for h in hosts]}


@cache
def configured() -> bool:
    """Whether Ansible's own configuration (ANSIBLE_BECOME_PASS, ansible.cfg) has a password for every host."""
    return bool(_chosen({}))


def _password(session: Session, variables: InventoryVariables, host: Any) -> dict[str, str]:
    texts, problem = secret_texts(session, variables, host, BECOME_PASSWORDS)
    if problem:
        return {"problem": problem}
    value = _chosen(texts).rstrip("\n")
    return {"problem": "ansible_become_password holds a line break"} if "\n" in value else {"value": value}


def _chosen(texts: Mapping[str, str]) -> str:
    """Ansible's own choice among variables, environment and ansible.cfg."""
    become_loader.get("sudo")  # its options are known from then on
    value = constants.config.get_config_value("become_pass", plugin_type="become", plugin_name="sudo", variables=dict(texts))
    return "" if value is None else str(value)
