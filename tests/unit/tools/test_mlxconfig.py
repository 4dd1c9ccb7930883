from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_tools import mlxconfig
from support.recorded import recorded

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


@pytest.mark.parametrize("file", ["mlxconfig/jiegec-cx4-L19.txt", "mlxconfig/jiegec-cx4-L88.txt"])
def test_the_listing_of_a_set_is_not_taken_for_a_query(file: str) -> None:
    text = recorded(file).read_text()
    with pytest.raises(mlxconfig.UnreadableConfigurationError):
        mlxconfig.parse_configuration(text)


def test_touching_and_overflowing_columns() -> None:
    assert mlxconfig.parse_configuration(NARROW)["ICM_CACHE_MODE"] == mlxconfig.Parameter(*["DEVICE_DEFAULT(0)"] * 3)
    wide = mlxconfig.parse_configuration(WIDE)
    assert wide["NUM_OF_VFS"] == mlxconfig.Parameter("8", "0", "0")
    assert wide["PCI_ATOMIC_MODE"].next_boot == "PCI_ATOMIC_DISABLED_EXT_ATOMIC_ENABLED(0)"
    assert wide["NUM_PF_MSIX"].current == "0x3f"


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
    assert mlxconfig.same(declared, printed) is equal


@given(st.text(max_size=400))
def test_garbage_is_refused_or_has_three_columns(text: str) -> None:
    try:
        rows = mlxconfig.parse_configuration("Configurations:    Default   Current   Next Boot\n" + text)
    except mlxconfig.UnreadableConfigurationError:
        return
    assert all(row.default and row.current and row.next_boot for row in rows.values())
