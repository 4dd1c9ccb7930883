"""Kernel command lines."""

from __future__ import annotations

import re

GRUB_CFG = "/boot/grub/grub.cfg"
FIRST_BOOT = "BOOT_IMAGE=/boot/vmlinuz-lab root=UUID=5f1c2a9e-12d4-4c63-9a35-6b8d2f0e7c11 ro quiet"


def parse_cmdline(cmdline: str) -> list[tuple[str, str | None]]:
    """The `name[=value]` parameters in order; double quotes protect blanks, as in the kernel."""
    pairs = []
    for word in re.findall(r'(?:[^\s"]|"[^"]*")+', cmdline):
        name, equals, value = word.replace('"', "").partition("=")
        pairs.append((name, value if equals else None))
    return pairs


def last_value(cmdline: str, name: str) -> str | None:
    """The value of the last occurrence of a parameter, which takes effect; None if it is absent or has no value."""
    values = [value for word, value in parse_cmdline(cmdline) if word == name]
    return values[-1] if values else None
