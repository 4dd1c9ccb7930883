"""The boot order of a machine as its BMC lists it: the kinds of boot options, and the order that a declaration gives.

The kind follows the device path where the service has one, else its alias or name. Recorded: PowerEdge R750, SYS-821GE-TNHR, DGX H100, GB200 tray.
"""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import FrozenSet, List, Sequence

KINDS = frozenset(("disk", "network", "cd", "usb", "shell"))
# In this order: a network adapter on USB boots from the network, a partition on a USB stick from USB.
_PATHS = (
    ("network", r"/MAC\(|/IPv[46]\(|/Uri\("),
    ("usb", r"/USB\("),
    ("cd", r"/CDROM\("),
    ("disk", r"(^|/)HD\(|/(NVMe|Sata|SAS|SasEx|Scsi)\("),
    ("shell", r"^Fv\("),
)
_ALIASES = {"pxe": "network", "uefihttp": "network", "hdd": "disk", "cd": "cd", "usb": "usb", "uefishell": "shell"}
_NAMES = (
    ("network", r"pxe|http|\bnic\b|\blan\b|network"),
    ("shell", r"shell"),
    ("usb", r"\busb\b"),
    ("cd", r"\bcd\b|dvd|optical"),
    # Loaders of operating systems have the name of the system.
    (
        "disk",
        r"disk|\bhdd?\b|nvme|\bssd\b|raid|ahci|sata|ubuntu|debian|red hat|rhel|rocky|alma|oracle linux|suse|linux|dgx os|windows boot",
    ),
)


class BootOrderError(Exception):
    """There is no boot order, or the declared one does not fit the machine; the text has the reason."""


@dataclass(frozen=True)
class BootOption:
    """One entry of a boot order.

    Attributes:
        reference: as the order names it (`Boot0003`); Supermicro's fixed order names whole classes.
        usable: enabled, and its device is there.
    """

    reference: str
    name: str
    path: str = ""
    alias: str = ""
    usable: bool = True

    @property
    def kind(self) -> str:
        """disk, network, cd, usb, shell or other."""
        by_path = next((kind for kind, pattern in _PATHS if re.search(pattern, self.path)), "")
        by_name = next((kind for kind, pattern in _NAMES if re.search(pattern, self.name.lower())), "other")
        return by_path or _ALIASES.get(self.alias.lower(), by_name)

    @property
    def text(self) -> str:
        """For messages."""
        return "{} ({})".format(self.name, self.kind)


def first_kind(options: Sequence[BootOption]) -> str:
    """The kind of the first usable option: what the machine boots from; empty if there is none."""
    return next((o.kind for o in options if o.usable), "")


def declared_order(declared: Sequence[str], options: Sequence[BootOption]) -> List[BootOption]:
    """The options in the declared order; within one entry, and after the declared ones, they keep theirs.

    Raises:
        BootOrderError: a named option does not exist, or nothing usable is meant by the first entry.
    """
    listed = ", ".join(o.text for o in options) or "none"
    for entry in declared:
        meant = [o for o in options if _is_meant(entry, o)]
        if not meant and entry not in KINDS:
            raise BootOrderError("no boot option is named {}; options: {}".format(entry, listed))
        if entry == declared[0] and not any(o.usable for o in meant):
            raise BootOrderError("no usable boot option is a {}, which is declared first; options: {}".format(entry, listed))
    return sorted(options, key=lambda option: _rank(declared, option))


def override_kind(target: str) -> str:
    """The kind that a boot override directs to (`BootSourceOverrideTarget` of Redfish); the target itself where it is none of them."""
    return _ALIASES.get(target.lower(), target)


def meant_first(declared: Sequence[str], options: Sequence[BootOption]) -> FrozenSet[str]:
    """The kinds of boot option that the first entry of a declaration means: itself where it is one, else those of the options that it names."""
    first = declared[0]
    return frozenset((first,)) if first in KINDS else frozenset(o.kind for o in options if _is_meant(first, o))


def in_order(declared: Sequence[str], options: Sequence[BootOption]) -> bool:
    """Whether the options are in the declared order, and the first usable one is meant by its first entry."""
    ranks = [_rank(declared, o) for o in options]
    first = next((r for r, o in zip(ranks, options) if o.usable), len(declared))
    return first == 0 and ranks == sorted(ranks)


def shown(options: Sequence[BootOption], most: int = 3) -> str:
    """The first usable options, and how many follow."""
    usable = [o.text for o in options if o.usable] or ["nothing"]
    return ", ".join(usable[:most]) + (" and {} more".format(len(usable) - most) if len(usable) > most else "")


def _rank(declared: Sequence[str], option: BootOption) -> int:
    """The place of an option in a declaration; after all of its entries if none means it."""
    return next((i for i, entry in enumerate(declared) if _is_meant(entry, option)), len(declared))


def _is_meant(entry: str, option: BootOption) -> bool:
    """Whether an entry of a declaration (a kind, a reference, or a glob over names and references) means an option."""
    if entry in KINDS:
        return option.kind == entry
    return option.reference == entry or fnmatchcase(option.reference, entry) or fnmatchcase(option.name, entry)
