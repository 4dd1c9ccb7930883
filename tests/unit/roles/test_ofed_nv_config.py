from __future__ import annotations

from typing import Any

import pytest

from clusterctl_tools.mlxconfig import refused_parameter
from support.filters import filter_plugin

plugin = filter_plugin("ofed_nv_config")
# A value that touches the next one, and one that the next boot changes.
NARROW = """
Device #1:
----------

Device type:    ConnectX7
Configurations:                              Default         Current         Next Boot
*        SRIOV_EN                            False(0)        True(1)         False(0)
         KEEP_LINK_UP_ON_BOOT_P2             False(0)        False(0)        False(0)
         ESWITCH_HAIRPIN_DESCRIPTORS         Array[0..7]     Array[0..7]     Array[0..7]
*        MEMIC_SIZE_LIMIT                    _256KB(1)       _256KB(1)       DISABLED(0)
         LINK_TYPE_P1                        IB(1)           IB(1)           IB(1)
         ICM_CACHE_MODE                      DEVICE_DEFAULT(0)DEVICE_DEFAULT(0)DEVICE_DEFAULT(0)
*        ADVANCED_PCI_SETTINGS               False(0)        False(0)        True(1)
The '*' shows parameters with next value different from default/current value.
"""


def plan(**declared: Any) -> dict[str, Any]:
    result: dict[str, Any] = plugin.plan(declared, NARROW)
    return {key: value for key, value in result.items() if value}


def test_a_parameter_in_force_and_in_the_flash_needs_nothing() -> None:
    assert plan(LINK_TYPE_P1="IB", KEEP_LINK_UP_ON_BOOT_P2=False) == {"readable": True}


def test_only_values_that_the_next_boot_changes_are_set() -> None:
    assert plan(LINK_TYPE_P1=2, MEMIC_SIZE_LIMIT=0, KEEP_LINK_UP_ON_BOOT_P2=True) == {
        "set": ["LINK_TYPE_P1=2", "KEEP_LINK_UP_ON_BOOT_P2=1"],
        "reset": ["MEMIC_SIZE_LIMIT"],
        "readable": True,
    }


def test_a_value_for_the_next_boot_needs_a_reset_only() -> None:
    assert plan(SRIOV_EN=False) == {"reset": ["SRIOV_EN"], "readable": True}
    assert plugin.pending({"text": NARROW, "link_layer": ""}, {"SRIOV_EN": 0}) == ["SRIOV_EN"]


def test_a_value_that_the_next_boot_would_change_is_set_again() -> None:
    assert plan(SRIOV_EN=True) == {"set": ["SRIOV_EN=1"], "readable": True}


def test_what_waits_is_named_with_both_values() -> None:
    answers = [{"address": "0000:18:00.0", "link_layer": "", "text": NARROW}, {"address": "0000:3d:00.0", "link_layer": "", "text": ""}]
    assert plugin.waiting(answers, {"SRIOV_EN": False, "MEMIC_SIZE_LIMIT": "DISABLED", "LINK_TYPE_P1": "IB"}) == [
        "0000:18:00.0 SRIOV_EN: True(1) in force, False(0) stored",
        "0000:18:00.0 MEMIC_SIZE_LIMIT: _256KB(1) in force, DISABLED(0) stored",
    ]
    assert plugin.waiting(answers, {"SRIOV_EN": True, "LINK_TYPE_P1": "ETH"}) == [], "not stored yet"


def test_an_unknown_parameter_is_named() -> None:
    assert plan(NO_SUCH_THING=1, SRIOV_EN=0) == {"reset": ["SRIOV_EN"], "missing": ["NO_SUCH_THING"], "readable": True}


def test_a_hidden_parameter_waits_for_the_reset_that_reveals_it() -> None:
    assert plan(ADVANCED_PCI_SETTINGS=True, MAX_ACC_OUT_READ=44) == {
        "reset": ["ADVANCED_PCI_SETTINGS"],
        "waiting": ["MAX_ACC_OUT_READ"],
        "readable": True,
    }


def test_a_hidden_parameter_does_not_wait_forever() -> None:
    unlocked = NARROW.replace("False(0)        False(0)        True(1)", "False(0)        True(1)         True(1)")
    assert plugin.plan({"ADVANCED_PCI_SETTINGS": 1, "MAX_ACC_OUT_READ": 44}, unlocked)["missing"] == ["MAX_ACC_OUT_READ"]
    assert plugin.plan({"ADVANCED_PCI_SETTINGS": 0, "MAX_ACC_OUT_READ": 44}, NARROW)["missing"] == ["MAX_ACC_OUT_READ"]


