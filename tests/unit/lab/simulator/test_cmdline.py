from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clusterctl_lab.simulator.cmdline import cmdline_from_grub_cfg, last_value, parse_cmdline


def test_the_first_menu_entry_boots() -> None:
    text = "menuentry 'one' {\n\tlinux\t/boot/vmlinuz-6.1 root=UUID=x ro  iommu=pt\n\tinitrd /boot/i\n}\nmenuentry 'two' {\n linux /boot/vmlinuz-5 ro\n}\n"
    assert cmdline_from_grub_cfg(text) == "BOOT_IMAGE=/boot/vmlinuz-6.1 root=UUID=x ro iommu=pt"


def test_a_file_without_an_entry_has_no_command_line() -> None:
    assert cmdline_from_grub_cfg("set default=0\n") is None


def test_parameters_with_and_without_value_and_in_quotes() -> None:
    assert parse_cmdline('ro iommu=pt foo="a b" console=ttyS0,115200n8') == [
        ("ro", None),
        ("iommu", "pt"),
        ("foo", "a b"),
        ("console", "ttyS0,115200n8"),
    ]


def test_the_last_value_counts() -> None:
    assert last_value("numa_balancing=enable numa_balancing=disable", "numa_balancing") == "disable"
    assert last_value("ro", "numa_balancing") is None


@given(st.text())
def test_any_text_is_parsed(text: str) -> None:
    assert all(isinstance(name, str) for name, _ in parse_cmdline(text))
