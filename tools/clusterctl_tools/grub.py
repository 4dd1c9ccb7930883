"""The boot menu: GRUB's generated grub.cfg (Debian, Ubuntu), or the loader entries that `grubby` lists (EL)."""

import re
from dataclasses import dataclass
from typing import List

GRUB_CFG = "/boot/grub/grub.cfg"
LOADER_ENTRIES = "/boot/loader/entries/*.conf"
"""Where these exist, grubby and not grub.cfg shows the entries."""
GRUBBY_ENTRIES = ("grubby", "--info=ALL")
GRUBBY_DEFAULT = ("grubby", "--default-kernel")

_MENU_ID = re.compile(r"^(\s*)(menuentry|submenu)\b.*?(?:\$menuentry_id_option|--id)\s+'?([^'\s{]+)'?")
_LINUX = re.compile(r"^\s*linux(?:16|efi)?\s+(\S+)[ \t]*(.*)$")
_DEFAULT = re.compile(r'^\s*set default="([^"$]*)"', re.MULTILINE)


class UnknownDefaultError(LookupError):
    """A menu that does not show which kernel boots by default."""


@dataclass(frozen=True)
class BootEntry:
    """A boot entry: `id` as GRUB_DEFAULT takes it (`submenu>entry`), the path of the kernel, its arguments."""

    id: str
    kernel: str
    args: str


def parse_grub_cfg(text: str) -> List[BootEntry]:
    """The entries of a generated grub.cfg, in order."""
    entries = []
    submenu = entry = ""
    for line in text.splitlines():
        mark, linux = _MENU_ID.match(line), _LINUX.match(line)
        if mark and mark.group(2) == "submenu":
            submenu = mark.group(3)
        elif mark:
            entry = submenu + ">" + mark.group(3) if submenu and mark.group(1) else mark.group(3)
        elif linux:
            entries.append(BootEntry(entry, linux.group(1), linux.group(2).strip()))
    return entries


def parse_grubby(text: str) -> List[BootEntry]:
    """The entries of `grubby --info=ALL`."""
    entries = []
    kernel = ""
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if name == "kernel":
            kernel = value.strip('"')
        elif name == "args":
            entries.append(BootEntry(kernel, kernel, value.strip('"')))
    return entries


def parse_menu(text: str) -> List[BootEntry]:
    """The entries in either form: grubby's is recognised by its first rows."""
    return parse_grubby(text) or parse_grub_cfg(text)


def unattended(entries: List[BootEntry]) -> List[BootEntry]:
    """The entries that an unattended boot may use: recovery entries do not get the default arguments."""
    return [e for e in entries if "recovery" not in e.id and "single" not in e.args.split()]


def default_kernel(grub_cfg: str) -> str:
    """The path of the kernel that the menu starts by default.

    Raises:
        UnknownDefaultError: the menu does not name its default entry (a saved one), or names one that it does not have.
    """
    chosen = _DEFAULT.search(grub_cfg)
    if not chosen:
        raise UnknownDefaultError("does not name its default entry")
    entries = parse_grub_cfg(grub_cfg)
    found = entries[:1] if chosen.group(1) in ("", "0") else [e for e in entries if e.id == chosen.group(1)]
    if not found:
        raise UnknownDefaultError("the default {!r} matches no entry".format(chosen.group(1)))
    return found[0].kernel
