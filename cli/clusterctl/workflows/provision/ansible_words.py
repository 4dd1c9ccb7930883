"""What the operator's own options for ansible-playbook mean for the run; those that cannot be handed on are refused before anything is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.ansible.vault_passwords import hand_on_vault_ids
from clusterctl.adapters.inventory.playbook_words import read_playbook_words
from clusterctl.adapters.inventory.wire import Refusal
from clusterctl.model.errors import UsageProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

_WHY = {
    Refusal.RUNS_NOTHING: ("it applies nothing", "`clusterctl plan` shows what would change; `ansible-playbook` itself lists tasks"),
    Refusal.PROMPTS: (
        "nobody can answer its prompt",
        "declare ansible_become_password or ansible_password in the inventory, encrypted by ansible-vault",
    ),
    Refusal.PASSWORD_OF_ANSIBLE_ONLY: (
        "the checks of the nodes need the password, too",
        "declare ansible_become_password or ansible_password in the inventory, encrypted by ansible-vault",
    ),
    Refusal.OWN_OPTION: ("clusterctl has an option of this name", "put it before `--`"),
    Refusal.OTHER_PLAYBOOK: ("only the playbooks of clusterctl run", "run other playbooks with `ansible-playbook`"),
}


def extra_vars_of(ansible_args: Sequence[str]) -> tuple[str, ...]:
    """The values of `-e` among the options, as Ansible's own parser finds them; vault passwords among them are handed on.

    Raises:
        ConfigError: ansible-playbook has no such option.
        UsageProblemError: an option cannot be handed on.
    """
    words = read_playbook_words(ansible_args)
    for option, refusal in words.refused:
        why, hint = _WHY[refusal]
        raise UsageProblemError(detail=f"{option} cannot be handed on to ansible-playbook: {why}", hint=hint)
    hand_on_vault_ids(words.vault_ids)
    return words.extra_vars
