"""The boot menu: GRUB's generated grub.cfg (Debian, Ubuntu), or the loader entries that `grubby` lists (EL)."""

import re
from dataclasses import dataclass
from typing import Dict, List, Optional

GRUB_CFG = "/boot/grub/grub.cfg"
GRUBENV = "/boot/grub/grubenv"
"""The entry that boots by default where GRUB_DEFAULT is `saved` (saved_entry), and the one that boots only the next time (next_entry)."""
LOADER_ENTRIES = "/boot/loader/entries/*.conf"
"""Where these exist, grubby and not grub.cfg shows the entries."""
GRUBBY_ENTRIES = ("grubby", "--info=ALL")
GRUBBY_DEFAULT = ("grubby", "--default-kernel")
_KERNEL = "/boot/vmlinuz-{}"

_MENU_ID = re.compile(r"^(\s*)(menuentry|submenu)\b.*?(?:\$menuentry_id_option|--id)\s+'?([^'\s{]+)'?")
_LINUX = re.compile(r"^\s*linux(?:16|efi)?\s+(\S+)[ \t]*(.*)$")
# The first one that is not next_entry, which grub-mkconfig writes before it.
_DEFAULT = re.compile(r'^\s*set default="(?!\$\{next_entry\})([^"]*)"', re.MULTILINE)
_SAVED = "${saved_entry}"
# Of the function recordfail of Ubuntu and Debian (00_header); the environment block is a file on the same file system.
_READ_ONLY = re.compile(r"GRUB lacks write support for ([\w-]+)")


class UnknownDefaultError(LookupError):
    """A menu that does not show which kernel boots by default."""


def start_once(entry: str, grub: str = "grub") -> List[str]:
    """Choose an entry for the next boot only; `grub`: `grub2` on EL."""
    return [grub + "-reboot", entry]


def set_default(entry: str) -> List[str]:
    """Save an entry as the default."""
    return ["grub-set-default", entry]


def list_environment(grub: str = "grub") -> List[str]:
    """Print the environment block."""
    return [grub + "-editenv", "-", "list"]


def forget_once(grub: str = "grub") -> List[str]:
    """Take a choice for one boot back."""
    return [grub + "-editenv", "-", "unset", "next_entry"]


def grubby_entry(release: str) -> List[str]:
    """Print the loader entry of a kernel."""
    return ["grubby", "--info=" + _KERNEL.format(release)]


def grubby_set_default(release: str) -> List[str]:
    """Save a kernel as the default of EL."""
    return ["grubby", "--set-default=" + _KERNEL.format(release)]


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


def parse_grubenv(text: str) -> Dict[str, str]:
    """The variables of an environment block, or of the output of `grub-editenv - list`."""
    lines = (line for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def entry_of_release(grub_cfg: str, release: str) -> str:
    """The id of the menu entry that starts a kernel release, by preference one that names it: the others start the newest; empty if there is none."""
    entries = parse_grub_cfg(grub_cfg)
    ids = [e.id for e in entries if e.kernel.endswith("vmlinuz-" + release) and "recovery" not in e.id]
    return next((i for i in ids if release in i), ids[0] if ids else "")


def starts_saved_entry(grub_cfg: str) -> bool:
    """Whether the menu was made with GRUB_DEFAULT=saved.

    Args:
        grub_cfg: the text of grub.cfg.
    """
    chosen = _DEFAULT.search(grub_cfg)
    return bool(chosen and chosen.group(1) == _SAVED)


def read_only_storage(grub_cfg: str) -> str:
    """What keeps GRUB from changing its environment block (`diskfilter`, `lvm`, `btrfs`), as the menu says; empty if nothing does.

    There, an entry that was chosen for one boot starts at every boot until the running system takes the choice back.
    """
    found = _READ_ONLY.search(grub_cfg)
    return found.group(1) if found else ""


def default_kernel(grub_cfg: str, grubenv: Optional[str] = None) -> str:
    """The path of the kernel that the menu starts by default; `grubenv`: the environment block, None if it is not known.

    Raises:
        UnknownDefaultError: the menu does not name its default entry, or names one that it does not have.
    """
    chosen = _DEFAULT.search(grub_cfg)
    if not chosen:
        raise UnknownDefaultError("does not name its default entry")
    default = chosen.group(1)
    if default == _SAVED and grubenv is not None:
        default = parse_grubenv(grubenv).get("saved_entry", "")
    if "$" in default:
        raise UnknownDefaultError("does not name its default entry")
    entries = parse_grub_cfg(grub_cfg)
    found = entries[:1] if default in ("", "0") else [e for e in entries if e.id == default]
    if not found:
        raise UnknownDefaultError("the default {!r} matches no entry".format(default))
    return found[0].kernel
