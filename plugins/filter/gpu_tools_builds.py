"""Packages that are built from source, as pure functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_COMMIT = re.compile(r"[0-9a-f]{40}")


def build_file(build: Mapping[str, Any], arch: str) -> str:
    """The file name of a built package; another commit is another file.

    Args:
        build: a row of gpu_tools_builds: `name`, `version`, `commit`.
        arch: the architecture as Debian names it, such as amd64.
    """
    return f"{build['name']}_{build['version'].rpartition(':')[2]}_{build['commit'][:12]}_{arch}.deb"


def build_errors(builds: Sequence[Mapping[str, Any]], packages: Sequence[Mapping[str, Any]], family: str) -> list[str]:
    """The reasons to refuse these builds, one line each.

    Args:
        builds: rows of gpu_tools_builds.
        packages: rows of gpu_tools_packages.
        family: os_family as Ansible reports it.
    """
    declared = {p["name"]: p["version"] for p in packages}
    names = [b["name"] for b in builds]
    errors = [f"{name} is built twice" for name in sorted({n for n in names if names.count(n) > 1})]
    for build in builds:
        if declared.get(build["name"]) != build["version"]:
            found = declared.get(build["name"], "no version")
            errors.append(f"{build['name']} {build['version']} is built, but gpu_tools_packages has {found}")
        if not _COMMIT.fullmatch(build["commit"]):
            errors.append(f"{build['name']}: commit {build['commit']} is not a full commit id; tags and branches can change")
    if builds and family != "Debian":
        errors.append("packages are built as .deb; on the RHEL family provide them in a repository")
    return errors


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {"gpu_tools_build_file": build_file, "gpu_tools_build_errors": build_errors}
