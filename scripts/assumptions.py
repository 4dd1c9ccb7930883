"""docs/reference/assumptions.md: every package, version and value that no public source confirms, counted; `--check` fails where it is stale."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from clusterctl_lab.package_facts import EL9_FACTS, package_facts
from clusterctl_lab.stub_catalogue import UNIT_STATES
from generated_files import ROOT, write_or_check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl_lab.package_facts import PackageFact

PAGE = ROOT / "docs" / "reference" / "assumptions.md"
SOURCES = Path(__file__).with_name("profile_sources.yml")
# Where a comment states that a value or a format is not confirmed.
COMMENTED = (
    *(
        "lab/clusterctl_lab/simulator",
        "lab/clusterctl_lab/faults.yml",
        "lab/clusterctl_lab/fresh_installer.yml",
        "inventory/common",
        "roles",
    ),
    *("tools/clusterctl_tools", "validators/clusterctl_validators", "cli/clusterctl", "plugins", "contrib", "tests/faults"),
    "tests/cases/faults/added_gates.yml",
)
_MARK = re.compile(r"\b(assumed|not confirmed)\b", re.IGNORECASE)
HEAD = """<!-- Written by scripts/assumptions.py. -->

# Assumptions

What the lab, the profiles and the code take from no public source: {count} entries. Everything else in `lab/clusterctl_lab/packages` and in the profiles names
its source beside the value. Replace an entry by a fact when you have the machine or the repository in front of you.
"""


def main(argv: list[str]) -> int:
    """Write the page, or with `--check` report whether it is stale."""
    return write_or_check({PAGE: page()}, argv)


def page() -> str:
    """The whole text of the page."""
    sections = {
        "Packages": ("repository | package | assumed", list(_packages())),
        "Versions": ("repository | package | version | why", list(_versions())),
        "systemd units": ("unit | assumed", list(_units())),
        "Values of profiles": ("value | where | derived from", list(_values())),
        "Values and formats in the tree": ("file | comment", list(_comments())),
    }
    parts = [HEAD.format(count=sum(len(rows) for _, rows in sections.values()))]
    for title, (columns, rows) in sections.items():
        line = "|".join(["---"] * len(columns.split("|")))
        parts.append(f"\n## {title} ({len(rows)})\n\n| {columns} |\n|{line}|\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows))
    return "".join(parts)


def _facts() -> tuple[PackageFact, ...]:
    return package_facts() + package_facts(EL9_FACTS)


def _packages() -> Iterator[tuple[str, ...]]:
    yield from dict.fromkeys((f.repository, f"`{f.name}`", f.assumed) for f in _facts() if f.assumed)


def _versions() -> Iterator[tuple[str, ...]]:
    for fact in _facts():
        if fact.version_assumed:
            why = fact.version_assumed.removeprefix("assumed").lstrip(",:; ") or "no list of the repository shows it"
            yield fact.repository, f"`{fact.name}`", f"`{fact.version}`", why


def _units() -> Iterator[tuple[str, ...]]:
    for name, unit in yaml.safe_load(UNIT_STATES.read_text(encoding="utf-8")).items():
        if unit.get("assumed"):
            yield f"`{name}`", unit["assumed"]


def _values() -> Iterator[tuple[str, ...]]:
    for row in yaml.safe_load(SOURCES.read_text(encoding="utf-8")):
        if row["status"] != "confirmed":
            yield row["value"], f"`{row['where']}`", row["note"].strip().replace("|", "/")


def _comments() -> Iterator[tuple[str, ...]]:
    for folder in COMMENTED:
        for file in sorted(f for f in (ROOT / folder, *(ROOT / folder).rglob("*")) if f.suffix in (".py", ".yml", ".j2")):
            for line in file.read_text(encoding="utf-8").splitlines():
                if _MARK.search(line):
                    text = line.strip().lstrip("#").strip().replace("|", "/")
                    yield f"`{file.relative_to(ROOT)}`", text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
