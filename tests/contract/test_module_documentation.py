"""`ansible-doc` shows each option of each module as the module takes it, docs/reference/ansible-modules.md shows the same, and what several modules share is written once."""

from __future__ import annotations

import re
from typing import Any
from unittest.mock import patch

import pytest

from support.ansible_doc import ansible_doc
from support.doc_blocks import blocks_of
from support.filters import module_plugin
from support.plain_yaml import load_yaml
from support.roles import ROOT

FOLDER = ROOT / "plugins" / "modules"
NAMES = sorted(p.stem for p in FOLDER.glob("*.py"))
PAGE = ROOT / "docs" / "reference" / "ansible-modules.md"
REDFISH = [n for n in NAMES if n.startswith("redfish_")]


class TakenError(Exception):
    """The module has named its options."""


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One call for all: each start of ansible-doc takes seconds."""
    found = ansible_doc("module", [f"clusterctl.gpu.{n}" for n in NAMES], tmp_path_factory.mktemp("ansible"))
    return {name.rpartition(".")[2]: {**one["doc"], "return": one["return"]} for name, one in found.items()}


def taken_by(name: str) -> dict[str, Any] | None:
    """The argument spec of a module; None for one that is an action plug-in alone."""
    module, taken = module_plugin(name), {}

    def keep(_module: object, argument_spec: dict[str, Any], **_more: Any) -> None:
        taken.update(argument_spec)
        raise TakenError

    if not hasattr(module, "main"):
        return None
    with patch("ansible.module_utils.basic.AnsibleModule.__init__", keep), pytest.raises(TakenError):
        module.main()
    return taken


@pytest.mark.parametrize("name", NAMES)
def test_the_options_are_documented_as_they_are_taken(known: dict[str, Any], name: str) -> None:
    documented = known[name]["options"]
    assert [o for o, about in documented.items() if not "".join(about["description"]).strip()] == []
    taken = taken_by(name)
    if taken is None:
        assert (ROOT / "plugins" / "action" / f"{name}.py").is_file()
        return

    def plain(options: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
        return {o: (a.get("type", "str"), a.get("elements"), bool(a.get("required")), a.get("default")) for o, a in options.items()}

    assert plain(documented) == plain(taken)


def test_what_modules_of_a_bmc_share_is_written_once() -> None:
    assert len(REDFISH) > 1
    own = {n: set(load_yaml(module_plugin(n).DOCUMENTATION)["options"]) for n in REDFISH}
    taken = {n: set(taken_by(n) or ()) for n in REDFISH}
    login = set.intersection(*taken.values())
    assert {"baseurl", "username", "password", "validate_certs"} <= login
    names = [o for options in own.values() for o in options]
    assert [o for o in names if o in login or names.count(o) > 1] == []


def plain_text(text: object) -> str:
    """Without the markup of Ansible or of the page."""
    words = "".join(text) if isinstance(text, list) else str(text)
    return " ".join(re.sub(r"\b(?:RV|[OVC])\(([^()]*)\)", r"\1", words).replace("\\|", "|").replace("`", "").split())


def tables_of_the_page() -> dict[str, dict[str, list[list[str]]]]:
    """Module -> `option` and `result` -> the cells of the rows."""
    found: dict[str, dict[str, list[list[str]]]] = {}
    for section in PAGE.read_text().split("\n## ")[1:]:
        tables = (table.splitlines() for table in section.split("\n\n") if table.startswith("| "))
        found[section.partition("\n")[0]] = {
            lines[0].split(" ")[1]: [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in lines[2:]] for lines in tables
        }
    return found


def test_the_page_has_the_options_and_results_of_every_module(known: dict[str, Any]) -> None:
    shown = tables_of_the_page()
    assert sorted(shown) == NAMES
    for name, tables in shown.items():
        options = {
            option: (
                f"list of {about['elements']}" if "elements" in about else about["type"],
                ("required" if about.get("required") else about.get("default")),
                plain_text(about["description"]),
            )
            for option, about in known[name]["options"].items()
        }
        assert {o[0].strip("`"): (o[1], load_yaml(o[2].strip("*`")), plain_text(o[3])) for o in tables["option"]} == options
        results = {result: plain_text(about["description"]) for result, about in known[name]["return"].items()}
        assert {r[0].strip("`"): plain_text(r[2]) for r in tables["result"]} == results


@pytest.mark.parametrize("block", blocks_of(PAGE), ids=lambda b: b.name)
def test_an_example_gives_what_its_module_needs_and_nothing_else(known: dict[str, Any], block: Any) -> None:
    for task in load_yaml(block.text):
        ((name, given),) = ((n.removeprefix("clusterctl.gpu."), v) for n, v in task.items() if n != "name")
        options = known[name]["options"]
        assert {o for o, about in options.items() if about.get("required")} <= set(given) <= set(options)
