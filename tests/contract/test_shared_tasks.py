"""`roles/shared` holds task files that roles include by path: what only one role needs belongs into that role."""

from __future__ import annotations

import re

from support.plain_yaml import load_yaml
from support.roles import ROOT, all_roles, exemptions

SHARED = ROOT / "roles" / "shared"
INCLUDED = re.compile(r"\.\./\.\./shared/(tasks|templates|files)/([\w{}. ]+)")
FAMILIES = ("Debian", "RedHat")


def included(text: str) -> set[str]:
    """The files that a task file names, `tasks/NAME`; a name with the distribution's family stands for both."""
    pairs = [(kind, re.sub(r"{{ ansible_facts.os_family }}", "{family}", name)) for kind, name in INCLUDED.findall(text)]
    return {f"{kind}/{name.strip().format(family=family)}" for kind, name in pairs for family in FAMILIES}


def users() -> dict[str, set[str]]:
    """File of `roles/shared` -> roles that name it; `shared` among them if another of its files does."""
    found: dict[str, set[str]] = {}
    for file in (ROOT / "roles").glob("*/tasks/*.yml"):
        for name in included(file.read_text()):
            found.setdefault(name, set()).add(file.parts[-3])
    return found


def test_only_existing_files_are_included() -> None:
    assert [name for name in users() if not (SHARED / name).is_file()] == []


def test_every_file_has_two_users_or_belongs_to_another_shared_file() -> None:
    files = {str(p.relative_to(SHARED)) for kind in ("tasks", "templates", "files") for p in (SHARED / kind).iterdir()}
    assert files, "the tasks moved"
    assert {name for name in files if len(users().get(name, ())) < 2 and users().get(name) != {"shared"}} == set()


def test_it_is_never_applied() -> None:
    plays = load_yaml((ROOT / "playbooks" / "provision.yml").read_text())
    assert "shared" not in [entry["role"] for play in plays for entry in play["roles"]]
    assert {p.name for p in SHARED.iterdir()} == {"README.md", "tasks", "templates", "files"}


def test_a_folder_without_argument_specs_is_exempt_with_a_reason() -> None:
    folders = {p.name for p in (ROOT / "roles").iterdir() if p.is_dir()}
    without = folders - {role.name for role in all_roles()}
    assert without == {"shared"}
    assert all(exemptions("exempt_roles.yml")[name] for name in without)
