"""What validators declare as left by their roles: checks that exist, and none of what runs, because that decides also where something else owns the part."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache

import pytest

from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.core.check_names import ITEM
from support.roles import ROOT

DECLARED = {role: traits.left_by_role for role, traits in read_traits(()).by_role.items() if traits.left_by_role}
ROLES = [p.name for p in (ROOT / "roles").iterdir() if (p / "tasks" / "main.yml").is_file()]
# Units that only the role itself installs, where another owner has units of its own; and what apt would install next.
OF_ITS_UNITS = {
    "pcie.service.running",
    "ofed.max_read_request.service.running",
    "nvidia_driver.gpu_settings.service.running",
    "ofed.package.candidate.running",
}
NO_PERSISTED_SETTING = {"hardware", "bios", "burnin"}


@cache
def named_checks() -> frozenset[str]:
    """The checks that tests and their cases name, without items."""
    check = re.compile(r"\b(?:%s)\.[a-z_]+(?:\[[^\]\n]*\])?(?:\.[a-z_]+(?:\[[^\]\n]*\])?)+" % "|".join(ROLES))  # noqa: UP031 braces
    files = [*(ROOT / "tests" / "cases").rglob("*.yml"), *(ROOT / "tests" / "unit").rglob("*.py"), *(ROOT / "molecule").rglob("*.yml")]
    return frozenset(ITEM.sub("", name) for f in files for name in check.findall(f.read_text(errors="replace")))


@cache
def composed_checks() -> frozenset[str]:
    """Names that validators may put together from those in their text and the aspects in it; `held` is of the check that all share."""
    found = set()
    for module in (ROOT / "validators" / "clusterctl_validators").glob("test_*.py"):
        role, text = module.stem.removeprefix("test_"), module.read_text()
        names = {ITEM.sub("", name) for name in re.findall(rf'"({role}\.[a-z_.{{}}\[\]]+)"', text)} | {f"{role}.package"}
        found |= {f"{name}.{aspect}" for name in names for aspect in (*re.findall(r'"\.([a-z_]+)"', text), "held")}
    return frozenset(found)


def covered(patterns: tuple[str, ...]) -> set[str]:
    return {c for c in named_checks() if any(fnmatchcase(c, p) for p in patterns)}


@pytest.mark.parametrize("role", sorted(DECLARED))
def test_each_pattern_is_of_a_check_of_the_role(role: str) -> None:
    assert [p for p in DECLARED[role] if not covered((p,)) and not any(fnmatchcase(c, p) for c in composed_checks())] == []
    assert {c.split(".", maxsplit=1)[0] for c in covered(DECLARED[role])} == {role}


@pytest.mark.parametrize("role", sorted(DECLARED))
def test_no_check_of_what_runs_is_left_out(role: str) -> None:
    assert {c for c in covered(DECLARED[role]) if c.endswith(".running")} <= OF_ITS_UNITS


def test_every_role_that_persists_settings_declares_them() -> None:
    assert set(ROLES) - set(DECLARED) - NO_PERSISTED_SETTING == set()
