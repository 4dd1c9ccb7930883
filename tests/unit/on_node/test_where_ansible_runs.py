"""Where Ansible runs, and why not on the node."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.adapters.on_node.controller_roles import controller_needs, playbook_order
from clusterctl.core.where_ansible_runs import ControllerNeeds, apply_parts, node_problem, run_problem
from clusterctl.model.node import Connection, Node, NodeSpec, Place
from support.plain_yaml import load_yaml
from support.roles import ROOT

ORDER = ("hardware", "bios", "kernel", "ofed", "gpu_tools", "monitoring")
NODE = Node("n1", (), Connection("192.0.2.1"), Place(), NodeSpec({}, {}, (), "d"))


def reached(**connection: object) -> Node:
    return replace(NODE, connection=replace(NODE.connection, **connection))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("node", "python", "problem"),
    [
        (NODE, "", ""),
        (NODE, "3.11.2", ""),
        (NODE, "3.14.0", ""),
        (NODE, "3.10.12", "its Python 3.10 is older than 3.11"),
        (NODE, "3.9.18", "its Python 3.9 is older than 3.11"),
        (reached(kind="local"), "3.11.2", "it is reached by local"),
        (reached(user="ops"), "3.11.2", "it is not changed as root"),
        (reached(user="ops", become=True), "3.11.2", ""),
        (reached(user="ops", become=True, become_user="svc"), "3.11.2", "it is not changed as root"),
        (reached(user="ops", become=True, become_method="su"), "3.11.2", "it becomes root by su"),
    ],
)
def test_a_node(node: Node, python: str, problem: str) -> None:
    assert node_problem(node, python, (3, 11)) == problem


@pytest.mark.parametrize(
    ("words", "extra_vars", "environment", "problem"),
    [
        ((), (), {}, ""),
        (("-e", "a=1"), ("a=1",), {"ANSIBLE_VAULT_PASSWORD_FILE": "x", "ANSIBLE_SSH_ARGS": "", "HOME": "/root"}, ""),
        (("--skip-tags", "x"), (), {}, "--skip-tags is an option of Ansible on the controller"),
        ((), (), {"ANSIBLE_STRATEGY": "free"}, "ANSIBLE_STRATEGY is set for Ansible on the controller"),
    ],
)
def test_a_run(words: tuple[str, ...], extra_vars: tuple[str, ...], environment: dict[str, str], problem: str) -> None:
    assert run_problem(words, extra_vars, environment) == problem


@given(st.permutations([*ORDER, "site_first", "site_last"]), st.sets(st.sampled_from(ORDER)))
def test_parts_keep_every_role_once_in_the_order_of_the_playbook(roles: list[str], bound: set[str]) -> None:
    found = apply_parts(roles, ORDER, bound)
    flat = [r for part in found for r in part.roles]
    assert sorted(flat) == sorted(roles)
    assert [r for r in flat if r in ORDER] == list(ORDER)
    assert all(part.on_node == (r not in bound) for part in found for r in part.roles)
    assert all(a.on_node != b.on_node for a, b in itertools.pairwise(found)), "neighbours are joined"


def test_a_role_of_the_site_stands_where_node_roles_has_it() -> None:
    found = apply_parts(["early", "kernel", "late", "monitoring"], ORDER, {"kernel"})
    assert [p.roles for p in found] == [("early",), ("kernel",), ("monitoring", "late")]


@pytest.mark.parametrize(
    ("declared", "needed"),
    [({}, False), ({"a": {}}, False), ({"a": {"x": ""}}, False), ({"a": {"x": "1"}}, True), ({"b": [0]}, True), ({"c": True}, False)],
)
def test_a_role_needs_the_controller_while_something_is_declared(declared: dict[str, object], needed: bool) -> None:
    assert ControllerNeeds(variables=("a", "b")).applies(declared) is needed
    assert ControllerNeeds(always=True).applies(declared)


def test_every_role_that_works_elsewhere_declares_when() -> None:
    """`delegate_to` on a node would run there what is meant for the controller."""
    needs = controller_needs(p.name for p in (ROOT / "roles").iterdir() if (p / "tasks" / "main.yml").is_file())
    assert [role for role, need in needs.items() if need.always and role != "burnin"] == []
    assert {role for role, need in needs.items() if need.variables} == {"bios", "gpu_tools"}


def test_the_declared_variables_are_arguments_of_the_role() -> None:
    for role, need in controller_needs(["bios", "gpu_tools"]).items():
        text = (ROOT / "roles" / role / "meta" / "argument_specs.yml").read_text()
        assert all(f"      {name}:" in text for name in need.variables)


def test_the_role_bios_needs_the_controller_for_all_that_it_manages() -> None:
    """Whatever starts the role's requests to the BMC: a node cannot reach it, and would be refused its address."""
    text = (ROOT / "roles" / "bios" / "vars" / "main.yml").read_text()
    managed = set(re.findall(r"\bbios_\w+", load_yaml(text)["__bios_managed"]))
    assert set(controller_needs(["bios"])["bios"].variables) == managed


def test_the_order_is_that_of_the_playbook() -> None:
    assert playbook_order()[:3] == ("hardware", "bios", "kernel")
