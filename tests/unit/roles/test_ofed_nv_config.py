from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_validators import nv_config
from support.filters import filter_plugin
from support.recorded import recorded

plugin = filter_plugin("ofed_nv_config")
# The two layouts of the tool: columns of 16 and of 21; a value wider than its column, and one that touches the next.
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
WIDE = """
Configurations:                                     Default              Current              Next Boot
*       NUM_OF_VFS                                  8                    0                    0
        PCI_ATOMIC_MODE                             PCI_ATOMIC_DISABLED_EXT_ATOMIC_ENABLED(0) PCI_ATOMIC_DISABLED_EXT_ATOMIC_ENABLED(0) PCI_ATOMIC_DISABLED_EXT_ATOMIC_ENABLED(0)
        RO NUM_PF_MSIX                              0x3f                 0x3f                 0x3f
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
    assert nv_config.refused_parameter(words) == "X_Y"
    assert nv_config.refused_parameter("-E- Failed to open device") == ""
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


@pytest.mark.parametrize("file", ["mlxconfig/jiegec-cx4-L19.txt", "mlxconfig/jiegec-cx4-L88.txt"])
def test_the_listing_of_a_set_is_not_taken_for_a_query(file: str) -> None:
    text = recorded(file).read_text()
    assert plugin.parse(text) == {}
    with pytest.raises(nv_config.UnreadableToolError):
        nv_config.parse_configuration(text)


@pytest.mark.parametrize("text", [NARROW, WIDE])
def test_role_and_validator_parse_the_same(text: str) -> None:
    role = plugin.parse(text)
    assert role
    validator = nv_config.parse_configuration(text)
    assert {n: {"default": p.default, "current": p.current, "next": p.next_boot} for n, p in validator.items()} == role


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


def test_touching_and_overflowing_columns() -> None:
    assert plugin.parse(NARROW)["ICM_CACHE_MODE"] == dict.fromkeys(("default", "current", "next"), "DEVICE_DEFAULT(0)")
    wide = plugin.parse(WIDE)
    assert wide["NUM_OF_VFS"] == {"default": "8", "current": "0", "next": "0"}
    assert wide["PCI_ATOMIC_MODE"]["next"] == "PCI_ATOMIC_DISABLED_EXT_ATOMIC_ENABLED(0)"
    assert wide["NUM_PF_MSIX"]["current"] == "0x3f"


@pytest.mark.parametrize(
    ("declared", "printed", "equal"),
    [
        (1, "True(1)", True),
        (True, "True(1)", True),
        ("true", "True(1)", True),
        ("eth", "ETH(2)", True),
        (2, "ETH(2)", True),
        (1, "ETH(2)", False),
        (False, "True(1)", False),
        (0, "0", True),
        (63, "0x3f", True),
        ("0x3f", "63", True),
        (1, "16", False),
        ("", "0", False),
    ],
)
def test_equal_values(declared: Any, printed: str, equal: bool) -> None:
    assert plugin.same(declared, printed) is equal
    assert nv_config.same(declared, printed) is equal


@given(st.text(max_size=400))
def test_garbage_is_parsed_the_same_and_never_raises(text: str) -> None:
    listing = "Configurations:    Default   Current   Next Boot\n" + text
    rows = plugin.parse(listing)
    if rows:
        assert set(nv_config.parse_configuration(listing)) == set(rows)
    else:
        with pytest.raises(nv_config.UnreadableToolError):
            nv_config.parse_configuration(listing)


def test_firmware_of_a_recorded_bluefield() -> None:
    said = nv_config.parse_firmware(recorded("flint/infra-controller-flint_query.txt").read_text())
    assert said == nv_config.Firmware("24.35.2000", "24.35.2000", "MT_0000000768")


def test_firmware_that_waits_for_a_reset() -> None:
    text = "Image type:            FS4\nFW Version:            20.35.1012\nFW Version(Running):   20.34.1002\nPSID:                  MT_0000000228\n"
    assert nv_config.parse_firmware(text) == nv_config.Firmware("20.35.1012", "20.34.1002", "MT_0000000228")


@pytest.mark.parametrize("text", ["", "FW Version: 28.39.3560\n", "PSID: MT_0000000838\n", "-E- Cannot open Device: mlx5_0\n"])
def test_a_truncated_firmware_query_is_refused(text: str) -> None:
    with pytest.raises(nv_config.UnreadableToolError):
        nv_config.parse_firmware(text)
