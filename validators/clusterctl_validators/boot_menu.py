"""What the boot loader will pass to the kernel at the next boot: GRUB's menu, or the entries that grubby lists."""

import re
from dataclasses import dataclass
from typing import Dict, List, Optional

from clusterctl_validators.facts import parse_cmdline
from clusterctl_validators.probe import Probe, ProbeError

GRUB_CFG = "/boot/grub/grub.cfg"
_LOADER_ENTRIES = "/boot/loader/entries/*.conf"
_MENU_ID = re.compile(r"^(\s*)(menuentry|submenu)\b.*?(?:\$menuentry_id_option|--id)\s+'?([^'\s{]+)'?")
_LINUX = re.compile(r"^\s*linux(?:16|efi)?\s+(\S+)[ \t]*(.*)$")
_DEFAULT = re.compile(r'^\s*set default="([^"$]*)"', re.MULTILINE)

Parameters = Dict[str, List[Optional[str]]]


@dataclass(frozen=True)
class BootEntry:
    """A boot entry: `id` as GRUB_DEFAULT takes it (`submenu>entry`), the path of the kernel, its arguments."""

    id: str
    kernel: str
    args: str


def boot_entries(probe: Probe) -> List[BootEntry]:
    """The entries that an unattended boot may use; recovery entries are left out.

    Raises:
        ProbeError: neither a GRUB menu nor a loader entry is present.
    """
    if probe.glob(_LOADER_ENTRIES):
        info = probe.run(["grubby", "--info=ALL"])
        if info.error or info.rc != 0:
            raise ProbeError("grubby: " + (info.error or info.stderr.strip()))
        entries = parse_grubby(info.stdout)
    else:
        text = probe.read(GRUB_CFG)
        if text is None:
            raise ProbeError("no boot menu: {} is absent".format(GRUB_CFG))
        entries = parse_grub_cfg(text)
    normal = [e for e in entries if "recovery" not in e.id and "single" not in e.args.split()]
    if not normal:
        raise ProbeError("the boot menu has no entry that starts a kernel")
    return normal


def default_kernel(probe: Probe) -> str:
    """The path of the kernel that boots by default.

    Raises:
        ProbeError: the menu does not name its default.
    """
    entries = boot_entries(probe)
    if probe.glob(_LOADER_ENTRIES):
        default = probe.run(["grubby", "--default-kernel"])
        if default.error or default.rc != 0:
            raise ProbeError("grubby: " + (default.error or default.stderr.strip()))
        return default.stdout.strip()
    chosen = _DEFAULT.search(probe.read(GRUB_CFG) or "")
    if not chosen:
        raise ProbeError("{} does not name its default entry".format(GRUB_CFG))
    if chosen.group(1) in ("", "0"):
        return entries[0].kernel
    for entry in entries:
        if entry.id == chosen.group(1):
            return entry.kernel
    raise ProbeError("{}: the default {!r} matches no entry".format(GRUB_CFG, chosen.group(1)))


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


def canonical(name: str) -> str:
    """The kernel treats `-` and `_` in parameter names as equal."""
    return name.replace("-", "_")


def by_canonical_name(parameters: Parameters) -> Parameters:
    """Parameters with all spellings of a name merged."""
    result: Parameters = {}
    for name, values in parameters.items():
        result.setdefault(canonical(name), []).extend(values)
    return result


def parse_args(args: str) -> Parameters:
    """A command line by canonical parameter name."""
    return by_canonical_name(parse_cmdline(args))


def as_words(name: str, values: List[Optional[str]]) -> str:
    """`console=tty0 console=ttyS0`, for display; `(absent)` for no value."""
    return " ".join(name if v is None else "{}={}".format(name, v) for v in values) or "(absent)"
