"""The driver of EL 9: dnf's own solver decides, from the facts about NVIDIA's repository."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner

from clusterctl.adapters.inventory.load import load_profile
from clusterctl.model.errors import LabError
from clusterctl_lab import resolve_command
from clusterctl_lab.dnf_root import DnfRoot
from clusterctl_lab.package_facts import EL9_FACTS, PackageFact, module_streams, package_facts
from clusterctl_lab.resolve_el import el9_root, is_for_el, resolve_el
from support.doc_blocks import blocks_of
from support.filters import filter_plugin
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.model.node import NodeSpec
    from clusterctl_lab.resolve import Resolution

pytest.importorskip("solv", reason="solv has no wheel for this Python")

COMMON = ROOT / "inventory" / "common"
PROFILE = "profile_hgx_h100_ib"
STREAM = "nvidia-driver:580-open"
REVISION = "3:580.126.20-1.el9"
NEWER = "3:580.159.03-1.el9"
DRIVER = [("nvidia-driver-cuda", REVISION), ("kmod-nvidia-open-dkms", REVISION)]


@pytest.fixture(scope="module")
def root() -> DnfRoot:
    return el9_root()


def documented() -> dict[str, Any]:
    page = ROOT / "docs" / "how-to" / "own-profile.md"
    (block,) = [b for b in blocks_of(page) if "profile_mysite_el9/nvidia_driver.yml" in b.marks.get("file", "")]
    data: dict[str, Any] = load_yaml(block.text)
    return data


def documented_spec(folder: Path, **variables: Any) -> NodeSpec:
    """The spec of a profile with the documented variables. Ansible evaluates templates of a file only."""
    extra = folder / "driver.yml"
    extra.write_text(yaml.safe_dump(documented() | variables))
    return load_profile([COMMON], PROFILE, extra_vars=[f"@{extra}"])


def resolution(root: DnfRoot, folder: Path, **variables: Any) -> Resolution:
    return resolve_el(root, PROFILE, documented_spec(folder, **variables))


def driver(name: str, version: str) -> dict[str, str]:
    return {"component": "driver", "name": name, "version": version}


def without(name: str) -> list[dict[str, str]]:
    return [p for p in documented()["nvidia_driver_packages"] if p["name"] != name]


def test_the_documented_driver_resolves_in_one_version(root: DnfRoot, tmp_path: Path) -> None:
    found = resolution(root, tmp_path)
    assert (found.role, found.reason) == ("", "")
    members = {
        name: version
        for name, version in found.installed.items()
        if name.startswith(("nvidia-driver", "nvidia-kmod", "kmod-", "libnvidia-ml"))
    }
    assert len(members) == 5
    assert set(members.values()) == {REVISION}
    assert found.installed["nvidia-fabricmanager"] == "580.126.20-1", "one of 595 is in the repository"
    assert found.declared == {"nvidia_driver": 12}


def test_the_role_accepts_the_documented_driver(tmp_path: Path) -> None:
    variables = documented_spec(tmp_path).roles["nvidia_driver"]
    packages = variables["nvidia_driver_packages"]
    wanted = {"driver": "580.126.20", "fabric_manager": "580.126.20", "imex": "", "nvlsm": "", "persistenced": "580.126.20"}
    wanted |= {"dcgm": "4.5.3", "container_toolkit": "1.18.2"}
    request = {"kernel_module": "open", "architecture": "hopper", "cuda": "13.0", "source": "cuda"}
    assert filter_plugin("nvidia_tuple").tuple_errors(wanted, request, packages, {}) == []
    assert filter_plugin("nvidia_source").source_errors("cuda", "open", True, packages) == []


def test_a_driver_without_its_stream_is_hidden(root: DnfRoot) -> None:
    simulation = root.simulate(DRIVER, "")
    assert (
        simulation.reason
        == f"No match for argument: nvidia-driver-cuda-{REVISION} (hidden: its stream of the module nvidia-driver is not enabled)"
    )
    assert root.simulate([(name, "3:595.71.05-1.el9") for name, _ in DRIVER], "").reason == "", "the newest branch is in the default stream"


@pytest.mark.parametrize(
    ("enabled", "names"), [("", {"595.45.04", "595.58.03", "595.71.05"}), (STREAM, {"580.82.07", "580.126.20", "580.159.03"})]
)
def test_a_stream_shows_all_versions_of_its_branch(root: DnfRoot, enabled: str, names: set[str]) -> None:
    """As a query of the real repository without a stream (NVIDIA/yum-packaging-precompiled-kmod issue 68)."""
    versions = {f.version for f in package_facts(EL9_FACTS) if f.name == "kmod-nvidia-open-dkms"}
    shown = {v for v in versions if "No match" not in root.simulate([("kmod-nvidia-open-dkms", v)], enabled).reason}
    assert shown == {f"3:{name}-1.el9" for name in names}


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"nvidia_driver_dnf_module": "nvidia-driver:581-open"}, "no such stream"),
        ({"nvidia_driver_dnf_module": "nvidia-drivers:580-open"}, "no such stream"),
        (
            {"nvidia_driver_packages": without("nvidia-modprobe")},
            "not declared, so dnf would take the newest: nvidia-modprobe 3:580.159.03-1.el9",
        ),
        ({"mysite_driver_revision": "3:580.126.21-1.el9"}, "No match for argument: nvidia-driver-cuda-3:580.126.21-1.el9"),
        ({"mysite_driver_revision": "580.126.20-1.el9"}, "No match for argument: nvidia-driver-cuda-580.126.20-1.el9"),
        (
            {"nvidia_driver_packages": [*without("kmod-nvidia-open-dkms"), driver("kmod-nvidia-open-dkms", NEWER)]},
            "kmod-nvidia-open-dkms-3:580.159.03-1.el9.noarch requires nvidia-kmod-common = 3:580.159.03",
        ),
        (
            {"nvidia_driver_packages": [*without(""), driver("kmod-nvidia-latest-dkms", REVISION)]},
            "conflicts with kmod-nvidia-",
        ),
        (
            {"nvidia_driver_packages": [*without("nvidia-modprobe"), driver("nvidia-modprobe", NEWER)]},
            "the declared packages of the driver have several versions: 3:580.126.20-1.el9, 3:580.159.03-1.el9",
        ),
    ],
)
def test_a_set_that_dnf_refuses_or_mixes(root: DnfRoot, tmp_path: Path, variables: dict[str, Any], reason: str) -> None:
    found = resolution(root, tmp_path, **variables)
    assert found.role == "nvidia_driver"
    assert reason in found.reason


def test_a_relation_that_rpm_does_not_have_is_named() -> None:
    fact = PackageFact(
        "a", "1-1", "site", "", ("el9",), {"depends": ("b (= 1)",)}, lab=False, base=False, source=(), assumed="", version_assumed=""
    )
    with pytest.raises(LabError, match=r"not a relation of rpm: b \(= 1\)"):
        DnfRoot([fact], {})


@pytest.mark.parametrize(
    ("relation", "installed"), [("<= 1-1", "1-1"), (">= 1-1", "2-1"), ("> 1-1", "2-1"), ("< 2-1", "1-1"), ("< 1-1", None)]
)
def test_relations_compare_versions(relation: str, installed: str | None) -> None:
    def fact(name: str, own: str, **relations: tuple[str, ...]) -> PackageFact:
        return PackageFact(name, own, "site", "", ("el9",), relations, lab=False, base=False, source=(), assumed="", version_assumed="")

    root = DnfRoot([fact("a", "1-1", depends=(f"b {relation}",)), fact("b", "1-1"), fact("b", "2-1")], {})
    assert root.simulate([("a", "1-1")], "").installed.get("b") == installed


def test_every_package_of_a_module_has_streams() -> None:
    modules = module_streams(EL9_FACTS)
    assert {f.module for f in package_facts(EL9_FACTS) if f.module} == set(modules)
    assert all(m.default in m.branches for m in modules.values())


def test_profiles_of_this_tree_are_for_ubuntu() -> None:
    assert not is_for_el(load_profile([COMMON], PROFILE))
    done = CliRunner().invoke(resolve_command.command, [PROFILE, "--release", "el9", "-i", str(COMMON)])
    assert "none of these profiles is for these releases" in str(done.exception)


def test_the_command_resolves_a_profile_for_el_there_only(tmp_path: Path) -> None:
    documented_spec(tmp_path)
    words = [PROFILE, "-i", str(COMMON), "-e", f"@{tmp_path / 'driver.yml'}", "-o", "json", "--out", str(tmp_path / "out" / "resolve.json")]
    done = CliRunner().invoke(resolve_command.command, words)
    assert done.exception is None, done.output
    (row,) = json.loads((tmp_path / "out" / "resolve.json").read_text())["results"]
    assert (row["release"], row["resolves"]) == ("el9", True)


def test_without_the_solver_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "solv", None)
    with pytest.raises(LabError, match="solv is not installed"):
        el9_root()
