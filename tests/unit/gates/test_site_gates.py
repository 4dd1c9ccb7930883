"""Gates of a site: registered from modules and entry points, planned and judged as clusterctl's own."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters import site_gates
from clusterctl.adapters.config import read_config
from clusterctl.adapters.site_gates import load_site_gates
from clusterctl.core.gates import registry
from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.errors import ConfigError
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl.workflows import doctor
from support.gates import SOURCE, TODAY, gates, node, plan, record
from support.site_gate import Fans

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODULE = """
import json

from clusterctl.core.gates.node_gate import NodeGate
from clusterctl.core.gates.settings import GateSettings
from clusterctl.core.parsers import UnparsableError
from clusterctl.model.gate_result import Sample


class FanSettings(GateSettings):
    seconds: int = 5


class Fans(NodeGate):
    name = "site_fans"
    settings_model = FanSettings
    tool = "site_fans"
    units = {"speed": "rpm"}

    def argv(self, settings, level, subject):
        return ("fans", "--seconds", str(settings.seconds))

    def samples(self, text):
        try:
            return tuple(Sample("speed", float(v), "rpm", device=k) for k, v in json.loads(text).items())
        except ValueError as e:
            raise UnparsableError(tool="fans", reason=str(e)) from e

    def hint(self, result):
        return f"replace {result.device}"


