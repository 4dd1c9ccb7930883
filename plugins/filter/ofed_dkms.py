"""Which DKMS modules must be rebuilt, as pure functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.dkms import parse_status
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.modinfo import release_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_SOURCE = re.compile(r"/usr/src/(?P<name>.+)-(?P<version>\d[^/]*)/dkms\.conf")


def unfit(answers: Sequence[Mapping[str, Any]], kernel: str) -> list[str]:
    """DKMS names of the modules that are missing in this kernel or were built for another one.

    Args:
        answers: the results of `modinfo -F vermagic` in a loop over ofed_rebuild_modules.
        kernel: the running release.
    """
    names = [a["item"].get("dkms", "") for a in answers if a["rc"] != 0 or release_of(a["stdout"]) != kernel]
    return list(dict.fromkeys(n for n in names if n))


def again(status: Sequence[str], sources: Sequence[str], kernel: str, names: Sequence[str], unfit: Sequence[str]) -> list[str]:
    """`name/version` of the modules to rebuild: mismatched ones, and those that DKMS has not installed for this kernel.

    Args:
        status: lines of `dkms status`.
        sources: paths of the dkms.conf files below /usr/src; a removed module is not in the status, but its source remains.
        kernel: the running release.
        names: DKMS names that must be installed.
        unfit: those of `names` that must be rebuilt even if they are installed.
    """
    rows = parse_status("\n".join(status))
    available = [(m["name"], m["version"]) for m in map(_SOURCE.fullmatch, sources) if m]
    chosen = []
    for name in names:
        mine = [r for r in rows if r.name == name]
        here = {r.version for r in mine if r.kernel == kernel and r.state == "installed"}
        if here and name not in unfit:
            continue
        others = {r.version for r in mine if r.state == "installed"} or {r.version for r in mine}
        versions = here or others or {version for source, version in available if source == name}
        chosen += [f"{name}/{max(versions, key=_order)}"] if versions else []
    return chosen


def _order(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {"ofed_dkms_again": again, "ofed_dkms_unfit": unfit}
