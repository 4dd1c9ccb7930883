"""What hosts say of themselves by templates: each gets its own value, and hosts whose templates read the same share the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from ansible._internal._templating._jinja_bits import AnsibleEnvironment
from ansible.parsing.dataloader import DataLoader
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager

from clusterctl.adapters.inventory.ansible_worker import own_values as rendering
from clusterctl.adapters.inventory.ansible_worker.own_values import OwnValues
from clusterctl.adapters.inventory.ansible_worker.sections import Definitions
from clusterctl.adapters.inventory.ansible_worker.session import Session
from clusterctl.adapters.inventory.ansible_worker.sources import SourceManager
from clusterctl.adapters.inventory.ansible_worker.templating import render_variables
from clusterctl.adapters.inventory.ansible_worker.variables import InventoryVariables
from clusterctl.adapters.inventory.load import list_hosts
from clusterctl.model.errors import SpecInvalidError
from support.site import Site

if TYPE_CHECKING:
    from pathlib import Path

HOSTS = """
rack_a:
  vars: {row: east}
  hosts:
    a1: {number: 1}
    a2: {number: 2}
    a3: {number: 1}
rack_b:
  vars: {row: west}
  hosts:
    b1: {number: 1}
    b2: {number: 1, row: far}
"""
# The template, what each host gets by it, and how often it must be rendered.
CASES = {
    "variables of groups": ("{{ row }}", {"a1": "east", "a2": "east", "a3": "east", "b1": "west", "b2": "far"}, 3),
    "a variable of the host": ("n{{ number }}", {"a1": "n1", "a2": "n2", "a3": "n1", "b1": "n1", "b2": "n1"}, 2),
    "through another template": ("{{ through }}", {"a1": "east-1", "a2": "east-2", "a3": "east-1", "b1": "west-1", "b2": "far-1"}, 4),
    "its name": ("{{ inventory_hostname }}", {name: name for name in ("a1", "a2", "a3", "b1", "b2")}, 5),
    "its groups": ("{{ group_names | join('+') }}", {"a1": "rack_a", "a2": "rack_a", "a3": "rack_a", "b1": "rack_b", "b2": "rack_b"}, 2),
    "names that are computed": ("{{ hostvars[inventory_hostname].number }}", {"a1": "1", "a2": "2", "a3": "1", "b1": "1", "b2": "1"}, 5),
    "nothing": ("{{ 'same' }}", dict.fromkeys(("a1", "a2", "a3", "b1", "b2"), "same"), 1),
}


@pytest.mark.parametrize("case", CASES)
def test_each_host_gets_its_own_value_and_equal_ones_are_rendered_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    template, expected, times = CASES[case]
    rendered = []

    def counted(*given: Any, render: Any = render_variables) -> Any:
        rendered.append(given)
        return render(*given)

    monkeypatch.setattr(rendering, "render_variables", counted)
    site = Site(
        tmp_path, {"own/hosts.yml": HOSTS, "own/group_vars/all.yml": f'through: "{{{{ row }}}}-{{{{ number }}}}"\nrack: "{template}"\n'}
    )
    session = opened(site.folder / "own")
    variables, hosts = InventoryVariables(session), session.inventory.get_hosts()
    values = OwnValues(session.loader, variables, hosts, lambda: Definitions(variables.entities(hosts), frozenset(), lambda _, v: v))
    found = {str(h.name): values.of(h, ("rack", "number")) for h in hosts}
    assert {name: str(one.values["rack"]) for name, one in found.items()} == expected
    assert {name: one.values["number"] for name, one in found.items()} == {"a1": 1, "a2": 2, "a3": 1, "b1": 1, "b2": 1}
    assert len(rendered) == times


@pytest.mark.parametrize("case", CASES)
def test_a_template_is_compiled_once_however_many_hosts_it_is_rendered_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    template, expected, _ = CASES[case]
    compiled: list[str] = []

    def counted(self: Any, source: Any, *given: Any, compile_it: Any = AnsibleEnvironment.from_string) -> Any:
        compiled.append(str(source))
        return compile_it(self, source, *given)

    monkeypatch.setattr(AnsibleEnvironment, "from_string", counted)
    site = Site(
        tmp_path, {"own/hosts.yml": HOSTS, "own/group_vars/all.yml": f'through: "{{{{ row }}}}-{{{{ number }}}}"\nrack: "{template}"\n'}
    )
    session = opened(site.folder / "own")
    variables = InventoryVariables(session)
    for name, value in expected.items():
        effective = variables.effective(session.inventory.get_host(name))
        found = render_variables(session.loader, {"rack": effective["rack"]}, effective, lambda _: ("", 0))
        assert str(found.values["rack"]) == value
    assert sorted(compiled) == sorted(set(compiled))
    assert template in compiled


def test_what_cannot_be_rendered_is_a_problem_of_every_host_of_the_class(tmp_path: Path) -> None:
    site = Site(tmp_path, {"own/hosts.yml": HOSTS, "own/group_vars/rack_a.yml": "su: '{{ nowhere }}'\n"})
    with pytest.raises(SpecInvalidError, match=r"su: its template reads what is not set.*\(a1 and 2 more\)"):
        list_hosts([site.folder / "own"])


def test_an_extra_variable_wins_over_all_others(tmp_path: Path) -> None:
    site = Site(tmp_path)
    assert {n.place.rack for n in site.nodes(extra_vars=["rack=chosen"])} == {"chosen"}


def opened(layer: Path) -> Session:
    """A session of one layer in this process, without the global set-up of the worker."""
    loader = DataLoader()
    inventory = SourceManager(loader)
    inventory.read([str(layer)])
    variables = VariableManager(loader=loader, inventory=inventory)
    return Session(loader, inventory, variables, HostVars(inventory, variables, loader))
