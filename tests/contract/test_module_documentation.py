"""`ansible-doc` shows each option of each module as the module takes it, and what several modules share is written once."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
import yaml

from support.ansible_doc import ansible_doc
from support.filters import module_plugin
from support.roles import ROOT

FOLDER = ROOT / "plugins" / "modules"
NAMES = sorted(p.stem for p in FOLDER.glob("*.py"))
REDFISH = [n for n in NAMES if n.startswith("redfish_")]


class TakenError(Exception):
    """The module has named its options."""


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One call for all: each start of ansible-doc takes seconds."""
    found = ansible_doc("module", [f"clusterctl.gpu.{n}" for n in NAMES], tmp_path_factory.mktemp("ansible"))
    return {name.rpartition(".")[2]: one["doc"] for name, one in found.items()}


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
    own = {n: set(yaml.safe_load(module_plugin(n).DOCUMENTATION)["options"]) for n in REDFISH}
    taken = {n: set(taken_by(n) or ()) for n in REDFISH}
    login = set.intersection(*taken.values())
    assert {"baseurl", "username", "password", "validate_certs"} <= login
    names = [o for options in own.values() for o in options]
    assert [o for o in names if o in login or names.count(o) > 1] == []
