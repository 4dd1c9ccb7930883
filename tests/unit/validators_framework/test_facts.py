from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_tools.package_list import Package, parse_dpkg, parse_rpm
from clusterctl_tools.systemctl import Unit, UnreadableUnitsError, parse_units
from clusterctl_validators.facts import Mount, parse_mounts


def test_dpkg() -> None:
    text = (
        "bash\t5.2-1\tinstall\tinstalled\n"
        "nvidia-open\t580.1\thold\tinstalled\n"
        "gone\t1.0\tdeinstall\tconfig-files\n"
        "libc6\t2.36\tinstall\tinstalled\n"
        "libc6\t\tunknown\tnot-installed\n"
    )
    assert parse_dpkg(text) == {
        "bash": Package("5.2-1", held=False, installed=True),
        "nvidia-open": Package("580.1", held=True, installed=True),
        "gone": Package("1.0", held=False, installed=False),
        "libc6": Package("2.36", held=False, installed=True),
    }


@pytest.mark.parametrize("state", ["triggers-awaited", "triggers-pending"])
def test_a_package_that_waits_for_a_trigger_is_configured(state: str) -> None:
    """dpkg(1), package states. A run of apt that was killed at its end leaves initramfs-tools and libc-bin in them."""
    assert parse_dpkg(f"nvidia-open\t580.1\thold\t{state}\n") == {"nvidia-open": Package("580.1", held=True, installed=True)}


@pytest.mark.parametrize("state", ["not-installed", "config-files", "half-installed", "unpacked", "half-configured", "of-a-later-dpkg"])
def test_every_other_state_of_a_package_is_none_in_which_it_is_installed(state: str) -> None:
    assert not parse_dpkg(f"nvidia-open\t580.1\thold\t{state}\n")["nvidia-open"].installed


@pytest.mark.parametrize("text", ["bash\n", "bash\t1\n", "a\tb\tc\td\te\n"])
def test_unexpected_dpkg_output_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="not a row of a package list"):
        parse_dpkg(text)


def test_rpm_and_its_locks() -> None:
    locks = "# a comment\nnvidia-driver-3:580.1-1.el9.*\nkernel-6.1-2.el9\n"
    found = parse_rpm("nvidia-driver\t3:580.1-1.el9\nkernel\t6.1-2.el9\nkernel-core\t6.1-2.el9\n", locks)
    assert {n: p.held for n, p in found.items()} == {"nvidia-driver": True, "kernel": True, "kernel-core": False}
    assert found["nvidia-driver"].version == "3:580.1-1.el9"


@given(st.permutations(["5.14.0-427.el9", "5.14.0-503.el9", "5.14.0-570.el9"]))
def test_every_installed_kernel_of_el_counts(versions: list[str]) -> None:
    """rpm lists them in no order (rpm -qa), so none of them is the version of the package."""
    found = parse_rpm("".join(f"kernel-core\t{v}\n" for v in versions), "")["kernel-core"]
    assert all(found.has(v) for v in versions)
    assert not found.has("5.14.0-611.el9")


def test_mounts() -> None:
    text = "hugetlbfs /mnt/huge\\0401G hugetlbfs rw,relatime,pagesize=1024M 0 0\nserver:/a /data nfs4 ro 0 0\n"
    assert parse_mounts(text) == [
        Mount("hugetlbfs", "/mnt/huge 1G", "hugetlbfs", ("rw", "relatime", "pagesize=1024M")),
        Mount("server:/a", "/data", "nfs4", ("ro",)),
    ]


BLOCKS = """Id=nvidia-persistenced.service
LoadState=loaded
ActiveState=active
UnitFileState=enabled

Id=irqbalance.service
LoadState=masked
ActiveState=inactive
UnitFileState=masked

Id=nosuch.service
LoadState=not-found
ActiveState=inactive
UnitFileState=
"""


def test_units() -> None:
    assert parse_units(["nvidia-persistenced", "irqbalance", "nosuch"], BLOCKS) == {
        "nvidia-persistenced": Unit(active=True, enabled=True, active_state="active", file_state="enabled", load_state="loaded"),
        "irqbalance": Unit(active=False, enabled=False, active_state="inactive", file_state="masked", load_state="masked"),
        "nosuch": Unit(active=False, enabled=False, active_state="inactive", file_state="", load_state="not-found"),
    }


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c", "d"]])
def test_a_wrong_number_of_units_is_an_error(names: list[str]) -> None:
    with pytest.raises(UnreadableUnitsError, match="units requested"):
        parse_units(names, BLOCKS)
