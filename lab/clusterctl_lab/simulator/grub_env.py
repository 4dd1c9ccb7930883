"""GRUB's environment block (grub-editenv, grub-reboot, grub-set-default), and which menu entry a start of this machine takes.

GRUB takes next_entry for one boot and clears it before the kernel starts; else the default of the menu, which may be saved_entry
(grub-mkconfig's 00_header; GRUB manual, "The GRUB environment block").
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from dataclasses import dataclass

from . import state
from .cmdline import GRUB_CFG, last_value

GRUBENV = "/boot/grub/grubenv"
_HEADER = "# GRUB Environment Block\n"
_SIZE = 1024
# A lab waits no longer, whatever the value of panic=.
_LONGEST_PANIC_S = 2
_ENTRY = re.compile(r"^(\s*)(menuentry|submenu)\s+'([^']*)'.*?\$menuentry_id_option\s+'([^']*)'")
_LINUX = re.compile(r"^\s*linux(?:efi)?\s+(\S+)\s*(.*)$")
_DEFAULT = re.compile(r'^\s*set default="(?!\$\{next_entry\})([^"]*)"', re.MULTILINE)


@dataclass(frozen=True)
class MenuEntry:
    """One entry: `names`: those that GRUB accepts for it."""

    names: tuple[str, ...]
    kernel: str
    args: str

    @property
    def release(self) -> str:
        """The release of its kernel."""
        return self.kernel.rpartition("vmlinuz-")[2]

    @property
    def cmdline(self) -> str:
        """The command line that its kernel gets."""
        return " ".join(f"BOOT_IMAGE={self.kernel} {self.args}".split())


def entries(menu: str) -> list[MenuEntry]:
    """The entries of a menu, in order; one without an id is known by its position only."""
    found: list[MenuEntry] = []
    above: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    for line in menu.splitlines():
        mark, linux = _ENTRY.match(line), _LINUX.match(line)
        if mark and mark[2] == "submenu":
            above = (mark[3], mark[4])
        elif mark:
            names = tuple(f"{a}>{n}" for a in above for n in (mark[3], mark[4])) if above and mark[1] else (mark[3], mark[4])
        elif linux:
            found.append(MenuEntry(names, linux[1], linux[2]))
    return found


def take_entry(menu: str, path: str = GRUBENV) -> MenuEntry | None:
    """The entry that a start takes; a choice for one boot is used up. None without an entry."""
    listed, values = entries(menu), read_env(path)
    once = values.pop("next_entry", "")
    if once:
        write_env(values, path)
    default = _DEFAULT.search(menu)
    wanted = once or (default[1].replace("${saved_entry}", values.get("saved_entry", "")) if default else "")
    # A name that no entry has starts the first one, as an empty one does.
    return next((e for e in listed if wanted in e.names), listed[0] if listed else None)


def start_kernel() -> MenuEntry | None:
    """As `take_entry`; with the fault kernel_panic, another kernel than the installer's panics, as often as it is started.

    A machine with panic= on the command line resets itself then; any other hangs until it loses power.
    """
    while True:
        entry = take_entry(state.read(GRUB_CFG))
        if entry is None or entry.release == os.uname().release or not state.read_faults().of("kernel_panic"):
            return entry
        _panic(entry.cmdline)


def _panic(cmdline: str) -> None:
    """Return when the machine resets itself."""
    seconds = int(last_value(cmdline, "panic") or 0)
    while not seconds:
        signal.pause()
    time.sleep(min(abs(seconds), _LONGEST_PANIC_S))


def read_env(path: str = GRUBENV) -> dict[str, str]:
    """The variables; none if there is no file."""
    lines = (line for line in state.read(path).splitlines() if "=" in line and not line.startswith("#"))
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def write_env(values: dict[str, str], path: str = GRUBENV) -> None:
    """Write the block, which always has the same size."""
    text = _HEADER + "".join(f"{name}={value}\n" for name, value in values.items())
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "#" * (_SIZE - len(text.encode())))


def main(argv: list[str], _version: str = "") -> int:
    """Run the program whose name it was called by."""
    name, words = argv[0].rpartition("/")[2], argv[1:]
    if name in ("grub-reboot", "grub-set-default"):
        if len(words) != 1:
            print(f"{name}: not simulated, or no menu entry: {' '.join(words)}", file=sys.stderr)
            return 1
        write_env(read_env() | {"next_entry" if name == "grub-reboot" else "saved_entry": words[0]})
        return 0
    return _edit(words[1:] if words[:1] == ["-"] or words[:1] == [GRUBENV] else words)


def _edit(words: list[str]) -> int:
    values = read_env()
    if words == ["list"]:
        print("".join(f"{name}={value}\n" for name, value in values.items()), end="")
    elif words[:1] == ["set"]:
        write_env(values | dict(w.split("=", 1) for w in words[1:]))
    elif words[:1] == ["unset"]:
        write_env({name: value for name, value in values.items() if name not in words[1:]})
    else:
        print(f"grub-editenv: not simulated: {' '.join(words)}", file=sys.stderr)
        return 1
    return 0
