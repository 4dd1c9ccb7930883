"""The stub packages: every version that the facts list, with what the lab's stand-in of the package does (packages.yml, units.yml)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from clusterctl.model.errors import ConfigError
from clusterctl_lab.package_facts import PackageFact, package_facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CATALOGUE = Path(__file__).with_name("packages.yml")
UNIT_STATES = Path(__file__).with_name("units.yml")
# Profiles pin the packages of this release.
RELEASE = "24.04"


@dataclass(frozen=True, slots=True)
class StubPackage:
    """One version of one package.

    Attributes:
        fact: its name, version, repository and relations.
        installed: a new node has this version installed.
        commands: installed path -> module of the simulator.
        units: its systemd units -> whether the installation enables and starts them.
        modules: its kernel modules.
        driver: the version of these, where that is not the package's.
        files: its empty files; `{version}` in a path is the version without its revision.
        texts: path -> text of a file.
    """

    fact: PackageFact
    installed: bool = False
    commands: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, bool] = field(default_factory=dict)
    modules: tuple[str, ...] = ()
    driver: str = ""
    files: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)


def stub_packages(catalogue: Path = CATALOGUE, facts: Sequence[PackageFact] | None = None) -> tuple[StubPackage, ...]:
    """Every version of every stub package.

    Raises:
        ConfigError: the catalogue names a package or a version of which there is no fact.
    """
    entries: dict[str, dict[str, Any]] = yaml.safe_load(catalogue.read_text(encoding="utf-8"))
    states = {name: bool(unit["enabled"]) for name, unit in yaml.safe_load(UNIT_STATES.read_text(encoding="utf-8")).items()}
    offered = [f for f in (package_facts() if facts is None else facts) if f.lab and RELEASE in f.releases]
    versions: dict[str, list[str]] = {}
    for fact in offered:
        versions.setdefault(fact.name, []).append(fact.version)
    for name, entry in entries.items():
        for key in ("installed", "from", "until"):
            if name not in versions or entry.get(key, versions[name][0]) not in versions[name]:
                raise ConfigError(
                    detail=f"the lab's catalogue names {name} {entry.get(key, '')}, of which there is no fact",
                    hint=f"add it to {catalogue.with_name('packages')}, or correct {catalogue}",
                )
    return tuple(_package(fact, entries.get(fact.name, {}), versions[fact.name], states) for fact in offered)


def _package(fact: PackageFact, entry: Mapping[str, Any], versions: Sequence[str], states: Mapping[str, bool]) -> StubPackage:
    installed = entry.get("installed") == fact.version
    first, last = entry.get("from", versions[0]), entry.get("until", versions[-1])
    if not versions.index(first) <= versions.index(fact.version) <= versions.index(last):
        return StubPackage(fact, installed)
    return StubPackage(
        fact=fact,
        installed=installed,
        commands=entry.get("commands", {}),
        units={unit: states[unit] for unit in entry.get("units", ())},
        modules=tuple(entry.get("modules", ())),
        driver=entry.get("driver", ""),
        files=tuple(entry.get("files", ())),
        texts=entry.get("texts", {}),
    )
