"""Set up Ansible: configuration, plug-ins, vault, inventory, variable manager."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible import constants, context
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultSecretsContext
from ansible.plugins.loader import init_plugin_loader
from ansible.utils.context_objects import CLIArgs
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager

from clusterctl.adapters.given_file import encoding_problem
from clusterctl.adapters.inventory.ansible_worker.failures import (
    config_failure,
    error_message,
    from_ansible,
    invalid,
    is_placed,
    usage_failure,
)
from clusterctl.adapters.inventory.ansible_worker.origins import where
from clusterctl.adapters.inventory.ansible_worker.sources import SourceManager
from clusterctl.model.problem import merge, shown_path

if TYPE_CHECKING:
    from clusterctl.adapters.inventory.wire import WorkerRequest

_GROUP_NAME = re.compile(r"^[A-Za-z_]\w*$")
_EXTRA_VARS = "write NAME=VALUE without blanks around the =, JSON, or @FILE"
_YAML = (".yml", ".yaml", ".json")


class _Loader(DataLoader):  # type: ignore[misc] # ansible-core has no types
    """Ansible's loader without its deep copies: they take half of the time of 12,500 nodes, and nobody here changes what was loaded."""

    def load_from_file(self, file_name: str, cache: str = "all", unsafe: bool = True, **how: bool) -> Any:  # noqa: ARG002
        try:
            return super().load_from_file(file_name, cache, unsafe=True, **how)
        except AnsibleError as e:
            if foreign := _foreign_text(file_name):
                raise AnsibleError(f"{shown_path(file_name)}:{foreign}") from None
            if is_placed(e):
                raise
            raise AnsibleError(f"{shown_path(file_name)}: {error_message(e)}") from e  # a date that does not exist has no line


def _foreign_text(file_name: str) -> str:
    """What is not UTF-8 in a file: Ansible reports it as "surrogates not allowed", without a line."""
    try:
        return encoding_problem(Path(file_name).read_bytes())
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class Session:
    """Ansible, ready for requests. `hostvars` must live as long as templates are rendered."""

    loader: Any
    inventory: Any
    variables: Any
    hostvars: Any


def open_session(request: WorkerRequest) -> Session:
    """Load all layers.

    Raises:
        WorkerError: vault password, YAML, a group or its name is wrong.
    """
    context.CLIARGS = CLIArgs({"extra_vars": request.extra_vars})
    init_plugin_loader()
    loader = _Loader()
    loader.set_basedir(str(Path(request.content) / "playbooks"))
    VaultSecretsContext.initialize(VaultSecretsContext(secrets=_vault_secrets(loader, _vault_ids(request))))
    inventory = SourceManager(loader)
    variables = _with_extra_vars(loader, None)
    try:
        inventory.read(list(request.layers))
        variables.set_inventory(inventory)
    except AnsibleError as e:
        raise _yaml_error(loader, request.layers) or inventory.unreadable_source() or from_ansible(e) from e
    _check_group_names(inventory)
    if inventory.skipped:
        raise invalid(merge(inventory.skipped))
    return Session(loader, inventory, variables, HostVars(inventory, variables, loader))


def with_extra_vars(session: Session, request: WorkerRequest) -> Session:
    """The same inventory with the extra variables of another request, on which no file of it depends.

    Raises:
        WorkerError: they cannot be read.
    """
    context.CLIARGS = CLIArgs({"extra_vars": request.extra_vars})
    variables = _with_extra_vars(session.loader, session.inventory)
    return Session(session.loader, session.inventory, variables, HostVars(session.inventory, variables, session.loader))


def _with_extra_vars(loader: Any, inventory: Any) -> Any:
    """Ansible's variable manager, which reads `-e` at once.

    Raises:
        WorkerError: a value of `-e` cannot be read, or sets no variable: Ansible takes `-e "version 580"` and forgets it.
    """
    try:
        variables = VariableManager(loader=loader, inventory=inventory)
    except AnsibleError as e:
        failure = from_ansible(e, f"correct the value of -e: {_EXTRA_VARS}")
        of_a_file = any(value.startswith("@") for value in context.CLIARGS["extra_vars"])
        raise failure if of_a_file else usage_failure(**failure.values) from e
    if unnamed := next((str(variables.extra_vars[n]) for n in ("_raw_params", "") if n in variables.extra_vars), ""):
        raise usage_failure(f"--extra-vars: {unnamed!r} sets no variable", _EXTRA_VARS)
    return variables


def _vault_secrets(loader: Any, vault_ids: list[str]) -> list[Any]:
    if not (vault_ids or constants.DEFAULT_VAULT_PASSWORD_FILE):
        return []
    from ansible.cli import CLI  # noqa: PLC0415 a fifth of the imports

    try:
        return list(CLI.setup_vault_secrets(loader, vault_ids=vault_ids, auto_prompt=False, initialize_context=False))
    except AnsibleError as e:
        raise config_failure(f"vault: {e.message}", "--vault-id takes FILE or LABEL@FILE") from e


def _vault_ids(request: WorkerRequest) -> list[str]:
    """As every program of Ansible: those of ansible.cfg and ANSIBLE_VAULT_IDENTITY_LIST first."""
    found = list(dict.fromkeys([*constants.DEFAULT_VAULT_IDENTITY_LIST, *request.vault_ids]))
    if any(vault_id.rpartition("@")[2].startswith("prompt") for vault_id in found):
        raise config_failure("vault: a password cannot be typed in here", "name a file: --vault-id LABEL@FILE")
    return found


def _yaml_error(loader: Any, layers: tuple[str, ...]) -> Exception | None:
    """The first broken YAML file of the layers: the inventory manager itself only names the source that failed."""
    for layer in layers:
        files = sorted(Path(layer).rglob("*")) if Path(layer).is_dir() else [Path(layer)]
        for file in (f for f in files if f.suffix in _YAML and f.is_file()):
            try:
                loader.load_from_file(str(file), cache="none")
            except AnsibleError as e:
                return from_ansible(e)
    return None


def _check_group_names(inventory: Any) -> None:
    for name in inventory.groups:
        if not _GROUP_NAME.match(name):
            file, line = where(name)
            place = f"{shown_path(file)}:{line}: " if file else ""
            better = re.sub(r"^(\d)", r"_\1", re.sub(r"\W", "_", str(name)))
            raise config_failure(
                f"{place}group {str(name)!r} has a name that Ansible cannot use in variables and patterns",
                f"call it {better!r}; on the command line {str(name)!r} finds it too",
            )
