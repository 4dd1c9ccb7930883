from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_tools.kernel_cmdline import as_words, declared_values, kernel_words, managed, parse, parse_canonical


def test_cmdline() -> None:
    text = 'BOOT_IMAGE=/vmlinuz quiet hugepagesz=1G hugepages=64 hugepagesz=2M hugepages=0 dyndbg="file a.c +p" "spaced=a b" empty=\n'
    assert parse(text) == {
        "BOOT_IMAGE": ["/vmlinuz"],
        "quiet": [None],
        "hugepagesz": ["1G", "2M"],
        "hugepages": ["64", "0"],
        "dyndbg": ["file a.c +p"],
        "spaced": ["a b"],
        "empty": [""],
    }


def test_what_follows_two_dashes_is_for_init() -> None:
    """parse_args of the kernel stops there (kernel/params.c); the line is of a machine on ubuntuforums.org, whose owner meant it for the kernel."""
    text = "BOOT_IMAGE=/vmlinuz root=ZFS=rpool/ROOT/a ro -- splash kvm-intel.nested=1 intel_idle.max_cstate=4 intel_iommu=on iommu=pt\n"
    assert parse(text) == {
        "BOOT_IMAGE": ["/vmlinuz"],
        "root": ["ZFS=rpool/ROOT/a"],
        "ro": [None],
        # modprobe and dracut read the whole line themselves
        "kvm-intel.nested": ["1"],
        "intel_idle.max_cstate": ["4"],
    }
    assert kernel_words('a "--" --x --=1 b') == ["a", '"--"', "--x", "--=1", "b"]


WORD = st.text(
    st.characters(codec="ascii", exclude_characters=' "=\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f', categories=["L", "N", "P", "S"]), min_size=1
)


@given(st.lists(st.tuples(WORD, st.none() | WORD)))
def test_cmdline_round_trip(words: list[tuple[str, str | None]]) -> None:
    words = [(n, v) for n, v in words if (n, v) != ("--", None)]
    text = " ".join(n if v is None else f"{n}={v}" for n, v in words)
    flat = [(n, v) for n, values in parse(text).items() for v in values]
    assert sorted(flat, key=str) == sorted(words, key=str)


def test_spellings_of_a_name_are_one_parameter() -> None:
    assert parse_canonical("intel-iommu=on intel_iommu=off quiet") == {"intel_iommu": ["on", "off"], "quiet": [None]}


def test_declared_values() -> None:
    assert [declared_values(v) for v in (False, True, 0, "a", ["a", 1])] == [[], [None], ["0"], ["a"], ["a", "1"]]
    assert [as_words("x", declared_values(v)) for v in (False, True, ["a", "b"])] == ["(absent)", "x", "x=a x=b"]


@pytest.mark.parametrize(
    ("declared", "line", "left"),
    [
        ("realloc=off", "pci=realloc=off", "pci=realloc=off"),
        # As rdma_topo writes it for GPUDirect (linux-rdma/rdma-core, kernel-boot/rdma_topo).
        ("realloc=off", "pci=config_acs=xx111x0@0008:00:00.0;xx110x1@0008:02:00.0 pci=realloc=off", "pci=realloc=off"),
        ("realloc=off", 'pci=realloc=off pci=config_acs="xx111x0@0008:00:00.0;xx110x1@0008:02:00.0"', "pci=realloc=off"),
        ("realloc=off", "pci=noaer,realloc=off", "pci=realloc=off"),
        ("realloc=off", "pci=realloc=on pci=realloc=off", "pci=realloc=on pci=realloc=off"),
        ("realloc=off", "pci=realloc", "pci=realloc"),
        ("realloc=off", "pci=noaer", "(absent)"),
        ("noaer,realloc=off", "pci=realloc=off pci=noaer", "pci=realloc=off pci=noaer"),
        (False, "pci=noaer", "pci=noaer"),
        (["realloc=off", "noaer"], "pci=realloc=off pci=nomsi pci=noaer", "pci=realloc=off pci=noaer"),
    ],
)
def test_options_of_others_stand_beside_the_declared_ones(declared: object, line: str, left: str) -> None:
    assert as_words("pci", managed("pci", declared_values(declared), parse_canonical(line)["pci"])) == left


def test_another_parameter_is_managed_as_a_whole() -> None:
    assert managed("iommu", ["pt"], ["on", "pt"]) == ["on", "pt"]
