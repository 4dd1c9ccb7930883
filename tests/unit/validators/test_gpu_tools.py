from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators import test_gpu_tools as module
from clusterctl_validators.finding import GOOD, Finding, Outcome
from clusterctl_validators.probe import CommandResult
from support.checks import run_checks, write_files
from support.gpu_node import DPKG, declared, dpkg

if TYPE_CHECKING:
    from pathlib import Path

PACKAGES = declared("gpu_tools")["gpu_tools_packages"]
ANSWERS: dict[str, CommandResult | str] = {
    "ib_write_bw --version": "Version: 6.18\n",
    "ib_write_bw_cuda --version": "Version: 6.27\n",
    "all_reduce_perf --help": "USAGE: all_reduce_perf \n\t[-t,--nthreads <num threads>] \n",
    "gpu_burn -h": "GPU Burn\nUsage: gpu-burn [OPTIONS] [TIME]\n",
    "nvbandwidth --help": "nvbandwidth CLI:\n  -h [ --help ]\n",
    "dcgmi --version": "\ndcgmi  version: 4.5.3\n\n",
    "mpirun --version": "mpirun (Open MPI) 4.1.6\n\nReport bugs to http://www.open-mpi.org/community/help/\n",
}


def check(root: Path, outputs: dict[str, CommandResult | str] | None = None, **changes: Any) -> dict[str, Finding]:
    return run_checks(module, declared("gpu_tools", **changes), root, {DPKG: dpkg(PACKAGES), **ANSWERS, **(outputs or {})})


def bad(findings: dict[str, Finding]) -> dict[str, str]:
    return {k: f.found or f.reason for k, f in findings.items() if f.outcome not in GOOD}


def test_every_tool_is_present_and_works(tmp_path: Path) -> None:
    findings = check(tmp_path)
    assert bad(findings) == {}
    assert len(findings) == 2 + sum(3 if p.get("command") else 2 for p in PACKAGES)


@pytest.mark.parametrize(
    ("command", "answer", "name", "found"),
    [
        ("ib_write_bw --version", "Version: 4.5\n", "perftest", "Version: 4.5"),
        ("nvbandwidth --help", "", "nvbandwidth", "nothing (exit 0)"),
        (
            "all_reduce_perf --help",
            CommandResult(127, stderr="all_reduce_perf: error while loading shared libraries: libnccl.so.2"),
            "nccl-tests",
            "error while loading",
        ),
        ("mpirun --version", "mpirun (Open MPI) 5.0.5\n", "openmpi-bin", "5.0.5"),
    ],
)
def test_a_tool_that_does_not_answer_as_declared(command: str, answer: CommandResult | str, name: str, found: str, tmp_path: Path) -> None:
    faults = bad(check(tmp_path, {command: answer}))
    assert set(faults) == {f"gpu_tools.package[{name}].command"}
    assert found in faults[f"gpu_tools.package[{name}].command"]


def test_a_tool_that_cannot_be_started_could_not_run(tmp_path: Path) -> None:
    finding = check(tmp_path, {"dcgmi --version": CommandResult(None, error="timed out after 30 s")})
    assert finding["gpu_tools.package[datacenter-gpu-manager-4-cuda13].command"].outcome is Outcome.COULD_NOT_RUN


def test_packages(tmp_path: Path) -> None:
    moved = dpkg(PACKAGES, perftest=("25.04.0-1", "hold"), nvbandwidth=("0.9-1", "install"), openmpi_bin=("", ""))
    assert bad(check(tmp_path, {DPKG: moved})) == {
        "gpu_tools.package[perftest].version": "25.04.0-1",
        "gpu_tools.package[nvbandwidth].held": "not held",
        "gpu_tools.package[openmpi-bin].version": "absent",
    }


def test_nothing_declared(tmp_path: Path) -> None:
    findings = check(tmp_path, gpu_tools_packages=[])
    assert findings["gpu_tools.packages"].outcome is Outcome.NOT_APPLICABLE
    assert bad(findings) == {}


