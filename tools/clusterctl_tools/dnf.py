"""dnf: repositories and what they exclude, streams of modules, the packages that one kernel consists of."""

import re
from typing import Dict, List, Optional, Tuple

# baseos and appstream on Rocky and Alma, rhel-9-for-x86_64-baseos-rpms on RHEL, rhel-9-baseos-rhui-rpms in clouds, ol9_baseos_latest on Oracle Linux.
_DISTRIBUTION = re.compile(r"^(?!.*(?:debug|source|src))\S*(?:baseos|appstream)\S*$", re.IGNORECASE)
# The parts of a kernel on EL 8 and 9 (RHEL 9, "The Linux kernel RPM package overview"); kernel-modules-core since 9.2.
_KERNEL_PARTS = ("", "-core", "-modules", "-modules-core", "-modules-extra", "-devel", "-devel-matched")
_EXCLUDES = re.compile(r"^excludepkgs = *(.*)$", re.MULTILINE)


def enabled_streams_argv(module: str) -> List[str]:
    """The command that prints the enabled streams of a module."""
    return ["dnf", "--quiet", "module", "list", "--enabled", module]


def parse_streams(text: str, module: str) -> List[str]:
    """The streams of a module in `dnf module list`, in order."""
    rows = [line.split() for line in text.splitlines()]
    return [words[1] for words in rows if len(words) > 1 and words[0] == module]


def repository_argv(repository: str) -> List[str]:
    """The command that prints the settings of a repository in force (dnf-plugins-core)."""
    return ["dnf", "config-manager", "--dump", repository]


def parse_excludes(text: str) -> Optional[str]:
    """The packages that a repository excludes, `a,b`, from `dnf config-manager --dump`; None if it shows no such setting."""
    found = _EXCLUDES.search(text)
    return found.group(1).replace(" ", "") if found else None


def repolist_argv() -> List[str]:
    """The command that prints the enabled repositories."""
    return ["dnf", "repolist", "--enabled"]


def distribution_repositories(repolist: str) -> List[str]:
    """The ids of the distribution's repositories in the output of `dnf repolist`: those named after BaseOS or AppStream, in order.

    Args:
        repolist: what `dnf repolist` printed.
    """
    first = [line.split()[0] for line in repolist.splitlines() if line.split()]
    return [word for word in first if _DISTRIBUTION.match(word)]


def kernel_set(package: str) -> List[str]:
    """The packages of the kernel that `package` belongs to; empty if it is none of EL's.

    Each must be locked: an update of kernel-core installs another kernel whether or not the package kernel is locked.

    Args:
        package: the declared package, such as kernel or kernel-core.
    """
    found = re.match(r"^(kernel(?:-rt|-64k)?)(?:-core)?$", package)
    return [found.group(1) + part for part in _KERNEL_PARTS] if found else []


def stale_locks(locklist: str, declared: Dict[str, str]) -> List[str]:
    """The entries of `dnf versionlock list` that hold another version than the one `declared` for their package.

    The plug-in hides all versions but the locked ones, so with such an entry dnf finds no declared version to install (Red Hat bug 2013332).
    Entries that start with `!`, which exclude a version, are not among them.

    Args:
        locklist: what `dnf versionlock list` printed.
        declared: package -> version.
    """
    result = []
    for entry in (line.strip() for line in locklist.splitlines()):
        name = next((n for n in declared if re.match(re.escape(n) + r"-(?:\d+:)?\d", entry)), None)
        if name is not None and _without_epoch(declared[name]) not in _readings(entry[len(name) + 1 :]):
            result.append(entry)
    return result


def lock_changes(locklist: str, entries: List[str], *, hold: bool) -> List[str]:
    """The `entries` that `dnf versionlock list` lacks, in order; to unlock, those that it has.

    Args:
        locklist: what `dnf versionlock list` printed.
        entries: as `dnf versionlock add --raw` stores them.
        hold: they are to be locked; false: unlocked.
    """
    locked = {line.strip() for line in locklist.splitlines()}
    return [entry for entry in entries if (entry in locked) != hold]


def _without_epoch(version: str) -> str:
    return re.sub(r"^\d+:", "", version)


def _readings(locked: str) -> Tuple[str, str]:
    """A locked version with and without its last part, which may be an architecture or `*`."""
    version = _without_epoch(locked)
    return version, version.rpartition(".")[0]
