"""Which kernel GRUB starts: once, or from now on."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools import grub

if TYPE_CHECKING:
    from collections.abc import Callable

DOCUMENTATION = r"""
module: kernel_boot
short_description: Choose which kernel GRUB starts, for one boot or from now on
description:
  - Writes GRUB's environment block with C(grub-reboot) and C(grub-set-default), or C(grub2-reboot) and C(grubby) where loader entries are used. Needs
    GRUB_DEFAULT=saved. Never reboots.
  - A choice for one boot is used up when GRUB reads it. If that kernel does not start, the next power cycle starts the default one again, so the running
    kernel is made the default first.
options:
  release: {description: The kernel to start., type: str, required: true}
  once: {description: "Only the next boot; false makes it the default and takes back a choice for one boot.", type: bool, default: false}
author: clusterctl authors
"""
EXAMPLES = r"""
- name: Start the declared kernel once
  clusterctl.gpu.kernel_boot: {release: 6.8.0-1046-nvidia, once: true}
"""
RETURN = r"""
entry: {description: "The menu entry; empty if the running kernel has none.", type: str, returned: success}
fallback: {description: The kernel that starts if the chosen one does not., type: str, returned: success}
stuck: {description: "What keeps GRUB from using up a choice for one boot, such as diskfilter; empty if nothing does.", type: str, returned: success}
"""
_SAVED_DEFAULT = "GRUB_DEFAULT=saved is not in force: apply the role kernel first"


class BootChoiceError(Exception):
    """The choice cannot be made, or was not taken."""


@dataclass
class Grub:
    """GRUB with a generated menu (Debian, Ubuntu)."""

    run: Callable[[list[str]], str]
    root: Path = Path("/")
    name = "grub"

    @property
    def menu(self) -> str:
        """The text of grub.cfg."""
        return _read(self.root / grub.GRUB_CFG.lstrip("/"))

    def entry(self, release: str) -> str:
        """The entry that starts a kernel; empty if there is none."""
        return grub.entry_of_release(self.menu, release)

    def default(self) -> str:
        """The kernel that starts by default; empty if it is not known."""
        try:
            kernel = grub.default_kernel(self.menu, self.environment())
        except grub.UnknownDefaultError:
            return ""
        return kernel.rpartition("vmlinuz-")[2]

    def keeps(self, release: str) -> bool:
        """Whether this kernel is the default by name: the first entry is another one after the next installation."""
        return self.default() == release and grub.parse_grubenv(self.environment()).get("saved_entry") == self.entry(release)

    def once(self) -> str:
        """The entry that is chosen for one boot; empty if none is."""
        return grub.parse_grubenv(self.environment()).get("next_entry", "")

    def environment(self) -> str:
        """The environment block; a new machine may have none."""
        return _read(self.root / grub.GRUBENV.lstrip("/"))

    def set_default(self, release: str) -> None:
        """Make a kernel the default."""
        if not self.starts_saved():
            raise BootChoiceError(_SAVED_DEFAULT)
        self.run(grub.set_default(self.entry(release)))

    def starts_saved(self) -> bool:
        """Whether the default is the saved entry."""
        return grub.starts_saved_entry(self.menu)

    def stuck(self) -> str:
        """What keeps GRUB from writing its environment block; empty if nothing does."""
        return grub.read_only_storage(self.menu)


class LoaderEntries(Grub):
    """GRUB with the loader entries of EL, which grubby edits."""

    name = "grub2"

    def entry(self, release: str) -> str:
        """As the menu of GRUB; an entry without an id has its number."""
        # saved_entry takes this id (rhinstaller/anaconda pull request 1789), and so does next_entry: both become `default` (rhboot/grub2 26f2fbd, 00_header.in)
        text = self.run(grub.grubby_entry(release)) if (self.root / f"boot/vmlinuz-{release}").exists() else ""
        found = re.search(r'^id="?([^"\n]+)', text, re.MULTILINE) or re.search(r"^index=(\d+)", text, re.MULTILINE)
        return found.group(1) if found else ""

    def environment(self) -> str:
        """As the tool shows it: where the file is depends on the firmware."""
        return self.run(grub.list_environment(self.name))

    def default(self) -> str:
        """The kernel that grubby names."""
        return self.run(list(grub.GRUBBY_DEFAULT)).strip().rpartition("vmlinuz-")[2]

    def keeps(self, release: str) -> bool:
        """As the menu of GRUB; grubby may save a title or an id."""
        return self.default() == release and "saved_entry" in grub.parse_grubenv(self.environment())

    def set_default(self, release: str) -> None:
        """Make a kernel the default, which grubby saves in the environment block."""
        self.run(grub.grubby_set_default(release))

    def starts_saved(self) -> bool:
        """From GRUB's own settings: its menu is not generated for each kernel."""
        found = re.findall(r"^\s*GRUB_DEFAULT=[\"']?(\w+)", _read(self.root / "etc/default/grub"), re.MULTILINE)
        return found[-1:] == ["saved"]


