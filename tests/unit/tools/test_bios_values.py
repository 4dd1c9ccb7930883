from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_tools import bios

SAME = [
    ("Enabled", "Enable"),
    ("disabled", "Disable"),
    ("1", 1),
    (1, True),
    ("true", True),
    (False, "0"),
    ("NPS1", "nps1"),
    (" Auto ", "Auto"),
    (True, "Enabled"),
    (True, "Yes"),
    (False, "Disabled"),
    (None, None),
]
DIFFERENT = [
    ("Enabled", "Disabled"),
    ("1", "10"),
    (True, "Auto"),
    (True, False),
    (True, 2),
    ("", "0"),
    ("", None),
    (None, "None"),
    ("NPS1", "NPS4"),
    (0, None),
]
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
    assert bios.same(one, other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_values(one: object, other: object) -> None:
    assert not bios.same(one, other)


@pytest.mark.parametrize(("declared", "known", "found"), MATCHES, ids=[m[0] for m in MATCHES])
def test_a_name_is_found_with_and_without_its_suffix(declared: str, known: list[str], found: list[str]) -> None:
    assert bios.matching(declared, known) == found


def test_closest_names() -> None:
    known = ["Hyper_Threading_ALL__F27F", "ProcCStates", "ProcC1E", "SriovGlobalEnable"]
    assert bios.near("HyperThreading", known) == ["Hyper_Threading_ALL__F27F"]
    assert bios.near("ProcCstate", known)[0] == "ProcCStates"
    assert bios.near("Sriov", known) == ["SriovGlobalEnable"]
    assert bios.near("qqqq", known) == []


@given(st.text(alphabet=st.characters(codec="ascii", categories=["L", "N"]), min_size=1), st.integers(0, 0xFFFF))
def test_any_suffix_of_four_hexadecimal_digits_is_the_same_attribute(name: str, suffix: int) -> None:
    assert bios.matching(name, [f"{name}_{suffix:04X}"]) == [f"{name}_{suffix:04X}"]


@pytest.mark.parametrize(("old", "new"), [("1.9", "1.10"), ("01.01.03", "1.5.3"), ("2.0", "2.0.1"), ("1.0a", "1.0b"), ("", "0")])
def test_versions_compare_by_their_numbers(old: str, new: str) -> None:
    assert bios.version_parts(old) < bios.version_parts(new)


VENDORS = [
    ("Dell", "dell"),
    ("Hpe", "hpe"),
    ("Super Micro Computer", "supermicro"),
    ("American Megatrends International LLC", "ami"),
    ("Hewlett-Packard", "hpe"),
    ("Lenovo/XCC", "lenovo"),
    ("Dell(TM)", "dell"),
    ("AMI-Tiger", "ami"),
    ("NVIDIA", "nvidia"),
    ("Dellsystems", ""),
    ("Amiga", ""),
    (None, ""),
    (5, ""),
]


@pytest.mark.parametrize(("name", "vendor"), VENDORS)
def test_a_vendor_is_known_by_the_first_words_of_its_name(name: object, vendor: str) -> None:
    assert bios.vendor_of([name]) == vendor
    assert bios.vendor_of(["", "Contoso", name]) == vendor


def test_the_first_known_name_decides() -> None:
    assert bios.vendor_of(["Lenovo", "Dell"]) == "lenovo"
    assert bios.vendor_of([]) == ""


@given(st.one_of(st.booleans(), st.integers(), st.text()), st.one_of(st.booleans(), st.integers(), st.text()))
def test_same_is_symmetric(one: object, other: object) -> None:
    assert bios.same(one, one)
    assert bios.same(one, other) == bios.same(other, one)