def test_a_device_that_gives_no_configuration_is_not_readable() -> None:
    for text in ("", "-E- Failed to open device: 0000:18:00.0. Cannot open device\n"):
        said = plugin.plan({"SRIOV_EN": 0}, text)
        assert said["readable"] is False
        assert said["missing"] == ["SRIOV_EN"]


@pytest.mark.parametrize(
    "words",
    [
        "-E- The Device doesn't support X_Y parameter",
        "-E- Unknown Parameter: X_Y",
        "-E- Failed to find Param / TLV with name 'X_Y' port 0 module -1",
    ],
)
def test_a_parameter_for_which_the_tool_refuses_the_query(words: str) -> None:
    assert refused_parameter(words) == "X_Y"
    assert refused_parameter("-E- Failed to open device") == ""
    refusal = {"item": {"address": "0000:18:00.0", "link_layer": "InfiniBand"}, "rc": 3, "stdout": words, "stderr": ""}
    whole = {"item": {"address": "0000:3d:00.0", "link_layer": "InfiniBand"}, "rc": 0, "stdout": NARROW, "stderr": ""}
    broken = {"item": {"address": "0000:50:00.0"}, "rc": 3, "stdout": "", "stderr": "-E- Failed to open device"}
    named = [refusal, whole, broken, {"item": {"address": "0000:5e:00.0"}, "skipped": True}]
    assert plugin.refused(named) == [refusal]
    single = [{"item": [refusal, "X_Y"], "stdout": words, "stderr": ""}, {"item": [refusal, "SRIOV_EN"], "stdout": NARROW, "stderr": ""}]
    answers = plugin.answers_of_devices(named, single)
    assert [a["address"] for a in answers] == ["0000:18:00.0", "0000:3d:00.0", "0000:50:00.0"]
    plans = [plugin.plan({"X_Y": 1, "SRIOV_EN": 0}, a["text"], a["link_layer"]) for a in answers]
    assert [(p["readable"], p["missing"], p["reset"]) for p in plans] == [
        (True, ["X_Y"], ["SRIOV_EN"]),
        (True, ["X_Y"], ["SRIOV_EN"]),
        (False, ["X_Y", "SRIOV_EN"], []),
    ]
    assert answers[2]["error"] == "-E- Failed to open device"


@pytest.mark.parametrize(
    ("declared", "link_layer", "missing"),
    [
        ("ETH", "Ethernet", []),
        (2, "Ethernet", []),
        ("IB", "Ethernet", ["LINK_TYPE_P1"]),
        ("IB", "InfiniBand", []),
        ("ETH", "", ["LINK_TYPE_P1"]),
    ],
)
def test_an_adapter_with_one_link_type_lacks_the_parameter(declared: Any, link_layer: str, missing: list[str]) -> None:
    text = NARROW.replace("LINK_TYPE_P1", "OTHER_THING1")
    said = plugin.plan({"LINK_TYPE_P1": declared, "SRIOV_EN": 0}, text, link_layer)
    assert (said["missing"], said["set"], said["reset"]) == (missing, [], ["SRIOV_EN"])


CARDS = {
    "mlx5_0": {"address": "0000:18:00.0"},
    "mlx5_1": {"address": "0000:2a:00.0"},
    "mlx5_2": {"address": "0000:2a:00.1"},
}
PENDING_LINK = NARROW.replace(
    "LINK_TYPE_P1                        IB(1)           IB(1) ", "LINK_TYPE_P1                        IB(1)           ETH(2)"
)


@pytest.mark.parametrize(
    ("declared", "text", "devices"),
    [
        ({"LINK_TYPE_P1": "ETH", "SRIOV_EN": True}, NARROW, ["mlx5_1", "mlx5_2"]),
        ({"LINK_TYPE_P1": "IB", "KEEP_LINK_UP_ON_BOOT_P2": True}, NARROW, []),
        ({"LINK_TYPE_P1": "IB"}, PENDING_LINK, ["mlx5_1", "mlx5_2"]),
        ({"LINK_TYPE_P1": "IB"}, "-E- The Device doesn't support LINK_TYPE_P1 parameter", []),
    ],
    ids=["changes", "has it", "the next boot changes it", "one link type"],
)
def test_a_link_type_belongs_to_all_ports_of_the_card(declared: dict[str, Any], text: str, devices: list[str]) -> None:
    answers = [
        {"address": "0000:2a:00.1", "text": text, "link_layer": "Ethernet"},
        {"address": "0000:18:00.0", "text": NARROW.replace("IB(1)", "ETH(2)") if "ETH" in declared.values() else NARROW, "link_layer": ""},
    ]
    assert plugin.relinked(answers, declared, CARDS) == devices
