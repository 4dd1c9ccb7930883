"""The metadata of an apt repository, from facts about its packages: `Packages` and `Release`, as apt reads them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from clusterctl_lab.package_facts import PackageFact

_FIELDS = {
    "depends": "Depends",
    "pre_depends": "Pre-Depends",
    "recommends": "Recommends",
    "provides": "Provides",
    "conflicts": "Conflicts",
    "breaks": "Breaks",
    "replaces": "Replaces",
}


def relation_lines(fact: PackageFact) -> list[str]:
    """The relations of a package as lines of a control file."""
    return [f"{_FIELDS[field]}: {', '.join(relations)}" for field, relations in fact.relations.items()]


def stanza(fact: PackageFact) -> str:
    """A package of an index. Its file is for every architecture: a repository offers only those packages that it has for the node's own."""
    lines = [f"Package: {fact.name}", f"Version: {fact.version}", "Architecture: all", "Maintainer: none <none@localhost>"]
    name = f"{fact.name}_{fact.version.rpartition(':')[2]}_all.deb"
    lines += [*relation_lines(fact), f"Filename: ./{name}", "Size: 1", f"SHA256: {'0' * 64}", "Description: facts only"]
    return "\n".join(lines) + "\n"


def status_stanza(fact: PackageFact) -> str:
    """The same package in dpkg's list of installed ones."""
    lines = [f"Package: {fact.name}", "Status: install ok installed", f"Version: {fact.version}", "Architecture: all"]
    return "\n".join([*lines, "Maintainer: none <none@localhost>", *relation_lines(fact), "Description: facts only"]) + "\n"


def write_repository(folder: Path, origin: str, facts: Iterable[PackageFact]) -> None:
    """Write the metadata of a flat repository. Preferences select by the `origin` of its Release file; empty means that it has none."""
    folder.mkdir(parents=True)
    index = "\n".join(map(stanza, facts)).encode()
    (folder / "Packages").write_bytes(index)
    (folder / "Release").write_text(release_text(origin, index), encoding="utf-8")


def release_text(origin: str, index: bytes) -> str:
    """The Release file of a flat repository with this index."""
    # apt warns about a file without a date.
    lines = [*([f"Origin: {origin}"] if origin else []), "Date: Thu, 01 Jan 2026 00:00:00 UTC"]
    return "\n".join([*lines, "SHA256:", f" {hashlib.sha256(index).hexdigest()} {len(index)} Packages"]) + "\n"


def offered(facts: Sequence[PackageFact], release: str) -> dict[tuple[str, str], list[PackageFact]]:
    """(repository, origin) -> what it has for this release of the distribution."""
    found: dict[tuple[str, str], list[PackageFact]] = {}
    for fact in facts:
        if release in fact.releases:
            found.setdefault((fact.repository, fact.origin), []).append(fact)
    return found
