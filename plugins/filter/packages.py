"""What package lists show: lines of `name TAB version TAB selection TAB status`, from dpkg-query or rpm."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def rows(text: str) -> Iterator[tuple[str, str, bool]]:
    """Name, version and hold of each installed package; a name occurs once per architecture."""
    for line in text.splitlines():
        name, _, rest = line.partition("\t")
        version, _, state = rest.partition("\t")
        selection, _, status = state.partition("\t")
        if status == "installed":
            yield name, version, selection == "hold"


def package_differences(packages: Sequence[Mapping[str, str]], text: str) -> list[dict[str, str]]:
    """Declared packages that are absent or of another version; `found` is empty where none is installed."""
    found: dict[str, list[str]] = {}
    for name, version, _ in rows(text):
        found.setdefault(name, []).append(version)
    wrong = [p for p in packages if p["version"] not in found.get(p["name"], [])]
    return [{"name": p["name"], "version": p["version"], "found": ", ".join(found.get(p["name"], []))} for p in wrong]


def package_hold_changes(packages: Sequence[Mapping[str, str]], text: str, hold: bool) -> list[str]:
    """The names of declared packages that must be held, or whose hold must be removed."""
    held = {name for name, _, is_held in rows(text) if is_held}
    return [p["name"] for p in packages if (p["name"] in held) != hold]


def packages_named(text: str, pattern: str) -> list[str]:
    """`name version` of every installed package whose name the regular expression matches from its start."""
    return [f"{name} {version}" for name, version, _ in rows(text) if re.match(pattern, name)]


class FilterModule:
    """The filters of the shared package tasks."""

    def filters(self) -> dict[str, Any]:
        """Filter name -> function."""
        return {
            "package_differences": package_differences,
            "package_hold_changes": package_hold_changes,
            "packages_named": packages_named,
        }
