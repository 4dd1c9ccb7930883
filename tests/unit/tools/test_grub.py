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


# In the order of a grub.cfg that Boot-Info of an Ubuntu machine shows (ubuntuforums.org, 2024-01-24): 10_linux, 20_memtest86+, 30_os-prober,
# 30_uefi-firmware; the entries of Ubuntu 22.04's memtest86+ 5.31 and of 40_custom have no id.
OTHERS = """menuentry "Memory test (memtest86+x64.efi)" --class memtest $menuentry_id_option 'memtest86+' {
        linux	/boot/memtest86+x64.efi
}
menuentry 'Memory test (memtest86+, serial console 115200)' {
	linux16	/boot/memtest86+.bin console=ttyS0,115200n8
}
menuentry 'iPXE Environment' {
  linux16 /boot/ipxe.lkrn
}
submenu 'Advanced options (on /dev/sdb2)' $menuentry_id_option 'osprober-gnulinux-advanced-b' {
	menuentry 'Debian (on /dev/sdb2)' $menuentry_id_option 'osprober-gnulinux-/boot/vmlinuz-6.1.0-20-amd64--b' {
		linux	/boot/vmlinuz-6.1.0-20-amd64 root=/dev/sdb2
	}
}
if [ "$grub_platform" = "efi" ]; then
	menuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {
		fwsetup
	}
fi
menuentry "Site's own" --id=own {
	linux /vmlinuz-6.8.0-60-generic root=/dev/sda1 ro quiet
}
menuentry 'It'\\''s a > b' {
	linux /vmlinuz-6.8.0-60-generic root=/dev/sda1 ro quiet
}
"""


def test_entries_that_start_no_kernel_of_the_system_get_none_of_its_arguments() -> None:
    entries = grub.parse_menu(MENU.format(default="0") + OTHERS)
    assert {e.args for e in grub.unattended(entries)} == {"root=/dev/sda1 ro quiet"}
    assert [e.id for e in entries[3:]] == [
        "memtest86+",
        "Memory test (memtest86+, serial console 115200)",
        "iPXE Environment",
        "osprober-gnulinux-advanced-b>osprober-gnulinux-/boot/vmlinuz-6.1.0-20-amd64--b",
        "own",
        "It's a >> b",
    ]


@pytest.mark.parametrize(
    "default",
    [
        "Advanced options>Ubuntu, with Linux 6.8.0-46-nvidia",
        "gnulinux-advanced-a>Ubuntu, with Linux 6.8.0-46-nvidia",
        "1>0",
        "Advanced options>0",
    ],
)
def test_a_default_by_title_or_position(default: str) -> None:
    """As administrators write it; GRUB compares title and id (menuentry_eq of grub-core/normal/menu.c) and reads a number as a position."""
    assert grub.default_kernel(MENU.format(default=default)) == "/vmlinuz-6.8.0-46-nvidia"
    assert grub.default_kernel(SAVING, f"saved_entry={default}\n") == "/vmlinuz-6.8.0-46-nvidia"


def test_a_title_with_quote_and_angle() -> None:
    assert grub.default_kernel(MENU.format(default="It's a >> b") + OTHERS) == "/vmlinuz-6.8.0-60-generic"


@pytest.mark.parametrize("default", ["1", "1>2>0", "7", "6", "Ubuntu, with Linux 6.8.0-46-nvidia"])
def test_a_default_that_names_no_entry(default: str) -> None:
    """A submenu alone, too deep, behind an entry that depends on the firmware or that entry itself, and without its submenu."""
    with pytest.raises(grub.UnknownDefaultError, match="matches no entry"):
        grub.default_kernel(MENU.format(default=default) + OTHERS)


def test_a_kernel_on_zfs() -> None:
    """10_linux_zfs of Ubuntu writes the path in quotes."""
    menu = 'set default="0"\nmenuentry \'Ubuntu\' {\n\tlinux\t"/BOOT/ubuntu_2cwpns@/vmlinuz-6.2.0-33-generic" root=ZFS="rpool/ROOT/ubuntu_2cwpns" ro\n}\n'
    assert grub.default_kernel(menu) == "/BOOT/ubuntu_2cwpns@/vmlinuz-6.2.0-33-generic"
    assert grub.entry_of_release(menu, "6.2.0-33-generic") == "Ubuntu"
