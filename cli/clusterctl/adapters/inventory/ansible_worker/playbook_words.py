"""Reads options of ansible-playbook with Ansible's own parser: it accepts abbreviations, joined short options and `=`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ansible.cli.playbook import PlaybookCLI

from clusterctl.adapters.inventory.ansible_worker.failures import usage_failure
from clusterctl.adapters.inventory.wire import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

# the name of the value in Ansible's parser -> why clusterctl cannot hand the option on
_REFUSED = {
    "listhosts": Refusal.RUNS_NOTHING,
    "listtasks": Refusal.RUNS_NOTHING,
    "listtags": Refusal.RUNS_NOTHING,
    "syntax": Refusal.RUNS_NOTHING,
    "step": Refusal.PROMPTS,
    "ask_pass": Refusal.PROMPTS,
    "become_ask_pass": Refusal.PROMPTS,
    "ask_vault_pass": Refusal.PROMPTS,
    "connection_password_file": Refusal.PASSWORD_OF_ANSIBLE_ONLY,
    "become_password_file": Refusal.PASSWORD_OF_ANSIBLE_ONLY,
    "inventory": Refusal.OWN_OPTION,
    "subset": Refusal.OWN_OPTION,
    "check": Refusal.OWN_OPTION,
}
_PLAYBOOK = "provision.yml"


def read_words(words: Sequence[str]) -> dict[str, Any]:
    """Variables and vault passwords that the words name, and the options among them that are refused, each with its reason.

    Raises:
        WorkerError: ansible-playbook rejects these words.
    """
    cli = PlaybookCLI(["ansible-playbook"])
    cli.init_parser()
    parser = cli.parser

    def refuse(message: str) -> NoReturn:
        raise usage_failure(f"options of ansible-playbook: {message}", "`ansible-playbook --help` lists them")

    parser.error = refuse
    try:
        found = parser.parse_args([*words, _PLAYBOOK])
    except SystemExit:  # --help and --version
        return {"extra_vars": [], "vault_ids": [], "refused": [[words[0], Refusal.RUNS_NOTHING]]}
    names = {a.dest: max(a.option_strings, key=len) for a in parser._actions if a.option_strings}  # noqa: SLF001 no public list
    refused = [[names[dest], why] for dest, why in _REFUSED.items() if getattr(found, dest) != parser.get_default(dest)]
    refused += [[playbook, Refusal.OTHER_PLAYBOOK] for playbook in found.args if playbook != _PLAYBOOK]
    vault_ids = [*found.vault_ids, *(f"default@{file}" for file in found.vault_password_files)]
    return {"extra_vars": list(found.extra_vars or []), "vault_ids": vault_ids, "refused": refused}
