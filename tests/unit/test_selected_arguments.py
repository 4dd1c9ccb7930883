"""With `--tags`, the callback `preload` leaves out the argument checks of roles of which nothing is selected; every other task runs as without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.roles import ROOT

# role -> tags of its two tasks
ROLES = {"plain": ("", ""), "shared": ("", "kernel"), "constant": ("", "always"), "templated": ("", "{{ 'kernel' }}")}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A playbook with four roles, each tagged with its name, and an argument of `plain` that is not of its type."""
    folder = tmp_path_factory.mktemp("site")
    for role, tags in ROLES.items():
        (folder / "roles" / role / "tasks").mkdir(parents=True)
        (folder / "roles" / role / "meta").mkdir()
        tasks = [
            {"ansible.builtin.debug": {"msg": role}, "name": f"{role} {i}"} | ({"tags": [tag]} if tag else {}) for i, tag in enumerate(tags)
        ]
        (folder / "roles" / role / "tasks" / "main.yml").write_text(json.dumps([{"name": "in a block", "block": tasks}]))
        spec = {"argument_specs": {"main": {"options": {f"{role}_size": {"type": "int"}}}}}
        (folder / "roles" / role / "meta" / "argument_specs.yml").write_text(json.dumps(spec))
    play = {"hosts": "localhost", "gather_facts": False, "vars": {"plain_size": "big"}, "roles": [{"role": r, "tags": [r]} for r in ROLES]}
    (folder / "play.yml").write_text(json.dumps([play]))
    return folder


def run(site: Path, *words: str, callback: bool = True) -> tuple[int, list[str]]:
    """Exit status, and the tasks in their order."""
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "playbooks" / "collections"),
        "ANSIBLE_CALLBACKS_ENABLED": f"clusterctl.gpu.{'preload' if callback else 'none'}",
        "ANSIBLE_LOCALHOST_WARNING": "False",
    }
    argv = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "localhost,", "-c", "local", "play.yml", *words]
    done = subprocess.run(argv, cwd=site, env=environment, check=False, capture_output=True, text=True, timeout=120)
    lines = [line.split("[", 1)[1].split("]", 1)[0] for line in done.stdout.splitlines() if line.startswith("TASK [")]
    return done.returncode, [line.replace("Validating arguments against arg spec 'main'", "arguments") for line in lines]


def test_the_arguments_of_a_role_of_which_nothing_is_selected_are_not_checked(site: Path) -> None:
    code, tasks = run(site, "--tags", "kernel")
    assert (code, [t for t in tasks if t.startswith("plain")]) == (0, [])
    kept = [f"{role} : {task}" for role in ("shared", "constant", "templated") for task in ("arguments", f"{role} 1")]
    assert tasks == kept, "a role of which one task runs has its arguments checked"


@pytest.mark.parametrize("words", [(), ("--tags", "plain"), ("--tags", "tagged"), ("--tags", "kernel,plain")])
def test_those_of_a_role_that_is_selected_are_checked(site: Path, words: tuple[str, ...]) -> None:
    code, tasks = run(site, *words)
    assert (code, tasks) == (2, ["plain : arguments"])


def test_without_the_callback_ansible_checks_those_of_every_role(site: Path) -> None:
    """The day it does not, the callback need not."""
    assert run(site, "--tags", "kernel", callback=False) == (2, ["plain : arguments"])
