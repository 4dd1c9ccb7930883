"""The versions of drivers, firmware and kernel, and the memory, in the findings of a node. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clusterctl.model.installed_skew import InstalledVersion

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.model.validator_traits import ValidatorTraits, VersionCheck
    from clusterctl_validators.finding import Finding

# Where a module is not loaded, `found` has words.
_VERSION = re.compile(r"\d")


def installed_versions(findings: Iterable[Finding], traits: ValidatorTraits) -> tuple[InstalledVersion, ...]:
    """One for each component and model that validators declare as a version, whatever the check found; none where the node showed no version."""
    findings = tuple(findings)
    found = {f.check: f.found for f in findings}
    seen: dict[tuple[str, str], set[str]] = {}
    for finding in findings:
        for declared in traits.of(finding.role).versions:
            item = _item(declared, finding.check)
            if item is not None and _VERSION.search(finding.found):
                model = item if declared.model == "*" else found.get(declared.model.replace("*", item), "")
                seen.setdefault((declared.component, model), set()).add(finding.found)
    return tuple(InstalledVersion(component, model, ", ".join(sorted(versions))) for (component, model), versions in sorted(seen.items()))


def _item(declared: VersionCheck, check: str) -> str | None:
    """The item of a check, empty where it has none; None if it is another check."""
    match = re.fullmatch(re.escape(declared.check).replace(r"\*", "(.+)"), check)
    return next(iter(match.groups()), "") if match else None
