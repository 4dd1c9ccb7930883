"""The boot menu: GRUB's generated grub.cfg (Debian, Ubuntu), or the loader entries that `grubby` lists (EL)."""

import re
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

GRUB_CFG = "/boot/grub/grub.cfg"
GRUBENV = "/boot/grub/grubenv"
"""The entry that boots by default where GRUB_DEFAULT is `saved` (saved_entry), and the one that boots only the next time (next_entry)."""
LOADER_ENTRIES = "/boot/loader/entries/*.conf"
"""Where these exist, grubby and not grub.cfg shows the entries."""
GRUBBY_ENTRIES = ("grubby", "--info=ALL")
GRUBBY_DEFAULT = ("grubby", "--default-kernel")
_KERNEL = "/boot/vmlinuz-{}"

# A quote in a title is written as '\'' (grub_quote of grub-mkconfig_lib).
_ITEM = re.compile(r"^\s*(?:menuentry|submenu)\s+(?:'((?:[^']|'\\'')*)'|\"([^\"]*)\"|(\S+))")
_ID = re.compile(r"(?:\$menuentry_id_option|--id)[\s=]+[\"']?([^\"'\s{]+)")
# What 10_linux looks for, and what kernels for Arm are called: memory tests and iPXE are started by the same command.
_KERNEL_FILE = re.compile(r"/(?:vmlinu[xz]|kernel|image)[^/]*$", re.IGNORECASE)
# The names of submenu and entry in a default; `>>` is a `>` of a name (menuentry_eq of grub-core/normal/menu.c).
_LEVELS = re.compile(r"(?<!>)>(?!>)")
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
    """A boot entry: `id` as GRUB_DEFAULT takes it (`submenu>entry`), the path of the kernel, its arguments.

    Attributes:
        names: all names that GRUB accepts for it and the submenus around it, outermost first: id, title and, where nothing before depends on a
            condition, position.
    """

    id: str
    kernel: str
    args: str
    names: Tuple[Tuple[str, ...], ...] = ()

    def is_named(self, default: str) -> bool:
        """Whether a default, or a choice for one boot, means this entry."""
        levels = [level.replace(">>", ">") for level in _LEVELS.split(default)]
        return default == self.id or (len(levels) == len(self.names) and all(level in names for level, names in zip(levels, self.names)))


def parse_grub_cfg(text: str) -> List[BootEntry]:
    """The entries of a generated grub.cfg, in order."""
    entries = []
    # The names of each open block, none for a function; how many items each had so far, None once a condition decides that.
    blocks: List[Tuple[str, ...]] = []
    counts: List[Optional[int]] = [0]
    conditions = 0
    for line in map(str.strip, text.splitlines()):
        item, linux = _ITEM.match(line), _LINUX.match(line)
        if item:
            count = None if conditions else counts[-1]
            counts[-1] = None if count is None else count + 1
            blocks.append(_names(line, item) + (() if count is None else (str(count),)))
            counts.append(0)
        elif line.endswith("{"):
            blocks.append(())
            counts.append(0)
        elif line == "}" and blocks:
            blocks.pop()
            counts.pop()
        elif linux:
            names = tuple(block for block in blocks if block)
            entry = ">".join(block[0].replace(">", ">>") for block in names)
            entries.append(BootEntry(entry, linux.group(1).strip("\"'"), linux.group(2).strip(), names))
        conditions += _conditions(line)
    return entries


def _names(line: str, item: "re.Match[str]") -> Tuple[str, str]:
    """The id and the title of a menu item; without an id of its own, the title is both (grub_normal_add_menu_entry)."""
    quoted, double, bare = item.groups()
    title = quoted.replace("'\\''", "'") if quoted is not None else double if double is not None else bare
    found = _ID.search(line, item.end())
    return (found.group(1) if found else title), title


def _conditions(line: str) -> int:
    """How many conditions a line opens, fewer those that it closes."""
    if re.match(r"if\b", line):
        return 0 if re.search(r"\bfi;?$", line) else 1
    return -1 if re.match(r"fi\b", line) else 0


def parse_grubby(text: str) -> List[BootEntry]:
    """The entries of `grubby --info=ALL`."""
    entries = []
    kernel = ""
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if name == "kernel":
            kernel = value.strip('"')
        elif name == "args":
            # One pair of quotes around all of them: a value may end with its own.
            entries.append(BootEntry(kernel, kernel, value[1:-1] if value[:1] == value[-1:] == '"' else value))
    return entries


def parse_menu(text: str) -> List[BootEntry]:
    """The entries in either form: grubby's is recognised by its first rows."""
    return parse_grubby(text) or parse_grub_cfg(text)


def unattended(entries: List[BootEntry]) -> List[BootEntry]:
    """The entries that an unattended boot may use: the others do not get the default arguments.

    These start a recovery, a system on another disk that os-prober found, or no kernel at all: the packages memtest86+ and ipxe add such entries.
    """
    return [
        e
        for e in entries
        if _KERNEL_FILE.search(e.kernel) and "single" not in e.args.split() and not re.search(r"recovery|\bosprober-", e.id)
    ]


def chosen_kernel(entries: List[BootEntry], default: str) -> str:
    """The path of the kernel that a default, or a choice for one boot, starts; empty if it names no entry."""
    return next((e.kernel for e in entries if e.is_named(default)), "")


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
    """What keeps GRUB from changing its environment block (`diskfilter`, `lvm`, `btrfs`), as the menu shows; empty if nothing does.

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
    found = entries[0].kernel if entries and default in ("", "0") else chosen_kernel(entries, default)
    if not found:
        raise UnknownDefaultError("the default {!r} matches no entry".format(default))
    return found