BUILDS = [{"name": "nvbandwidth", "version": "0.9-1", "commit": "0123456789abcdef0123456789abcdef01234567"}]
ASK = "dpkg-query -W -f ${Clusterctl-Commit} nvbandwidth"
LINES = "Types: deb\nURIs: file:/var/cache/clusterctl/gpu_tools/packages\nSuites: ./\nTrusted: yes\n"


@pytest.mark.parametrize(
    ("builds", "answer", "text", "found"),
    [
        (BUILDS, BUILDS[0]["commit"], LINES, {}),
        (BUILDS, "", LINES, {"package[nvbandwidth].commit": "not built by this role"}),
        (BUILDS, "f" * 40, LINES, {"package[nvbandwidth].commit": "f" * 40}),
        (BUILDS, CommandResult(None, error="not found"), LINES, {"package[nvbandwidth].commit": "not found"}),
        (BUILDS, BUILDS[0]["commit"], None, {"builds.source.persisted": "absent"}),
        (BUILDS, BUILDS[0]["commit"], "URIs: file:/elsewhere\n", {"builds.source.persisted": "absent"}),
        ([], "", LINES, {"builds.source.persisted": "present"}),
    ],
)
def test_packages_built_from_source(
    builds: list[dict[str, str]], answer: CommandResult | str, text: str | None, found: dict[str, str], tmp_path: Path
) -> None:
    if text is not None:
        write_files(tmp_path, {module.SOURCE: text})
    faults = bad(check(tmp_path, {ASK: answer}, gpu_tools_builds=builds))
    assert faults == {f"gpu_tools.{name}": words for name, words in found.items()}


IMAGE = "registry.example.net/gpu-tools@sha256:" + "0123456789abcdef" * 4
CONTAINER = {
    "runtime": "podman",
    "image": IMAGE,
    "programs": [{"name": "bench", "command": "bench --help", "answers": "^USAGE"}, {"name": "tool"}],
}
INSPECT = "podman image inspect --format {{.Id}} " + IMAGE
LINK = "readlink /usr/local/bin/tool"
RUNS = {INSPECT: "e6b0c44298fc\n", "bench --help": "USAGE: bench\n", LINK: module.SCRIPT + "\n"}


@pytest.mark.parametrize(
    ("changes", "outputs", "script", "found"),
    [
        ({}, {}, f"#!/bin/sh\nimage={IMAGE}\n", {}),
        ({}, {}, None, {"script.persisted": "absent"}),
        ({}, {}, "image=registry.example.net/other@sha256:12\n", {"script.persisted": "registry.example.net/other@sha256:12"}),
        ({}, {INSPECT: CommandResult(1, stderr="no such image")}, f"image={IMAGE}\n", {"image": "absent"}),
        ({}, {INSPECT: CommandResult(None, error="podman not found")}, f"image={IMAGE}\n", {"image": "podman not found"}),
        ({}, {LINK: CommandResult(1)}, f"image={IMAGE}\n", {"program[tool].command": "absent"}),
        ({}, {"bench --help": CommandResult(125, stderr="unresolvable CDI devices nvidia.com/gpu=all")}, f"image={IMAGE}\n",
         {"program[bench].command": "unresolvable CDI devices nvidia.com/gpu=all"}),
        ({"gpu_tools_container": {}}, {}, "image=x\n", {"script.persisted": "present"}),
    ],
)  # fmt: skip
def test_tools_in_a_container(
    changes: dict[str, Any], outputs: dict[str, CommandResult | str], script: str | None, found: dict[str, str], tmp_path: Path
) -> None:
    if script is not None:
        write_files(tmp_path, {module.SCRIPT: script})
    faults = bad(check(tmp_path, {**RUNS, **outputs}, **{"gpu_tools_container": CONTAINER, **changes}))
    assert faults == {f"gpu_tools.container.{name}": words for name, words in found.items()}


def test_a_second_copy_of_a_program_is_named(tmp_path: Path) -> None:
    write_files(tmp_path, {module.SCRIPT: f"image={IMAGE}", "/usr/bin/tool": ""})
    faults = bad(check(tmp_path, {**RUNS}, gpu_tools_container=CONTAINER))
    assert faults == {"gpu_tools.container.program[tool].copies": "/usr/bin/tool"}
