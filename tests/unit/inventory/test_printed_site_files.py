"""The site files that the how-to pages print, for a node of each platform: what a role would refuse is found here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.inventory.load import load_profile
from support.doc_blocks import blocks_of
from support.filters import filter_plugin
from support.local_play import role_tasks, run_play
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from support.doc_blocks import Block

HOW_TO = ROOT / "docs" / "how-to"
LAYER = "inventory/mysite/group_vars/"
PROFILES = {
    "profile_hgx_h100_ib": "x86_64",
    "profile_hgx_b200_roce": "x86_64",
    "profile_gb200_nvl72": "aarch64",
    "profile_gb300_nvl72": "aarch64",
}
# Names of one architecture in paths and repositories (Debian's multiarch tuples, NVIDIA's CUDA and DOCA repositories).
NAMES_OF = {"x86_64": r"x86_64|amd64", "aarch64": r"aarch64|arm64|sbsa"}


@dataclass(frozen=True)
class Printed:
    """The variables of a node that has some of the printed files in its site."""

    variables: dict[str, Any]
    architecture: str


def resolved(blocks: list[Block], profile: str, folder: Path) -> Printed:
    site = folder / "inventory" / "mysite"
    site.mkdir(parents=True)
    (site / "hosts.yml").write_text("all:\n")
    for block in blocks:
        file = folder / block.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block.text)
    spec = load_profile([ROOT / "inventory" / "common", site], profile, content=ROOT)
    variables = {name: _without_unset(value) for role in spec.roles.values() for name, value in role.items()}
    return Printed(variables, PROFILES[profile])


def _without_unset(value: Any) -> Any:
    """Options of a list's elements that nobody set are None in a spec, and absent in a play."""
    if isinstance(value, dict):
        return {k: _without_unset(v) for k, v in value.items() if v is not None}
    return [_without_unset(v) for v in value] if isinstance(value, list) else value


def tools_blocks(*, container: bool) -> list[Block]:
    blocks = [b for b in blocks_of(HOW_TO / "first-rack.md") if b.file.endswith("/gpu_tools.yml")]
    found = [b for b in blocks if ("gpu_tools_container:" in b.text) == container]
    assert found
    return found


@pytest.mark.parametrize("profile", PROFILES)
def test_the_printed_builds_are_those_of_the_platform(profile: str, tmp_path: Path) -> None:
    printed = resolved(tools_blocks(container=False), profile, tmp_path)
    builds = printed.variables["gpu_tools_builds"]
    assert {b["name"] for b in builds} == {"nccl-tests", "nvbandwidth", "perftest-cuda", "gpu-burn"}
    assert filter_plugin("gpu_tools_builds").build_errors(builds, printed.variables["gpu_tools_packages"], "Debian") == []
    (other,) = set(NAMES_OF) - {printed.architecture}
    assert [c for b in builds for c in b["commands"] if re.search(NAMES_OF[other], c)] == []


@pytest.mark.parametrize("profile", PROFILES)
def test_the_printed_container_has_the_dcgm_of_the_platform(profile: str, tmp_path: Path) -> None:
    printed = resolved(tools_blocks(container=True), profile, tmp_path)
    variables = printed.variables
    errors = filter_plugin("gpu_tools_container").container_errors(
        variables["gpu_tools_container"], variables["gpu_tools_packages"], variables["nvidia_driver_container_toolkit_version"]
    )
    assert errors == []
    # The role reads the distribution before it.
    facts = {"ansible.builtin.setup": {"gather_subset": ["!all", "distribution"]}}
    done = run_play(tmp_path, [facts, *role_tasks("gpu_tools", "assert.yml")], variables=variables)
    assert done.code == 0, done.output


@pytest.mark.parametrize("profile", PROFILES)
def test_the_printed_mirror_is_that_of_the_architecture(profile: str, tmp_path: Path) -> None:
    blocks = [b for b in blocks_of(HOW_TO / "without-internet.md") if b.file.startswith(LAYER)]
    printed = resolved(blocks, profile, tmp_path)
    own, (other,) = NAMES_OF[printed.architecture], set(NAMES_OF) - {printed.architecture}
    for name in ("nvidia_driver_repository", "cuda_repository", "ofed_repository"):
        (uri,) = printed.variables[name]["uris"]
        assert re.search(own, uri), f"{name} of an {printed.architecture} node: {uri}"
        assert not re.search(NAMES_OF[other], uri)


def test_every_printed_file_of_variables_is_yaml_of_a_mapping() -> None:
    blocks = [b for page in HOW_TO.glob("*.md") for b in blocks_of(page) if b.file.startswith(LAYER)]
    assert len(blocks) > 8
    assert [b.name for b in blocks if not isinstance(load_yaml(b.text), dict)] == []
