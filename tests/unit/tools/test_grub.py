from __future__ import annotations

import pytest

from clusterctl_tools import grub

MENU = """set default="{default}"
menuentry 'Ubuntu' --class os $menuentry_id_option 'gnulinux-simple-a' {{
	linux	/vmlinuz-6.8.0-60-generic root=/dev/sda1 ro quiet
}}
submenu 'Advanced options' $menuentry_id_option 'gnulinux-advanced-a' {{
	menuentry 'Ubuntu, with Linux 6.8.0-46-nvidia' $menuentry_id_option 'gnulinux-6.8.0-46-nvidia-advanced-a' {{
		linux	/vmlinuz-6.8.0-46-nvidia root=/dev/sda1 ro quiet
	}}
	menuentry 'Ubuntu (recovery mode)' $menuentry_id_option 'gnulinux-6.8.0-46-nvidia-recovery-a' {{
		linux	/vmlinuz-6.8.0-46-nvidia root=/dev/sda1 ro recovery nomodeset
	}}
}}
"""
GRUBBY = """index=0
kernel="/boot/vmlinuz-5.14.0-503.el9.x86_64"
args="ro crashkernel=1G-2G:192M console=ttyS0"
root="/dev/mapper/root"
index=1
kernel="/boot/vmlinuz-0-rescue"
args="ro single"
"""


def test_entries_have_the_ids_that_grub_default_takes() -> None:
    entries = grub.parse_menu(MENU.format(default="0"))
    assert [e.id for e in entries] == [
        "gnulinux-simple-a",
        "gnulinux-advanced-a>gnulinux-6.8.0-46-nvidia-advanced-a",
        "gnulinux-advanced-a>gnulinux-6.8.0-46-nvidia-recovery-a",
    ]
    assert [e.args for e in grub.unattended(entries)] == ["root=/dev/sda1 ro quiet"] * 2


def test_entries_of_grubby() -> None:
    entries = grub.parse_menu(GRUBBY)
    assert [(e.kernel, e.args) for e in grub.unattended(entries)] == [
        ("/boot/vmlinuz-5.14.0-503.el9.x86_64", "ro crashkernel=1G-2G:192M console=ttyS0")
    ]
    assert len(entries) == 2


@pytest.mark.parametrize(
    ("default", "kernel"),
    [
        ("0", "/vmlinuz-6.8.0-60-generic"),
        ("", "/vmlinuz-6.8.0-60-generic"),
        ("gnulinux-advanced-a>gnulinux-6.8.0-46-nvidia-advanced-a", "/vmlinuz-6.8.0-46-nvidia"),
    ],
)
def test_the_default_kernel(default: str, kernel: str) -> None:
    assert grub.default_kernel(MENU.format(default=default)) == kernel


@pytest.mark.parametrize(
    "text", ["", "set default=0\n", MENU.format(default="${saved_entry}"), MENU.format(default="gone"), 'set default="0"\n']
)
def test_a_menu_that_does_not_show_its_default(text: str) -> None:
    with pytest.raises(grub.UnknownDefaultError):
        grub.default_kernel(text)