GATES = [Fans()]
"""
AT = "/broken_gates_of_a_test.py:14: Fans: "
FLOOR = {"gate": "site_fans", "metric": "speed", "kind": "floor", "value": 9000.0, "unit": "rpm", **SOURCE}


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(registry, "_gates", dict(registry._gates))
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    (tmp_path / "site_gates_of_a_test.py").write_text(MODULE)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def declared(**changes: Any) -> dict[str, Any]:
    levels = {"quick": ["site_fans"], "standard": ["site_fans"], "full": ["site_fans"]}
    return gates(**{"gates_levels": levels, "gates_baselines": [FLOOR], "gates_settings": {"site_fans": {"seconds": 9}}, **changes})


def test_a_gate_of_a_module_is_planned_and_judged(plugins: Path) -> None:
    load_site_gates(["site_gates_of_a_test"], plugins)
    load_site_gates(["site_gates_of_a_test"], plugins)
    one = node("n1", declared=declared())
    assert plan([one], ["site_fans"]).steps["n1"][0].argv == ("fans", "--seconds", "9")
    for text, outcome, reason in (
        ({"fan0": 9100, "fan1": 9500}, Outcome.PASS, None),
        ({"fan0": 9100, "fan1": 8000}, Outcome.FAIL, GateReason.BELOW_FLOOR),
        ("x", Outcome.COULD_NOT_RUN, GateReason.UNPARSABLE),
    ):
        output = text if isinstance(text, str) else json.dumps(text)
        (result,) = judge([subject_of(one, TODAY)], [record("site_fans", "n1", output)], level="standard", gates=["site_fans"])
        assert (result.outcome, result.reason) == (outcome, reason)
        if outcome is Outcome.FAIL:
            assert (result.device, result.value, result.hint) == ("fan1", 8000.0, "replace fan1")


def test_a_tool_that_no_role_installs_is_to_be_installed(plugins: Path) -> None:
    load_site_gates(["site_gates_of_a_test"], plugins)
    absent = record("site_fans", "n1", "", exit_status=None, error="fans: not installed", error_code=GateReason.NOT_INSTALLED)
    (result,) = judge([subject_of(node("n1", declared=declared()), TODAY)], [absent], level="quick", gates=["site_fans"])
    assert (result.outcome, result.reason) == (Outcome.COULD_NOT_RUN, GateReason.NOT_INSTALLED)
    assert "install it on the node" in result.hint


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"gates_settings": {"site_fans": {"minutes": 1}}}, "gates_settings.site_fans.minutes: unknown key"),
        ({"gates_baselines": [{**FLOOR, "unit": "Hz"}]}, "unit: 'Hz'; speed is in rpm"),
        ({"gates_baselines": []}, "no floor for site_fans"),
    ],
)
def test_settings_and_baselines_of_a_sites_gate_are_checked(plugins: Path, changes: dict[str, Any], problem: str) -> None:
    load_site_gates(["site_gates_of_a_test"], plugins)
    with pytest.raises(ConfigError) as refused:
        profile_of(node("n1", declared=declared(**changes)), TODAY)
    assert problem in str(refused.value)


def test_without_its_module_the_gate_is_unknown(plugins: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        profile_of(node("n1", declared=declared()), TODAY)
    assert "gates_levels.quick[0]: unknown gate 'site_fans'" in str(refused.value)
    assert "gates_settings.site_fans: unknown gate" in str(refused.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "has no list GATES"),
        ("GATES = ['fans']", "'fans' is not a gate"),
        (MODULE + "\nGATES = [Fans]", "is not a gate"),
        (MODULE.replace('"site_fans"', '"dcgm_diag"'), "two gates are called 'dcgm_diag'"),
        ("import no_such_module_at_all", "needs 'no_such_module_at_all'"),
        ("GATES = [", "cannot be imported"),
        (MODULE.replace("def argv", "def argvs"), "/broken_gates_of_a_test.py:33: TypeError: Can't instantiate abstract class Fans"),
        ("\n\n1 / 0", "/broken_gates_of_a_test.py:3: ZeroDivisionError"),
        (
            MODULE.replace("self, settings, level, subject", "self, settings"),
            f"{AT}argv cannot be called as gates are: too many positional",
        ),
        (
            MODULE.replace("self, settings, level, subject", "self, settings, level, subject, more"),
            f"{AT}argv cannot be called as gates are: missing",
        ),
        (MODULE.replace("def samples(self, text)", "def samples(text)"), f"{AT}samples cannot be called as gates are: too many positional"),
        (MODULE.replace('tool = "site_fans"', "tool = 5"), f"{AT}no parser reads 5"),
        (MODULE.replace("settings_model = FanSettings", "settings_model = dict"), f"{AT}settings_model is <class 'dict'>"),
        (MODULE.replace("seconds: int = 5", "seconds: int"), f"{AT}setting seconds has no default"),
        (MODULE.replace("    def hint(self, result):", "    hint = 5\n\n    def other(self, result):"), f"{AT}hint is 5, no method"),
    ],
)
def test_what_is_wrong_with_a_module_is_named(plugins: Path, content: str, problem: str) -> None:
    (plugins / "broken_gates_of_a_test.py").write_text(content)
    with pytest.raises(ConfigError) as refused:
        load_site_gates(["broken_gates_of_a_test"], plugins)
    assert problem in str(refused.value)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        ('"fans --seconds 5"', "argv of step 'solo' is 'fans --seconds 5', no tuple of texts"),
        ('("fans", settings.seconds)', "argv of step 'solo' is ('fans', 9), no tuple of texts"),
        ("()", "argv of step 'solo' is ()"),
        ("None", "argv of step 'solo' is None"),
        ("settings.minutes", "/broken_gates_of_a_test.py:14: Fans: planning it raised AttributeError"),
    ],
)
def test_a_command_line_that_is_none_is_refused_before_anything_is_measured(plugins: Path, returned: str, problem: str) -> None:
    module = MODULE.replace('("fans", "--seconds", str(settings.seconds))', returned)
    (plugins / "broken_gates_of_a_test.py").write_text(module)
    load_site_gates(["broken_gates_of_a_test"], plugins)
    with pytest.raises(ConfigError) as refused:
        plan([node("n1", declared=declared())], ["site_fans"])
    assert problem in str(refused.value)
    assert refused.value.hint


def test_the_class_of_a_gate_is_looked_at_without_running_its_code() -> None:
    class Property(Fans):
        name = "site_property"

        @property
        def hint(self) -> Any:
            raise KeyError

    with pytest.raises(ConfigError, match=r"hint is .*no method"):
        registry.register(Property())
    registry.register(type("Static", (Fans,), {"name": "site_static", "samples": staticmethod(lambda _text: ())})())
    registry._gates.pop("site_static")


def test_doctor_names_the_file_of_a_gate(plugins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (plugins / "plugins").mkdir()
    (plugins / "plugins" / "broken_gates_of_a_test.py").write_text(MODULE.replace("self, settings, level, subject", "self, settings"))
    (plugins / "clusterctl.yml").write_text("gates: [broken_gates_of_a_test]\n")
    found = doctor._gates(read_config(start=plugins))
    assert (found.ok, AT in found.found) == (False, True)


def offered(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setattr(site_gates, "entry_points", lambda group: [metadata.EntryPoint("fans", value, group)])


def test_a_gate_of_an_installed_package_is_registered(plugins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (plugins / "package_of_a_test.py").write_text(MODULE + "\nFANS = GATES[0]\n")
    monkeypatch.syspath_prepend(plugins)
    offered(monkeypatch, "package_of_a_test:FANS")
    load_site_gates([], None)
    assert "site_fans" in registry.gate_names()


@pytest.mark.parametrize(
    "value", ["no_such_package_of_a_test:FANS", "clusterctl.core.gates.registry:FANS", "clusterctl.core.gates.registry"]
)
def test_an_installed_package_that_offers_no_gate_is_named(plugins: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    offered(monkeypatch, value)
    with pytest.raises(ConfigError) as refused:
        load_site_gates([], None)
    assert "gate 'fans' does not load" in str(refused.value) or "is not a gate" in str(refused.value)
