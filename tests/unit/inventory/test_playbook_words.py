"""Options after `--` are read by Ansible's own parser, so no way of writing them passes a guard."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.ansible.vault_passwords import hand_on_vault_ids
from clusterctl.adapters.inventory.playbook_words import PlaybookWords, read_playbook_words
from clusterctl.adapters.inventory.wire import Refusal
from clusterctl.model.errors import UsageProblemError
from clusterctl.workflows.provision.ansible_words import extra_vars_of

if TYPE_CHECKING:
    from pathlib import Path


def test_without_words_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterctl.adapters.inventory.playbook_words.query_worker", None)
    assert read_playbook_words(()) == PlaybookWords()


def test_extra_vars_are_found_however_they_are_written() -> None:
    words = [
        "-e",
        "a=1",
        "--extra-vars",
        "b=2",
        "--extra-vars=c=3",
        "--extra-var",
        "d=4",
        "--extra=e=5",
        "-De",
        "f=6",
        "-vveg=7",
        "--skip-tags",
        "slow",
        "--become",
    ]
    found = read_playbook_words(words)
    assert found.extra_vars == ("a=1", "b=2", "c=3", "d=4", "e=5", "f=6", "g=7")
    assert found.refused == ()


@pytest.mark.parametrize(
    ("words", "option", "why"),
    [
        ("--list-tasks", "--list-tasks", Refusal.RUNS_NOTHING),
        ("-vK", "--ask-become-pass", Refusal.PROMPTS),
        ("--become-pass-file=f", "--become-password-file", Refusal.PASSWORD_OF_ANSIBLE_ONLY),
        ("-l n1", "--limit", Refusal.OWN_OPTION),
        ("--help", "--help", Refusal.RUNS_NOTHING),
        ("other.yml", "other.yml", Refusal.OTHER_PLAYBOOK),
    ],
)
def test_options_that_cannot_be_handed_on_are_usage_errors(words: str, option: str, why: Refusal) -> None:
    assert read_playbook_words(words.split()).refused == ((option, why),)
    with pytest.raises(UsageProblemError, match=option):
        extra_vars_of(words.split())


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(UsageProblemError, match="unrecognized arguments: --nope"):
        read_playbook_words(["--nope"])


def test_vault_passwords_among_them_are_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSIBLE_VAULT_IDENTITY_LIST", "")
    extra_vars_of(["--vault-id", "site@a", "--vault-password-file", "/b"])
    hand_on_vault_ids(["c@d"])
    assert os.environ["ANSIBLE_VAULT_IDENTITY_LIST"] == "site@a,default@/b,c@d"


def test_the_list_of_ansible_cfg_is_kept_beside_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable, once it is set, hides it."""
    (tmp_path / "ansible.cfg").write_text("[defaults]\nvault_identity_list = prod@x, lab@y\n")
    monkeypatch.setenv("ANSIBLE_CONFIG", str(tmp_path / "ansible.cfg"))
    monkeypatch.setenv("ANSIBLE_VAULT_IDENTITY_LIST", "")
    hand_on_vault_ids(["c@d"])
    assert os.environ["ANSIBLE_VAULT_IDENTITY_LIST"] == "prod@x,lab@y,c@d"
