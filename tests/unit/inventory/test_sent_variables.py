"""What Ansible on a node gets: its own variables, decrypted, and nothing that only the controller could read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from clusterctl.adapters.inventory.sent_variables import SentVariables, load_sent_variables
from support.site import Site

RACK = "site/group_vars/rack_1.yml"


def sent(tmp_path: Path, text: str, *extra_vars: str, vault_ids: tuple[str, ...] = ()) -> SentVariables:
    site = Site(tmp_path / "site", {RACK: text})
    return load_sent_variables(site.layers, ["r1-n01"], extra_vars, vault_ids)


def variables(found: SentVariables) -> dict[str, object]:
    assert found.problems == {}
    hosts: dict[str, dict[str, object]] = found.of_node["r1-n01"]["all"]["hosts"]
    assert list(hosts) == ["r1-n01"]
    return hosts["r1-n01"]


def test_templates_stay_what_they_are_and_are_rendered_with_facts_on_the_node(tmp_path: Path) -> None:
    got = variables(sent(tmp_path, "a: '{{ b }} {{ ansible_facts.x }}'\nb: 1\n"))
    assert (got["a"], got["b"]) == ("{{ b }} {{ ansible_facts.x }}", 1)


def test_the_roles_that_every_task_reads_are_rendered_once(tmp_path: Path) -> None:
    got = variables(sent(tmp_path / "a", "node_roles: \"{{ ['kernel'] + node_roles_site }}\"\nnode_roles_site: [hugepages]\n"))
    assert got["node_roles"] == ["kernel", "hugepages"]
    with_facts = "{{ ['kernel'] + ansible_facts.roles }}"
    assert variables(sent(tmp_path / "b", f'node_roles: "{with_facts}"\n'))["node_roles"] == with_facts


def test_what_only_the_controller_can_read_is_rendered_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSIBLE_X", "of {{ the }} controller")
    got = variables(sent(tmp_path, "a: \"{{ lookup('env', 'ANSIBLE_X') }}\"\nb: \"{{ groups['rack_1'] | length }}\"\nc: '{{ a }}'\n"))
    assert got["a"] == {"__ansible_unsafe": "of {{ the }} controller"}, "and is not rendered again"
    assert (str(got["b"]), got["c"]) == (str(len(Site(tmp_path / "again").nodes("rack_1"))), "{{ a }}")


def test_what_needs_both_is_a_problem_with_the_name(tmp_path: Path) -> None:
    found = sent(tmp_path, "a: \"{{ lookup('file', ansible_facts.x) }}\"\n")
    assert "a reads" in found.problems["r1-n01"]
    assert found.of_node["r1-n01"] == {}


def test_unsafe_text_is_no_template(tmp_path: Path) -> None:
    got = variables(sent(tmp_path, "a: !unsafe '{{ b }}'\n"))
    assert got["a"] == {"__ansible_unsafe": "{{ b }}"}


def test_the_way_to_the_node_and_magic_variables_stay_here(tmp_path: Path) -> None:
    got = variables(
        sent(tmp_path, "ansible_user: ops\nansible_become: true\nansible_become_password: geheim77\nansible_ssh_common_args: -v\nkept: 1\n")
    )
    assert got["kept"] == 1
    assert not {
        n for n in got if n.startswith(("ansible_ssh", "ansible_become", "ansible_user", "inventory_", "group", "hostvars", "playbook_dir"))
    }
    assert "geheim77" not in json.dumps(got)


ACCOUNTS = "bmc_user: admin\nbmc_password: geheim77\nbmc_readonly_user: reader\nbmc_readonly_password: geheim77\n"


@pytest.mark.parametrize("extra", ["", "bmc_password=geheim77 ansible_become_password=geheim77 kept=1"])
def test_the_accounts_of_its_bmc_stay_here(tmp_path: Path, extra: str) -> None:
    """Who controls a node would have the BMC of each node with the same account."""
    found = sent(tmp_path, f"{ACCOUNTS}bmc_url: https://192.0.2.9\nown: '{{{{ bmc_password }}}}'\nkept: 1\n", *filter(None, [extra]))
    got = variables(found) | found.extra
    assert (got["bmc_url"], got["own"], str(got["kept"])) == ("https://192.0.2.9", "{{ bmc_password }}", "1")
    assert "geheim77" not in json.dumps([got, found.extra])
    assert not {n for n in got if "user" in n or "password" in n}


def test_an_account_of_another_vault_is_no_problem(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("p")
    assert variables(sent(tmp_path, _encrypted(tmp_path, "bmc_password") + "kept: 1\n"))["kept"] == 1


def _encrypted(tmp_path: Path, name: str) -> str:
    binary = Path(sys.executable).with_name("ansible-vault")
    words = [str(binary), "encrypt_string", "--vault-password-file", str(tmp_path / "password"), "geheim77", "--name", name]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_a_vaulted_variable_is_sent_decrypted_and_shown_nowhere(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("p")
    text = _encrypted(tmp_path, "token")
    found = sent(tmp_path, text, vault_ids=(f"default@{tmp_path / 'password'}",))
    assert variables(found)["token"] == "geheim77"
    assert "geheim77" not in repr(found)
    assert "vault password" in sent(tmp_path, text).problems["r1-n01"]


def test_extra_variables_are_read_by_ansible_itself(tmp_path: Path) -> None:
    (tmp_path / "more.yml").write_text("c: [1, 2]\n")
    found = sent(tmp_path, "a: 1\n", "a=2 b=x", f"@{tmp_path / 'more.yml'}")
    assert found.extra == {"a": "2", "b": "x", "c": [1, 2]}
    assert "a" not in variables(found)


def test_groups_are_those_of_the_node(tmp_path: Path) -> None:
    found = sent(tmp_path, "")
    children = found.of_node["r1-n01"]["all"]["children"]
    assert "rack_1" in children
    assert all(group == {"hosts": {"r1-n01": None}} for group in children.values())
