from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.bios_utils import bios_utils

names = bios_utils("bios_names")

SAME = [
    ("Enabled", "Enable"),
    ("disabled", "Disable"),
    ("1", 1),
    (1, True),
    ("true", True),
    (False, "0"),
    ("NPS1", "nps1"),
    (" Auto ", "Auto"),
]
DIFFERENT = [("Enabled", "Disabled"), ("1", "10"), (True, "Enabled"), ("", "0"), (None, "None"), ("NPS1", "NPS4"), (0, None)]
MATCHES = [
    ("SMTControl", ["SMTControl_00CB", "SMTControl_703E", "SMTControlX", "xSMTControl"], ["SMTControl_00CB", "SMTControl_703E"]),
    ("SR-IOVSupport", ["SR_IOVSupport_0047", "ARISupport_0049"], ["SR_IOVSupport_0047"]),
    ("Hyper-Threading[ALL]", ["Hyper_Threading_ALL__F27F"], ["Hyper_Threading_ALL__F27F"]),
    ("Intel®VTforDirectedI/O(VT-d)", ["IntelVTforDirectedI_O_VT_d__1E32"], ["IntelVTforDirectedI_O_VT_d__1E32"]),
    ("ProcCStates", ["ProcCStates"], ["ProcCStates"]),
    ("ProcCState", ["ProcCStates"], []),
    ("PackageCState", ["PackageCState_00cb", "PackageCState_00CB1"], []),
    ("Boot_0012", ["Boot_0012", "Boot"], ["Boot_0012"]),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_equal_values_in_two_spellings(one: object, other: object) -> None:
    assert names.same(one, other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_values(one: object, other: object) -> None:
    assert not names.same(one, other)


@pytest.mark.parametrize(("declared", "known", "found"), MATCHES, ids=[m[0] for m in MATCHES])
def test_a_name_is_found_with_and_without_its_suffix(declared: str, known: list[str], found: list[str]) -> None:
    assert names.matching(declared, known) == found


def test_closest_names() -> None:
    known = ["Hyper_Threading_ALL__F27F", "ProcCStates", "ProcC1E", "SriovGlobalEnable"]
    assert names.near("HyperThreading", known) == ["Hyper_Threading_ALL__F27F"]
    assert names.near("ProcCstate", known)[0] == "ProcCStates"
    assert names.near("Sriov", known) == ["SriovGlobalEnable"]
    assert names.near("qqqq", known) == []


@given(st.text(alphabet=st.characters(codec="ascii", categories=["L", "N"]), min_size=1), st.integers(0, 0xFFFF))
def test_any_suffix_of_four_hexadecimal_digits_is_the_same_attribute(name: str, suffix: int) -> None:
    assert names.matching(name, [f"{name}_{suffix:04X}"]) == [f"{name}_{suffix:04X}"]


@given(st.one_of(st.booleans(), st.integers(), st.text()), st.one_of(st.booleans(), st.integers(), st.text()))
def test_same_is_symmetric(one: object, other: object) -> None:
    assert names.same(one, one)
    assert names.same(one, other) == names.same(other, one)
