"""What package lists show: lines of `name TAB version TAB selection TAB status`, from dpkg-query, or from rpm in the same form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools import dnf
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.package_list import dpkg_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def package_differences(packages: Sequence[Mapping[str, str]], text: str) -> list[dict[str, str]]:
    """Declared packages that are absent or of another version; `found` is empty where none is installed.

    Args:
        packages: `name` and `version` of each declared package.
        text: the package list.
    """
    found: dict[str, list[str]] = {}
    for name, package in dpkg_rows(text):
        if package.installed:
            found.setdefault(name, []).append(package.version)
    wrong = [p for p in packages if p["version"] not in found.get(p["name"], [])]
    return [{"name": p["name"], "version": p["version"], "found": ", ".join(found.get(p["name"], []))} for p in wrong]


def package_hold_changes(packages: Sequence[Mapping[str, str]], text: str, hold: bool) -> list[str]:
    """The names of declared packages that must be held, or whose hold must be removed.

    Args:
        packages: `name` of each declared package.
        text: the package list.
        hold: whether they are to be held.
    """
    held = {name for name, package in dpkg_rows(text) if package.installed and package.held}
    return [p["name"] for p in packages if (p["name"] in held) != hold]


def packages_named(text: str, pattern: str) -> list[str]:
    """`name version` of every installed package whose name the regular expression matches from its start.

    Args:
        text: the package list.
        pattern: a regular expression of Python.
    """
    return [f"{name} {package.version}" for name, package in dpkg_rows(text) if package.installed and re.match(pattern, name)]


def packages_interrupted(text: str) -> list[str]:
    """The names of packages whose installation began and did not end; apt may refuse every other one until it does.

    Args:
        text: the package list.
    """
    return [name for name, package in dpkg_rows(text) if package.interrupted]


class FilterModule:
    """The filters of the shared package tasks."""

    def filters(self) -> dict[str, Any]:
        """Filter name -> function."""
        return {
            "dnf_distribution_repositories": dnf.distribution_repositories,
            "dnf_kernel_set": dnf.kernel_set,
            "dnf_lock_changes": dnf.lock_changes,
            "dnf_stale_locks": dnf.stale_locks,
            "package_differences": package_differences,
            "package_hold_changes": package_hold_changes,
            "packages_interrupted": packages_interrupted,
            "packages_named": packages_named,
        }
