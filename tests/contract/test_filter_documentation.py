"""`ansible-doc` knows each filter of the collection, and what each of its parameters means."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

import pytest
from jinja2 import Environment

from support.ansible_doc import ansible_doc
from support.filters import filter_plugin
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

FILTERS: dict[str, Callable[..., Any]] = {
    f"clusterctl.gpu.{name}": function
    for p in sorted((ROOT / "plugins" / "filter").glob("*.py"))
    for name, function in filter_plugin(p.stem).FilterModule().filters().items()
}


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One call for all: each start of ansible-doc takes seconds."""
    return ansible_doc("filter", FILTERS, tmp_path_factory.mktemp("ansible"))


def test_each_filter_is_known(known: dict[str, Any]) -> None:
    assert set(FILTERS) - set(known) == set()


def test_each_parameter_is_described(known: dict[str, Any]) -> None:
    wrong = []
    for name, function in FILTERS.items():
        first, *others = inspect.signature(function).parameters
        options = known[name]["doc"]["options"]
        optional = {p.name for p in inspect.signature(function).parameters.values() if p.default is not inspect.Parameter.empty}
        if set(options) != {"_input", *others} or known[name]["doc"].get("positional", "") != ", ".join(others):
            wrong.append(f"{name}: {first}, {others}: documented {sorted(options)}")
        wrong += [f"{name}.{o}: no description" for o, about in options.items() if not "".join(about["description"]).strip()]
        wrong += [f"{name}.{o}: required" for o, about in options.items() if about.get("required", False) != (o not in optional)]
    assert wrong == []


def test_each_result_is_described_and_typed(known: dict[str, Any]) -> None:
    results = {name: known[name]["return"]["_value"] for name in FILTERS}
    assert [n for n, value in results.items() if not "".join(value["description"]).strip() or not value["type"]] == []


def test_each_example_is_yaml_with_an_expression_of_the_filter(known: dict[str, Any]) -> None:
    jinja = Environment(autoescape=True)
    for name in FILTERS:
        value = load_yaml(known[name]["examples"])["result"]
        jinja.parse(value)
        assert name in value


def test_no_markup_is_left_open(known: dict[str, Any]) -> None:
    assert [name for name in FILTERS if "`" in json.dumps(known[name]["doc"])] == []
