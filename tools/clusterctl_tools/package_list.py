"""The packages of a node: `dpkg-query` (Debian, Ubuntu) or `rpm` with the locks of dnf's plug-in versionlock (EL) or of dnf5."""

import re
from dataclasses import dataclass
from typing import Any, Collection, Dict, Iterator, List, Set, Tuple

DPKG_LIST = ("dpkg-query", "-W", "-f", r"${Package}\t${Version}\t${db:Status-Want}\t${db:Status-Status}\n")
RPM_LIST = ("rpm", "-qa", "--qf", r"%{NAME}\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\n")
_COLUMNS = 4
# Package states of dpkg(1). With the two of triggers a package is unpacked and configured, and work for another one, or of another one, is left.
_INSTALLED = ("installed", "triggers-awaited", "triggers-pending")
_INTERRUPTED = ("half-installed", "unpacked", "half-configured")
VERSIONLOCK = "/etc/dnf/plugins/versionlock.list"
VERSIONLOCK_DNF5 = "/etc/dnf/versionlock.toml"


@dataclass(frozen=True)
class Package:
    """A package of the node.

    Attributes:
        held: the package manager will not upgrade it.
        also: its other installed versions: EL keeps several kernels (installonly_limit of dnf.conf(5)).
        interrupted: its installation began and did not end (dpkg(1), package states).
    """

    version: str
    held: bool
    installed: bool
    also: Tuple[str, ...] = ()
    interrupted: bool = False

    def has(self, version: str) -> bool:
        """Whether this version is installed, beside others or not."""
        return self.installed and version in (self.version, *self.also)


def field_argv(field: str, name: str) -> List[str]:
    """The command that prints one control field of a Debian package, such as one of its own (`XB-` in debian/control)."""
    return [DPKG_LIST[0], "-W", "-f", "${" + field + "}", name]


def dpkg_rows(text: str) -> Iterator[Tuple[str, Package]]:
    """Every `package TAB version TAB wanted TAB status` line; a name occurs once per architecture.

    Raises:
        ValueError: a line has other columns.
    """
    for line in text.splitlines():
        cells = line.split("\t")
        if len(cells) != _COLUMNS:
            raise ValueError("{!r} is not a row of a package list".format(line))
        yield cells[0], Package(cells[1], cells[2] == "hold", cells[3] in _INSTALLED, interrupted=cells[3] in _INTERRUPTED)


def parse_dpkg(text: str) -> Dict[str, Package]:
    """Packages by name; with two architectures the installed one counts. Raises ValueError as `dpkg_rows`."""
    packages: Dict[str, Package] = {}
    for name, package in dpkg_rows(text):
        if package.installed or name not in packages:
            packages[name] = package
    return packages


def parse_dnf5_locks(text: str) -> Set[str]:
    """The packages that dnf5 keeps at one version, from its versionlock.toml (dnf5-plugin-versionlock(8)): a range or an excluded version holds none.

    Raises:
        ValueError: it is not such a file, or this Python reads no TOML; 3.11 does, and no distribution with dnf5 has an older one.
    """
    try:
        import tomllib  # noqa: PLC0415 absent before Python 3.11
    except ImportError as e:
        raise ValueError("this Python cannot read TOML") from e
    found: Dict[str, Any] = tomllib.loads(text)
    try:
        entries = [(entry["name"], entry.get("conditions", [])) for entry in found.get("packages", [])]
        return {name for name, conditions in entries if any((c["key"], c["comparator"]) == ("evr", "=") for c in conditions)}
    except (TypeError, LookupError, AttributeError) as e:
        raise ValueError("not a list of locked packages") from e


def parse_rpm(text: str, versionlock: str, dnf5_locks: Collection[str] = ()) -> Dict[str, Package]:
    """Packages by name, from `name TAB [epoch:]version-release` lines, one for each version; held if a lock names the package."""
    locked = [line.strip() for line in versionlock.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    packages: Dict[str, Package] = {}
    for line in text.splitlines():
        name, version = line.split("\t")
        held = name in dnf5_locks or any(re.match(re.escape(name) + r"-(\d+:)?\d", entry) for entry in locked)
        before = packages.get(name)
        packages[name] = Package(version, held, installed=True, also=(before.version, *before.also) if before else ())
    return packages
