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


ONCE = 'if [ "${next_entry}" ] ; then\n   set default="${next_entry}"\nelse\n   set default="${saved_entry}"\nfi\n'
SAVING = ONCE + MENU.format(default="unused")
NVIDIA = "gnulinux-advanced-a>gnulinux-6.8.0-46-nvidia-advanced-a"


@pytest.mark.parametrize(
    ("grubenv", "kernel"),
    [
        ("", "/vmlinuz-6.8.0-60-generic"),
        ("# GRUB Environment Block\nnext_entry=x\n###", "/vmlinuz-6.8.0-60-generic"),
        (f"# GRUB Environment Block\nsaved_entry={NVIDIA}\n###", "/vmlinuz-6.8.0-46-nvidia"),
    ],
)
def test_the_saved_entry_is_the_default(grubenv: str, kernel: str) -> None:
    """GRUB starts the first entry where nothing is saved."""
    assert grub.starts_saved_entry(SAVING)
    assert grub.default_kernel(SAVING, grubenv) == kernel


def test_a_saved_entry_that_is_gone() -> None:
    with pytest.raises(grub.UnknownDefaultError, match="gnulinux-removed"):
        grub.default_kernel(SAVING, "saved_entry=gnulinux-removed\n")


def test_a_menu_with_a_fixed_default_starts_no_saved_entry() -> None:
    assert not grub.starts_saved_entry(MENU.format(default="0"))
    assert not grub.starts_saved_entry("")


@pytest.mark.parametrize("reason", ["diskfilter", "lvm", "btrfs"])
def test_storage_that_grub_cannot_write(reason: str) -> None:
    """The comment that 00_header of Ubuntu and Debian leaves in the menu."""
    text = (
        f"function recordfail {{\n  set recordfail=1\n  # GRUB lacks write support for {reason}, so recordfail support is disabled.\n}}\n"
    )
    assert grub.read_only_storage(text) == reason
    assert grub.read_only_storage(MENU) == ""


def test_the_entry_of_a_release_is_one_that_names_it() -> None:
    """The first entry of the menu starts the newest kernel, which another one may be tomorrow."""
    menu = MENU.format(default="0")
    assert grub.entry_of_release(menu.replace("6.8.0-60-generic", "6.8.0-46-nvidia"), "6.8.0-46-nvidia") == NVIDIA
    assert grub.entry_of_release(menu, "6.8.0-60-generic") == "gnulinux-simple-a"
    assert grub.entry_of_release(menu, "5.15.0-1-generic") == ""
