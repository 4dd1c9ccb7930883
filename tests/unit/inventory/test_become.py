"""Whether a node's sudo has a password, and the password itself: two questions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.inventory.become import load_become
from support.site import Site

if TYPE_CHECKING:
    from clusterctl.model.become import BecomePassword

SECRET = "sudo pass word"
RACK = "site/group_vars/rack_1.yml"
BECOME = "ansible_user: ops\nansible_become: true\n"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANSIBLE_BECOME_PASS", "ANSIBLE_SUDO_PASS"):
        monkeypatch.delenv(name, raising=False)


def asked(tmp_path: Path, text: str, *vault_ids: str) -> tuple[bool, BecomePassword]:
    site = Site(tmp_path / "site", {RACK: BECOME + text})
    (node,) = site.nodes("r1-n01")
    assert SECRET not in repr(node)
    found = load_become(site.layers, [node.name], vault_ids=vault_ids)
    assert SECRET not in repr(found)
    assert list(found) == [node.name]
    return node.connection.become_password, found[node.name]


@pytest.mark.parametrize("name", ["ansible_become_password", "ansible_become_pass", "ansible_sudo_pass"])
def test_each_name_that_ansible_knows(tmp_path: Path, name: str) -> None:
    declared, found = asked(tmp_path, f"{name}: '{{{{ secret }}}}'\nsecret: {SECRET}\n")
    assert (declared, found.value, found.problem) == (True, SECRET, "")


def test_none(tmp_path: Path) -> None:
    declared, found = asked(tmp_path, "")
    assert (declared, found.value, found.problem) == (False, "", "")


def test_an_empty_one_is_none(tmp_path: Path) -> None:
    assert asked(tmp_path, "ansible_become_password: ''\n")[1].value == ""


def test_ansibles_own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSIBLE_BECOME_PASS", SECRET)
    declared, found = asked(tmp_path, "")
    assert (declared, found.value) == (True, SECRET)
    assert asked(tmp_path, "ansible_become_password: nearer\n")[1].value == "nearer"


def test_a_vault(tmp_path: Path, vaulted: str, vault_file: Path) -> None:
    text = f"ansible_become_password: {vaulted}\n"
    assert asked(tmp_path, text, str(vault_file))[1].value == SECRET
    declared, found = asked(tmp_path, text)
    assert declared, "known without its vault"
    assert found.value == ""
    assert found.problem.startswith("ansible_become_password cannot be decrypted: give the vault password")


@pytest.mark.parametrize(("setting", "value"), [("vault_identity_list", "site@{}"), ("vault_password_file", "{}")])
@pytest.mark.parametrize("by", ["environment", "ansible.cfg"])
def test_a_vault_that_ansibles_own_settings_name(
    tmp_path: Path, vaulted: str, vault_file: Path, by: str, setting: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `ansible-playbook` finds it, without an option of clusterctl."""
    config = tmp_path / "ansible.cfg"
    config.write_text(f"[defaults]\n{setting} = {value.format(vault_file)}\n")
    for name in ("ANSIBLE_VAULT_IDENTITY_LIST", "ANSIBLE_VAULT_PASSWORD_FILE"):
        monkeypatch.delenv(name, raising=False)
    if by == "environment":
        monkeypatch.setenv(f"ANSIBLE_{setting.upper()}", value.format(vault_file))
    else:
        monkeypatch.setenv("ANSIBLE_CONFIG", str(config))
    assert asked(tmp_path, f"ansible_become_password: {vaulted}\n")[1].value == SECRET


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ansible_become_password: '{{ nowhere }}'\n", "ansible_become_password cannot be rendered"),
        ('ansible_become_password: "two\\nlines"\n', "ansible_become_password holds a line break"),
    ],
)
def test_one_that_cannot_be_had(tmp_path: Path, text: str, problem: str) -> None:
    found = asked(tmp_path, text)[1]
    assert (found.value, found.problem) == ("", problem)


def test_many_nodes_are_one_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterctl.adapters.inventory.become._NAMED_AT_MOST", 1)
    site = Site(tmp_path / "site", {RACK: BECOME + f"ansible_become_password: {SECRET}\n"})
    names = [n.name for n in site.nodes("rack-1")]
    assert len(names) > 1
    assert {n: p.value for n, p in load_become(site.layers, names).items()} == dict.fromkeys(names, SECRET)


def test_another_method(tmp_path: Path) -> None:
    (node,) = Site(tmp_path / "site", {RACK: BECOME + "ansible_become_method: su\n"}).nodes("r1-n01")
    assert (node.connection.become_method, node.connection.by_sudo) == ("su", True)


@pytest.fixture
def vault_file(tmp_path: Path) -> Path:
    file = tmp_path / "vault.txt"
    file.write_text("example")
    return file


@pytest.fixture
def vaulted(vault_file: Path) -> str:
    command = [str(Path(sys.executable).with_name("ansible-vault")), "encrypt_string", "--vault-id", str(vault_file), SECRET]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
