from __future__ import annotations

from typing import Any

import pytest

from support.bios_utils import bios_utils
from support.redfish_tree import invented, recorded_tree

registry = bios_utils("bios_registry")

SUPERMICRO = "/registries/BiosAttributeRegistry.1.0.0.json"


def parsed() -> Any:
    return registry.Registry.parse(invented()["/redfish/v1/Systems/Node.1/Firmware/Registry"])


SPELT = [
    ("ProcCStates", "disable", "Disabled"),
    ("ProcCStates", False, "Disabled"),
    ("ProcCStates", "Enabled", "Enabled"),
    ("QuietBoot", "Disabled", False),
    ("QuietBoot", 1, True),
    ("MemFrequency", "4800", 4800),
    ("MemFrequency", "0x1000", 4096),
    ("NobodyKnows", "as it is", "as it is"),
]
REFUSED = [
    ("ProcCStates", "Disabld", "not one of Enabled, Disabled, Autonomous; did you mean 'Disabled'"),
    ("SysProfile", True, "not one of"),
    ("QuietBoot", "Auto", "neither true nor false"),
    ("MemFrequency", 9000, "not in 3200..5600"),
    ("MemFrequency", "fast", "not a whole number"),
    ("SetupPassword", "secret", "is a password"),
]


@pytest.mark.parametrize(("name", "value", "spelt"), SPELT)
def test_a_value_is_spelled_as_in_the_registry(name: str, value: object, spelt: object) -> None:
    found = parsed().spell(name, value, by_display=False)
    assert (type(found), found) == (type(spelt), spelt)


@pytest.mark.parametrize(("name", "value", "why"), REFUSED)
def test_a_value_outside_the_registry_is_refused(name: str, value: object, why: str) -> None:
    with pytest.raises(registry.ValueRefusedError, match=why):
        parsed().spell(name, value, by_display=False)


def numbered() -> Any:
    values = [{"ValueName": "0", "ValueDisplayName": "Enable"}, {"ValueName": "1", "ValueDisplayName": "Disable"}]
    attributes = [{"AttributeName": n, "Type": "Enumeration", "Value": values} for n in ("Vtd_1E32", "Smt_00CB")]
    return registry.Registry.parse({"RegistryEntries": {"Attributes": attributes}})


def test_display_names_are_recognized_by_the_values() -> None:
    assert numbered().uses_display_names({"Vtd_1E32": "Enable", "Smt_00CB": "Disable"})
    assert not numbered().uses_display_names({"Vtd_1E32": "0", "Smt_00CB": "1"})
    assert not numbered().uses_display_names({})


@pytest.mark.parametrize("value", [True, "Enabled", "enable"])
def test_true_matches_the_display_name_not_the_number(value: object) -> None:
    assert numbered().spell("Vtd_1E32", value, by_display=True) == "Enable"
    assert numbered().spell("Vtd_1E32", value, by_display=False) == "0"


def test_a_number_is_not_a_value_name_with_display_names() -> None:
    with pytest.raises(registry.ValueRefusedError):
        numbered().spell("Vtd_1E32", "1", by_display=True)


def test_a_preset_locks_and_forces_its_children() -> None:
    found = parsed()
    assert found.locks("ProcCStates", {"SysProfile": "PerfOptimized", "ProcCStates": "Disabled"}) == ["SysProfile=PerfOptimized"]
    assert found.locks("ProcCStates", {"SysProfile": "Custom", "ProcCStates": "Disabled"}) == []
    assert found.forced("ProcCStates", {"SysProfile": "PerfOptimized"}) == "Disabled"
    assert found.forced("ProcCStates", {"SysProfile": "Custom"}) is None
    assert found.parents("ProcCStates") == {"SysProfile"}


def test_read_only_without_a_rule_is_permanent() -> None:
    assert parsed().locks("SystemServiceTag", {"SystemServiceTag": "x"}) == ["read-only on this machine"]


def rule(*conditions: tuple[str, str, Any, str | None]) -> Any:
    told = [
        {
            "MapFromAttribute": n,
            "MapFromCondition": how,
            "MapFromProperty": "CurrentValue",
            "MapFromValue": v,
            **({"MapTerms": t} if t else {}),
        }
        for n, how, v, t in conditions
    ]
    dependency = {"MapFrom": told, "MapToAttribute": "Child", "MapToProperty": "GrayOut", "MapToValue": "true"}
    return registry.Registry.parse({"RegistryEntries": {"Dependencies": [{"Dependency": dependency}]}})


TERMS = [
    ([("A", "EQU", 1, None), ("B", "EQU", 1, None)], {"A": 0, "B": 1}, True),
    ([("A", "EQU", 1, None), ("B", "EQU", 1, "AND")], {"A": 0, "B": 1}, False),
    (
        [("A", "EQU", 1, None), ("B", "EQU", 1, "AND"), ("C", "EQU", 1, None), ("D", "EQU", 1, "AND,OR")],
        {"A": 0, "B": 1, "C": 1, "D": 1},
        True,
    ),
    (
        [("A", "EQU", 1, None), ("B", "EQU", 1, "AND"), ("C", "EQU", 1, None), ("D", "EQU", 1, "AND,OR")],
        {"A": 0, "B": 1, "C": 1, "D": 0},
        False,
    ),
    ([("A", "GEQ", 2, None)], {"A": 2}, True),
    ([("A", "LSS", 2, None)], {"A": 2}, False),
    ([("A", "NEQ", "Custom", None)], {}, False),
    ([("A", "GTR", 2, None)], {"A": "many"}, False),
    ([("A", "LIKE", 2, None)], {"A": 2}, False),
]


@pytest.mark.parametrize(("conditions", "state", "holds"), TERMS)
def test_conditions_are_joined_by_their_terms(conditions: list[Any], state: dict[str, Any], holds: bool) -> None:
    assert bool(rule(*conditions).locks("Child", {"Child": 1, **state})) is holds


def test_an_invalid_registry_has_no_attributes() -> None:
    assert registry.Registry.parse({}).attributes == {}
    assert registry.Registry.parse({"RegistryEntries": {"Attributes": [{}], "Dependencies": [{}]}}).rules == ()


def test_a_real_supermicro_registry_uses_display_names() -> None:
    tree = recorded_tree("libredfish-supermicro")
    found = registry.Registry.parse(tree[SUPERMICRO])
    assert found.uses_display_names(tree["/redfish/v1/Systems/1/Bios"]["Attributes"])
    assert found.spell("SNC_F300", "Disabled", by_display=True) == "Disable"
    assert found.spell("Hyper_Threading_ALL__F27F", True, by_display=True) == "Enable"
