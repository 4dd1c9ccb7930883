"""execution-environment.yml: accepted by the schema of ansible-builder, in step with the locks, and an exported inventory says what its layers say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import ansiblelint
import pytest
from jsonschema import Draft7Validator

from support.plain_yaml import load_yaml
from support.roles import ROOT

DEFINITION: dict[str, Any] = load_yaml((ROOT / "execution-environment.yml").read_text())
GALAXY: dict[str, Any] = load_yaml((ROOT / "galaxy.yml").read_text())
# ansible-lint has the schema of ansible-builder (ee_schema.py) as a file
SCHEMA = json.loads((Path(ansiblelint.__file__).parent / "schemas" / "execution-environment.json").read_text())
ARCHIVE = f"{GALAXY['namespace']}-{GALAXY['name']}-{GALAXY['version']}.tar.gz"
LAYERS = ("inventory/common", "inventory/example")


def locked(package: str, python: str) -> str:
    """The version in requirements/runtime.txt for a Python: the line whose condition holds, or the only one."""
    lines = re.findall(
        rf"^{package}==(\S+)(?: ; python_full_version (<|>=) '([\d.]+)')?",
        (ROOT / "requirements" / "runtime.txt").read_text(),
        re.MULTILINE,
    )
    numbers = [int(n) for n in python.split(".")]
    fit = {"<": lambda least: numbers < least, ">=": lambda least: numbers >= least}
    found = [version for version, sign, least in lines if not sign or fit[sign]([int(n) for n in least.split(".")])]
    assert len(found) == 1, found
    return str(found[0])


def hostvars(*sources: str) -> dict[str, Any]:
    words = [sys.executable, "-m", "ansible.cli.inventory", *(w for s in sources for w in ("-i", s)), "--list"]
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout)["_meta"]["hostvars"])


def test_the_schema_accepts_it() -> None:
    Draft7Validator(SCHEMA).validate(DEFINITION)
    assert DEFINITION["version"] == 3


@pytest.mark.parametrize(
    "change", [{"image": {}}, {"options": {"usr": "1000"}}, {"dependencies": {"galaxy": 3}}, {"additional_build_files": [{"src": "x"}]}]
)
def test_the_schema_refuses_what_ansible_builder_refuses(change: dict[str, Any]) -> None:
    assert not Draft7Validator(SCHEMA).is_valid(DEFINITION | change)


def test_versions_are_those_of_the_locks() -> None:
    needs = DEFINITION["dependencies"]
    python = needs["python_interpreter"]["package_system"].removeprefix("python")
    assert needs["python_interpreter"]["python_path"].endswith(f"/python{python}")
    assert needs["ansible_core"]["package_pip"] == f"ansible-core=={locked('ansible-core', python)}"
    assert needs["ansible_runner"]["package_pip"] == f"ansible-runner=={locked('ansible-runner', python)}"


def test_the_collection_is_our_own() -> None:
    (own,) = DEFINITION["dependencies"]["galaxy"]["collections"]
    (file,) = DEFINITION["additional_build_files"]
    assert file["src"] == f"build/collection/{ARCHIVE}"
    assert own == {"name": f"{file['dest']}/{ARCHIVE}", "type": "file"}
    assert DEFINITION["options"]["tags"] == [f"clusterctl-ee:{GALAXY['version']}"]


def test_the_base_image_has_a_short_name() -> None:
    assert re.fullmatch(r"[a-z]+:\d+", DEFINITION["images"]["base_image"]["name"])


def test_an_exported_inventory_has_the_variables_of_its_layers(tmp_path: Path) -> None:
    out = tmp_path / "hosts.yml"
    words = [sys.executable, "-m", "ansible.cli.inventory", *(w for s in LAYERS for w in ("-i", s))]
    subprocess.run([*words, "--list", "--yaml", "--export", "--output", str(out)], cwd=ROOT, check=True, capture_output=True)
    before = hostvars(*LAYERS)
    assert len(before) > 10
    assert hostvars(str(out)) == before
