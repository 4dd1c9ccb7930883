"""The facts about packages: complete in themselves, and equal to the reality pack where it is present."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from clusterctl_lab.package_facts import PackageFact, package_facts
from support.roles import ROOT

PACK = ROOT.parent.parent / "shared" / "reality"
if not PACK.is_dir():
    PACK = ROOT.parent / "shared" / "reality"
NEEDS_PACK = pytest.mark.skipif(not PACK.is_dir(), reason="the reality pack is not beside this checkout")
_DEB_VERSION = re.compile(r"(\d+:)?\d[\w.+~]*(-[\w.+~]+)*")
_NAME = re.compile(r"[a-z0-9][a-z0-9.+-]+")
# Families of the pack by our repository; EL has no metadata here.
FAMILIES = {"cuda-repo ubuntu": "cuda", "doca-host 3.2.1": "doca", "ubuntu2404-archive": "ubuntu"}
# Packages of the pack that compete with nothing that a profile installs.
LEFT_OUT = frozenset(
    {
        "nvidia-fabricmanager-570",
        "nvidia-fabricmanager-dev",
        "nvidia-driver-pinning-580",
        "nvidia-driver-570-open",
        "cuda-keyring",
        "datacenter-gpu-manager",
        "cuda-toolkit-12-9",
        "cuda-toolkit-13-1",
        "knem-dkms",
        "mlnx-fw-updater",
    }
)


def pack_packages() -> list[dict[str, Any]]:
    data = yaml.safe_load((PACK / "packages.yaml").read_text())
    return [p for p in data["packages"] if repository_of(p) and _NAME.fullmatch(p["name"]) and p["name"] not in LEFT_OUT]


def repository_of(package: dict[str, Any]) -> str:
    return next((ours for prefix, ours in FAMILIES.items() if package["family"].startswith(prefix)), "")


def facts_of(package: dict[str, Any]) -> list[PackageFact]:
    return [f for f in package_facts() if f.name == package["name"] and f.repository == repository_of(package)]


def relation_names(text: str) -> set[str]:
    """The packages of a relation line, without substitution variables, restrictions and other architectures."""
    names = set()
    for part in re.split(r"[,|]", re.sub(r"\([^)]*\)|\[[^]]*\]", "", text)):
        words = part.split()
        if words and not words[0].startswith(("$", "libcuda-")) and ":" not in words[0]:
            names.add(words[0])
    return names


def test_every_version_has_a_source_or_is_marked() -> None:
    assert [f.name for f in package_facts() if not f.source] == []
    seen = {(f.name, f.version, f.repository, r) for f in package_facts() for r in f.releases}
    assert len(seen) == sum(len(f.releases) for f in package_facts()), "a version is listed twice"


def test_names_and_versions_are_well_formed() -> None:
    for fact in package_facts():
        assert _NAME.fullmatch(fact.name), fact
        assert _DEB_VERSION.fullmatch(fact.version), fact


def test_several_versions_of_every_driver_package_are_side_by_side() -> None:
    for name in ("nvidia-driver-580-open", "libnvidia-compute-580", "nvidia-persistenced", "nvidia-modprobe", "nvidia-fabricmanager"):
        versions = [f.version for f in package_facts() if f.name == name and f.repository == "cuda"]
        assert len(versions) > 3, name
        assert versions.index(next(v for v in versions if v.startswith("580.126.20"))) < len(versions) - 1, f"{name}: nothing is newer"


@NEEDS_PACK
def test_every_package_of_the_pack_is_known() -> None:
    assert [p["name"] for p in pack_packages() if not facts_of(p) and p["versions"]] == []


@NEEDS_PACK
@pytest.mark.parametrize("package", pack_packages() if PACK.is_dir() else [], ids=lambda p: f"{p['family'][:9]}-{p['name']}")
def test_versions_and_relations_equal_the_pack(package: dict[str, Any]) -> None:
    facts = facts_of(package)
    seen = {v for v in package["versions"] if _DEB_VERSION.fullmatch(v) and "-" in v}
    assert seen <= {f.version for f in facts}
    for field in ("depends", "provides", "conflicts", "breaks", "replaces", "pre_depends"):
        # Two entries have a sentence instead of a relation.
        wanted = relation_names(package.get(field, "")) if not re.search("its tools|strict pins", package.get(field, "")) else set()
        wanted |= relation_names(package.get("depends_set", "")) if field == "depends" else set()
        wanted = {n for n in wanted if _NAME.fullmatch(n)}
        for fact in facts:
            if fact.version in seen:
                assert wanted <= relation_names(", ".join(fact.relations.get(field, ()))), (fact.name, fact.version, field)
