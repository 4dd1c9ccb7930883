"""Pure readers of general Linux facts: packages, mounts, units."""

import re
from dataclasses import dataclass
from typing import Dict, List, Sequence, Tuple

from clusterctl_validators.sources import ProbeError


@dataclass(frozen=True)
class Package:
    """A package of the node; `held`: the package manager will not upgrade it."""

    version: str
    held: bool
    installed: bool


@dataclass(frozen=True)
class Unit:
    """A systemd unit.

    Attributes:
        active: it runs now (ActiveState is "active").
        enabled: it starts at boot (UnitFileState is "enabled").
        active_state, file_state, load_state: systemd's own terms, for the text of the finding.
    """

    active: bool
    enabled: bool
    active_state: str
    file_state: str
    load_state: str


@dataclass(frozen=True)
class Mount:
    """A line of /proc/self/mounts."""

    device: str
    target: str
    fstype: str
    options: Tuple[str, ...]


def parse_dpkg(text: str) -> Dict[str, Package]:
    """`package TAB version TAB wanted TAB status` lines; with two architectures the installed one counts."""
    packages: Dict[str, Package] = {}
    for line in text.splitlines():
        name, version, wanted, status = line.split("\t")
        package = Package(version, wanted == "hold", status == "installed")
        if package.installed or name not in packages:
            packages[name] = package
    return packages


def parse_rpm(text: str, versionlock: str) -> Dict[str, Package]:
    """`name TAB [epoch:]version-release` lines; held if the versionlock list names the package."""
    locked = [line.strip() for line in versionlock.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    packages: Dict[str, Package] = {}
    for line in text.splitlines():
        name, version = line.split("\t")
        held = any(re.match(re.escape(name) + r"-(\d+:)?\d", entry) for entry in locked)
        packages[name] = Package(version, held, installed=True)
    return packages


def parse_mounts(text: str) -> List[Mount]:
    """The lines of /proc/self/mounts, octal escapes decoded."""
    mounts = []
    for line in text.splitlines():
        device, target, fstype, options = (_unescape(field) for field in line.split(" ")[:4])
        mounts.append(Mount(device, target, fstype, tuple(options.split(","))))
    return mounts


def _unescape(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda m: chr(int(m.group(1), 8)), field)


def parse_units(names: Sequence[str], text: str) -> Dict[str, Unit]:
    """The blocks of `systemctl show`, one per name in the order of `names`."""
    blocks = [block for block in text.strip().split("\n\n") if block.strip()]
    if len(blocks) != len(names):
        raise ProbeError("systemctl show: {} units requested, {} returned".format(len(names), len(blocks)))
    units: Dict[str, Unit] = {}
    for name, block in zip(names, blocks):
        properties = dict(line.partition("=")[::2] for line in block.splitlines())
        active, file, load = (properties.get(k, "") for k in ("ActiveState", "UnitFileState", "LoadState"))
        units[name] = Unit(active == "active", file == "enabled", active, file, load)
    return units
