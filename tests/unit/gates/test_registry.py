"""The registry of gates: what may be registered, and that the shipped gates agree with the shipped profile."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from clusterctl.core.gates import registry
from clusterctl.core.gates.gate import Gate, Scope
from clusterctl.core.gates.node_gate import NodeGate
from clusterctl.core.gates.rdma_pair import GATE as RDMA_PAIR
from clusterctl.core.gates.settings import GateSettings
from clusterctl.core.parsers import TOOLS
from clusterctl.model.errors import ConfigError
from support.roles import ROOT

if TYPE_CHECKING:
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.level import Level


class Fans(NodeGate[GateSettings]):
    name = "fans"
    settings_model = GateSettings
    tool = "stream"

    def argv(self, settings: GateSettings, level: Level, subject: Subject) -> tuple[str, ...]:
        return ("fans", "--speed")


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_gates", dict(registry._gates))


def test_a_registered_gate_comes_last_in_its_scope() -> None:
    registry.register(Fans())
    assert registry.gate_names(Scope.NODE)[-1] == "fans"
    assert registry.gate_names() == (
        *registry.gate_names(Scope.NODE),
        "rdma_pair",
        "rdma_pair_gpu",
        "rdma_latency",
        "load_errors",
        "nccl_group",
        "storage_throughput",
        "training_proxy",
    )


def test_the_same_gate_twice_is_one() -> None:
    gate = Fans()
    registry.register(gate)
    registry.register(gate)
    assert registry.gate_names().count("fans") == 1


def test_two_gates_of_one_name_are_refused() -> None:
    registry.register(Fans())
    with pytest.raises(ConfigError, match=r"two gates are called 'fans': .*Fans and .*Fans") as refused:
        registry.register(Fans())
    assert "rename" in refused.value.hint


@pytest.mark.parametrize("thing", [Fans, "fans", None, object()])
def test_what_is_no_gate_is_refused(thing: object) -> None:
    with pytest.raises(ConfigError, match="is not a gate") as refused:
        registry.register(thing)
    assert "GATE = MyGate()" in refused.value.hint


class Needs(GateSettings):
    seconds: int


@pytest.mark.parametrize(
    ("attributes", "problem"),
    [
        *(({"name": name}, "is not the name of a gate") for name in ("", "../up", "Fans", "fans-2", None)),
        ({"scope": "node"}, "it has no scope"),
        ({"settings_model": dict}, "settings_model is <class 'dict'>"),
        ({"settings_model": Needs}, "setting seconds has no default"),
        ({"tool": "fans"}, "no parser reads 'fans'"),
        ({"tool": None, "samples": lambda _self, _text: ()}, "no parser reads None"),
    ],
)
def test_a_gate_that_cannot_be_used_is_refused(attributes: dict[str, object], problem: str) -> None:
    gate = type("Odd", (Fans,), attributes)()
    with pytest.raises(ConfigError, match=re.escape(problem)) as refused:
        registry.register(gate)
    assert refused.value.hint
    assert gate not in registry.all_gates()


def test_a_gate_that_parses_for_itself_needs_no_parser_of_ours() -> None:
    registry.register(type("Own", (Fans,), {"tool": "fans", "samples": lambda _self, _text: ()})())
    assert "fans" in registry.gate_names()


def test_an_unknown_gate_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="unknown gate 'rdma_pairs'") as refused:
        registry.gate_named("rdma_pairs")
    assert "rdma_pair_gpu, rdma_latency, load_errors, nccl_group" in refused.value.hint


@pytest.mark.parametrize("gate", registry.all_gates(), ids=lambda g: g.name)
def test_a_shipped_gate_is_complete(gate: Gate[GateSettings]) -> None:
    assert gate.tool in TOOLS
    assert all(isinstance(word, str) for word in gate.version_argv(gate.settings_model()))
    assert not gate.installed_by or (ROOT / "roles" / gate.installed_by).is_dir()
    # without it, results of a simulated tool are not marked
    assert not gate.installed_by or gate.version_argv(gate.settings_model())
    documented = (ROOT / "docs" / "reference" / "gates.md").read_text(encoding="utf-8")
    assert f"| `{gate.name}` |" in documented


def test_the_pair_gate_has_a_unit_for_what_it_judges() -> None:
    assert RDMA_PAIR.unit == "Gb/s"


@pytest.mark.parametrize("gate", [g for g in registry.all_gates() if not g.always], ids=lambda g: g.name)
def test_a_gate_is_measured_alone_by_options_that_name_a_level_with_it(gate: Gate[GateSettings]) -> None:
    words = gate.options.split()
    given = dict(zip(words[::2], words[1::2], strict=True))
    assert given["--gates"] == gate.name
    assert given.get("--level", "standard") in gate.default_levels
