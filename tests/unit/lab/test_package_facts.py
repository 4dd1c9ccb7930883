"""The facts about packages: complete in themselves, and equal to the reality pack where it is present."""

from __future__ import annotations

import re
from typing import Any

import pytest

from clusterctl_lab.package_facts import EL9_FACTS, PackageFact, package_facts
from support.plain_yaml import load_yaml
from support.roles import ROOT

PACK = ROOT.parent.parent / "shared" / "reality"
if not PACK.is_dir():
    PACK = ROOT.parent / "shared" / "reality"
NEEDS_PACK = pytest.mark.skipif(not PACK.is_dir(), reason="the reality pack is not beside this checkout")
_DEB_VERSION = re.compile(r"(\d+:)?\d[\w.+~]*(-[\w.+~]+)*")
_NAME = re.compile(r"[a-z0-9][a-z0-9.+-]+")
# Families of the pack by our repository.
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
    data = load_yaml((PACK / "packages.yaml").read_text())
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


ALL = [package_facts(), package_facts(EL9_FACTS)]


@pytest.mark.parametrize("facts", ALL, ids=["apt", "el9"])
def test_every_version_has_a_source_or_is_marked(facts: tuple[PackageFact, ...]) -> None:
    assert [f.name for f in facts if not f.source] == []
    seen = {(f.name, f.version, f.repository, r) for f in facts for r in f.releases}
    assert len(seen) == sum(len(f.releases) for f in facts), "a version is listed twice"


@pytest.mark.parametrize("facts", ALL, ids=["apt", "el9"])
def test_names_and_versions_are_well_formed(facts: tuple[PackageFact, ...]) -> None:
    for fact in facts:
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


def el_packages() -> list[dict[str, Any]]:
    """The packages of the pack for EL 9; `(EL)` in a name sets it apart from that of Ubuntu."""
    found = [p | {"name": p["name"].removesuffix(" (EL)")} for p in load_yaml((PACK / "packages.yaml").read_text())["packages"]]
    return [p for p in found if p["family"].startswith("cuda-repo rhel9") and p["name"] in {f.name for f in package_facts(EL9_FACTS)}]


@NEEDS_PACK
@pytest.mark.parametrize("package", el_packages() if PACK.is_dir() else [], ids=lambda p: str(p["name"]))
def test_relations_of_el_equal_the_pack(package: dict[str, Any]) -> None:
    facts = [f for f in package_facts(EL9_FACTS) if f.name == package["name"]]
    for fact in facts:
        required = {part.split()[0] for part in package.get("requires", "").split(",") if part}
        assert required <= {relation.split()[0] for relation in fact.relations.get("depends", ())}
        provided = [
            part.strip().replace("%{version}", "VERSION") for part in package.get("provides", "").split(",") if "nvidia-kmod" in part
        ]
        upstream = fact.version.partition(":")[2].partition("-")[0]
        assert [p.replace("VERSION", upstream) for p in provided] == list(fact.relations.get("provides", ()))
    assert {v for v in package["versions"] if re.fullmatch(r"580\.126\.20-1|1:4\.5\.2-1", v)} <= {f.version for f in facts}


@NEEDS_PACK
def test_the_driver_of_el_is_compared_as_a_whole() -> None:
    names = {p["name"] for p in el_packages()}
    assert {"kmod-nvidia-open-dkms", "nvidia-kmod-common", "nvidia-driver", "nvidia-driver-cuda", "nvidia-fabricmanager"} <= names
