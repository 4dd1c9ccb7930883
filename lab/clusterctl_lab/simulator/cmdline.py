"""The kernel command line of the next boot: what grub.cfg says, as the boot loader would read it."""

from __future__ import annotations

import re

GRUB_CFG = "/boot/grub/grub.cfg"
_LINUX = re.compile(r"^\s*linux(?:efi)?\s+(\S+)\s*(.*)$", re.MULTILINE)
FIRST_BOOT = "BOOT_IMAGE=/boot/vmlinuz-lab root=UUID=5f1c2a9e-12d4-4c63-9a35-6b8d2f0e7c11 ro quiet"


def cmdline_from_grub_cfg(text: str) -> str | None:
    """The command line of the first menu entry; None where there is no entry."""
    found = _LINUX.search(text)
    return " ".join(f"BOOT_IMAGE={found[1]} {found[2]}".split()) if found else None


def parse_cmdline(cmdline: str) -> list[tuple[str, str | None]]:
    """`name[=value]` words in order; double quotes keep blanks together, as the kernel does it."""
    pairs = []
    for word in re.findall(r'(?:[^\s"]|"[^"]*")+', cmdline):
        name, equals, value = word.replace('"', "").partition("=")
        pairs.append((name, value if equals else None))
    return pairs


def last_value(cmdline: str, name: str) -> str | None:
    """The value that counts: the last one given; None where the word is absent or has no value."""
    values = [value for word, value in parse_cmdline(cmdline) if word == name]
    return values[-1] if values else None
