"""Dynamic inventory sources that cannot be read: the cause is named, not what other plug-ins make of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.inventory.invalid import problems_of
from clusterctl.adapters.inventory.load import list_hosts
from clusterctl.model.errors import ConfigError, SpecInvalidError

if TYPE_CHECKING:
    from pathlib import Path

PLUGIN = '''
from ansible.errors import AnsibleError
from ansible.plugins.inventory import BaseInventoryPlugin

{top}
DOCUMENTATION = """
name: cmdb
short_description: The CMDB of the tests
options:
  plugin: {{description: Its name., required: true}}
"""


class InventoryModule(BaseInventoryPlugin):
    NAME = "cmdb"

    def verify_file(self, path):
        return path.endswith("cmdb.yml")

    def parse(self, inventory, loader, path, cache=True):
        super().parse(inventory, loader, path, cache)
{body}
'''
MISSING = """
        try:
            import pynetbox_of_nowhere
        except ImportError as e:
            raise AnsibleError("pynetbox_of_nowhere is required for this plugin") from e
"""


@pytest.fixture(autouse=True)
def _plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plugins").mkdir()
    monkeypatch.setenv("ANSIBLE_INVENTORY_PLUGINS", str(tmp_path / "plugins"))
    monkeypatch.chdir(tmp_path)


def refused(tmp_path: Path, name: str, text: str) -> str:
    """What is reported of a source."""
    source = tmp_path / name
    source.write_text(text)
    if text.startswith("#!"):
        source.chmod(0o755)
    with pytest.raises(ConfigError) as caught:
        list_hosts([source])
    assert "install what its plug-in needs" in caught.value.hint
    head, _, causes = str(caught.value).partition(" cannot be read: ")
    assert head == f"inventory source {name}"
    return causes


@pytest.mark.parametrize(
    ("top", "body", "cause"),
    [
        ("", MISSING, "plug-in 'auto': pynetbox_of_nowhere is required for this plugin: No module named 'pynetbox_of_nowhere'"),
        ("import nowhere_at_all", "        pass", "No module named 'nowhere_at_all'"),
        (
            "",
            '        raise AnsibleError("HTTP 403: the token may not read devices")',
            "plug-in 'auto': HTTP 403: the token may not read devices",
        ),
        ("", '        raise KeyError("results")', "plug-in 'auto': 'results'"),
    ],
    ids=["a package is missing", "it does not import", "its service refuses", "it breaks"],
)
def test_the_cause_is_the_plug_ins_own(top: str, body: str, cause: str, tmp_path: Path) -> None:
    (tmp_path / "plugins" / "cmdb.py").write_text(PLUGIN.format(top=top, body=body))
    causes = refused(tmp_path, "cmdb.yml", "plugin: cmdb\n")
    assert cause in causes
    assert "'ini'" not in causes


def test_a_plug_in_that_answers_is_read(tmp_path: Path) -> None:
    (tmp_path / "plugins" / "cmdb.py").write_text(PLUGIN.format(top="", body='        self.inventory.add_host("r1-n01")'))
    (tmp_path / "cmdb.yml").write_text("plugin: cmdb\n")
    assert [h.name for h in list_hosts([tmp_path / "cmdb.yml"]).hosts] == ["r1-n01"]


def test_an_unknown_plug_in(tmp_path: Path) -> None:
    assert "specifies unknown plugin 'netbox.netbox.nb_inventry'" in refused(tmp_path, "netbox.yml", "plugin: netbox.netbox.nb_inventry\n")


def test_a_script_that_fails(tmp_path: Path) -> None:
    causes = refused(tmp_path, "cmdb.sh", "#!/bin/sh\necho the database is down >&2\nexit 3\n")
    assert causes.startswith("plug-in 'script': ")
    assert "the database is down" in causes
    assert "'ini'" not in causes


def test_a_file_that_any_plug_in_may_read_names_each_error(tmp_path: Path) -> None:
    causes = refused(tmp_path, "hosts", "[rack_1\nr1-n01\n")
    assert "plug-in 'ini': " in causes
    assert "plug-in 'auto'" not in causes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "rack_9:\n  host:\n    r9-n01: {}\n",
            "hosts.yml:2: rack_9.host: nothing reads this: a group has vars, children and hosts; did you mean 'hosts'?",
        ),
        (
            "rack_9:\n  childen: {rack_8: {}}\n",
            "hosts.yml:2: rack_9.childen: nothing reads this: a group has vars, children and hosts; did you mean 'children'?",
        ),
        ("rack_9:\n  nodes: {r9-n01: {}}\n", "hosts.yml:2: rack_9.nodes: nothing reads this: a group has vars, children and hosts"),
        (
            "all:\n  children:\n    rack_9:\n      vars: {}\n      var: {a: 1}\n",
            "hosts.yml:5: rack_9.var: nothing reads this: a group has vars, children and hosts; did you mean 'vars'?",
        ),
        (
            "rack_9: r9-n01\n",
            "hosts.yml:1: rack_9: nothing reads this: a group is a mapping of vars, children and hosts",
        ),
    ],
)
def test_what_ansible_skips_with_a_warning_is_an_error(tmp_path: Path, text: str, said: str) -> None:
    """A rack under `host:` was not there, and `profile check` said ok."""
    (tmp_path / "hosts.yml").write_text(text)
    with pytest.raises(SpecInvalidError) as caught:
        list_hosts([tmp_path / "hosts.yml"])
    assert [p.text() for p in problems_of(caught.value)] == [said]
