"""Options of ansible-playbook, as Ansible itself reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.inventory.wire import Operation, Refusal, WorkerRequest
from clusterctl.adapters.inventory.worker import query_worker

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class PlaybookWords:
    """What the words of a command line mean to ansible-playbook.

    Attributes:
        extra_vars: the values of `-e`, however it is written.
        vault_ids: those of `--vault-id` and `--vault-password-file`.
        refused: options and playbooks that cannot be handed on, each with the reason.
    """

    extra_vars: tuple[str, ...] = ()
    vault_ids: tuple[str, ...] = ()
    refused: tuple[tuple[str, Refusal], ...] = ()


def read_playbook_words(words: Sequence[str]) -> PlaybookWords:
    """Read them; without words, nothing is started.

    Raises:
        UsageProblemError: ansible-playbook has no such option.
    """
    if not words:
        return PlaybookWords()
    found = query_worker(WorkerRequest(Operation.WORDS, (), str(content_dir()), words=tuple(words)))
    refused = tuple((option, Refusal(why)) for option, why in found["refused"])
    return PlaybookWords(tuple(found["extra_vars"]), tuple(found["vault_ids"]), refused)
