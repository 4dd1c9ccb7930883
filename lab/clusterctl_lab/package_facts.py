"""The facts of packages/*.yml: which packages the repositories of NVIDIA, Mellanox and Ubuntu have, with their relations and sources."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FACTS = Path(__file__).with_name("packages")
EL9_FACTS = FACTS / "el9"
RELATIONS = ("depends", "pre_depends", "recommends", "provides", "conflicts", "breaks", "replaces")
ASSUMED = "assumed"
# As dpkg names them.
ARCHITECTURES = ("amd64", "arm64")


@dataclass(frozen=True, slots=True)
class PackageFact:
    """One version of one package in one repository.

    Attributes:
        repository: `cuda`, `doca`, `ubuntu` or `site`; `origin` is that of its Release file.
        releases: the releases of the distribution for which the repository has it.
        relations: control field (`depends`, ...) -> relations, with versions filled in.
        lab: the lab's repository offers it.
        base: a minimal server has it.
        source: where name, version and relations come from.
        assumed: what no public source confirms, in words; empty if all is confirmed.
        version_assumed: why this version is only assumed; empty if it was seen.
        module: dnf: the module whose streams show or hide it; empty if none does.
        architectures: the architectures of Ubuntu for which the repository has it.
    """

    name: str
    version: str
    repository: str
    origin: str
    releases: tuple[str, ...]
    relations: Mapping[str, tuple[str, ...]]
    lab: bool
    base: bool
    source: tuple[str, ...]
    assumed: str
    version_assumed: str
    module: str = ""
    architectures: tuple[str, ...] = ARCHITECTURES


@dataclass(frozen=True, slots=True)
class ModuleStreams:
    """The streams of a dnf module: the branch whose versions each one shows, empty for the newest. `default` is enabled where no other is."""

    default: str
    branches: Mapping[str, str]


def _no_none(value: object) -> object:
    return {} if value is None else value


Versions = Annotated[dict[str, str], BeforeValidator(_no_none)]


class _Entry(BaseModel):
    """A package of a file. older, versions and more are in ascending order; by_release stands for versions that only one release has."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    versions: tuple[str, ...]
    source: tuple[str, ...] = Field(min_length=1)
    older: Versions = Field(default_factory=dict)
    more: Versions = Field(default_factory=dict)
    by_release: dict[str, Versions] = Field(default_factory=dict)
    releases: tuple[str, ...] = ()
    depends: tuple[str, ...] = ()
    pre_depends: tuple[str, ...] = ()
    recommends: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    assumed: str = ""
    lab: bool = True
    base: bool = False
    module: str = ""
    architectures: tuple[str, ...] = ARCHITECTURES


class _Module(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    default: str
    streams: dict[str, str]


class _File(BaseModel):
    # Further top-level keys hold only anchors.
    model_config = ConfigDict(extra="ignore", frozen=True)

    repository: str
    origin: str
    releases: tuple[str, ...]
    sources: dict[str, str]
    modules: dict[str, _Module] = Field(default_factory=dict)
    packages: dict[str, _Entry]


def upstream_version(version: str) -> str:
    """The version that the tool itself shows: `4.5.2` for `1:4.5.2-1`."""
    return version.rpartition(":")[2].rpartition("-")[0] or version.rpartition(":")[2]


@cache
def package_facts(folder: Path = FACTS) -> tuple[PackageFact, ...]:
    """Every version of every package, in ascending order of versions within a package of one file."""
    return tuple(fact for file in _files(folder) for fact in _facts(file))


@cache
def module_streams(folder: Path) -> Mapping[str, ModuleStreams]:
    """The dnf modules of the repositories."""
    return {name: ModuleStreams(m.default, m.streams) for file in _files(folder) for name, m in file.modules.items()}


def _files(folder: Path) -> list[_File]:
    return [_File.model_validate(yaml.safe_load(file.read_text(encoding="utf-8"))) for file in sorted(folder.glob("*.yml"))]


def _facts(file: _File) -> Iterator[PackageFact]:
    for name, entry in file.packages.items():
        releases = entry.releases or file.releases
        for version, why in (*entry.older.items(), *((v, "") for v in entry.versions), *entry.more.items()):
            yield _fact(file, name, entry, (version, why), releases)
        for release, versions in entry.by_release.items():
            for item in versions.items():
                yield _fact(file, name, entry, item, (release,))


def _fact(file: _File, name: str, entry: _Entry, version: tuple[str, str], releases: tuple[str, ...]) -> PackageFact:
    text, why = version
    words = {"version": text, "upstream": upstream_version(text)}
    assumed = why if why.startswith(ASSUMED) else ""
    own = () if assumed or not why else (file.sources[why],)
    return PackageFact(
        name=name.format(**words),
        version=text,
        repository=file.repository,
        origin=file.origin,
        releases=releases,
        relations={field: tuple(r.format(**words) for r in getattr(entry, field)) for field in RELATIONS if getattr(entry, field)},
        lab=entry.lab,
        base=entry.base,
        source=(*(file.sources[s] for s in entry.source), *own),
        assumed=entry.assumed,
        version_assumed=assumed,
        module=entry.module,
        architectures=entry.architectures,
    )