def choose(loader: Grub, release: str, running: str, *, once: bool, check_mode: bool) -> dict[str, Any]:
    """Choose a kernel.

    Raises:
        BootChoiceError: it is not in the menu, or the loader did not take the choice.
    """
    entry, default, chosen = loader.entry(release), loader.default(), loader.once()
    if not entry:
        if once or release != running:
            raise BootChoiceError(f"the boot menu has no entry that starts {release}")
        return _result(loader, entry, default, changed=False)
    changed = chosen != entry or default == release if once else not loader.keeps(release) or bool(chosen)
    if check_mode or not changed:
        return _result(loader, entry, default, changed=changed)
    fallback = _choose_once(loader, release, running, entry) if once else _choose_default(loader, release)
    return _result(loader, entry, fallback, changed=True)


def _choose_default(loader: Grub, release: str) -> str:
    if not loader.keeps(release):
        loader.set_default(release)
    if loader.once():
        loader.run(grub.forget_once(loader.name))
    if loader.default() != release:
        raise BootChoiceError(f"{release} was made the default, but the boot menu starts {loader.default() or 'an unknown kernel'}")
    return release


def _choose_once(loader: Grub, release: str, running: str, entry: str) -> str:
    if not loader.starts_saved():
        raise BootChoiceError(_SAVED_DEFAULT)
    if loader.entry(running) and not loader.keeps(running):
        loader.set_default(running)
    fallback = loader.default()
    if fallback == release:
        raise BootChoiceError(
            f"{release} is the default already, and the running {running} is not in the boot menu: nothing to fall back to"
        )
    loader.run(grub.start_once(entry, loader.name))
    if loader.once() != entry:
        raise BootChoiceError(f"{loader.name}-reboot ran, but next_entry is {loader.once()!r} and not {entry!r}")
    return fallback


def _result(loader: Grub, entry: str, fallback: str, *, changed: bool) -> dict[str, Any]:
    return {"changed": changed, "entry": entry, "fallback": fallback, "stuck": loader.stuck()}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def main() -> None:
    """Run the module."""
    options = {"release": {"type": "str", "required": True}, "once": {"type": "bool", "default": False}}
    module = AnsibleModule(argument_spec=options, supports_check_mode=True)

    def run(words: list[str]) -> str:
        _, output, _ = module.run_command(words, check_rc=True)
        return str(output)

    loader = (LoaderEntries if any(Path("/").glob(grub.LOADER_ENTRIES.lstrip("/"))) else Grub)(run)
    params = module.params
    try:
        result = choose(loader, params["release"], os.uname().release, once=params["once"], check_mode=module.check_mode)
    except BootChoiceError as e:
        module.fail_json(msg=str(e))
    if params["once"] and result["stuck"]:
        module.warn(
            f"GRUB cannot write to {result['stuck']}: if {params['release']} does not start, each power cycle starts it again, until {result['fallback']}"
            " is chosen in the boot menu, at the console"
        )
    module.exit_json(**result)


if __name__ == "__main__":
    main()
