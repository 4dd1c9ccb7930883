"""Tools that run from a container image: what is refused, and the script that runs them."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from support.filters import filter_plugin
from support.local_play import role_tasks, run_play
from support.tool_container import GROUP, IMAGE, container, script

if TYPE_CHECKING:
    from collections.abc import Iterator

plugin = filter_plugin("gpu_tools_container")


@pytest.mark.parametrize(
    ("declared", "commands", "toolkit", "reason"),
    [
        ({}, ["mpirun --version"], "", ""),
        (container(), ["ib_write_bw --version"], "1.18.2", ""),
        (container("nvbandwidth", "ib_write_bw_cuda"), ["mpirun --version"], "1.18.2", ""),
        (container(image="registry.example.net/gpu-tools:1.2"), [], "1.18.2", "not pinned by a digest"),
        (container(image="registry.example.net/gpu-tools@sha256:12ab"), [], "1.18.2", "not pinned by a digest"),
        ({"runtime": "podman", "image": IMAGE}, [], "1.18.2", "programs is not declared"),
        (container(*GROUP, "orted"), [], "1.18.2", "orted is declared twice"),
        (container("nvbandwidth", "../sh"), [], "1.18.2", "../sh is not a plain program name"),
        (container("all_reduce_perf"), [], "1.18.2", "all_reduce_perf run in a container, but mpirun, orted would not"),
        (container("all_reduce_perf", "mpirun"), [], "1.18.2", "but orted would not"),
        (container("mpirun", "orted"), [], "1.18.2", "no *_perf program does"),
        (container("nvbandwidth", "dcgmi"), [], "1.18.2", "dcgmi cannot run in a container: the host engine"),
        (container(), ["mpirun --version"], "1.18.2", "mpirun comes from the package package0, too"),
        (container(), [], "", "nvidia_driver_container_toolkit_version is empty"),
    ],
)
def test_what_is_refused(declared: dict[str, Any], commands: list[str], toolkit: str, reason: str) -> None:
    packages = [{"name": f"package{i}", "command": c} for i, c in enumerate(commands)]
    errors = plugin.container_errors(declared, packages, toolkit)
    assert bool(errors) == bool(reason), errors
    assert not reason or any(reason in e for e in errors), errors


@pytest.mark.parametrize(
    ("runtime", "answer", "error"),
    [
        ("podman", "podman version 4.9.3\n", ""),
        ("podman", "podman version 3.4.4\n", "podman 3.4 has no support for CDI devices"),
        ("podman", "", "podman is not installed"),
        ("docker", "", "e.g. docker.io"),
        ("docker", "Docker version 28.2.2, build e6534b4\n", ""),
    ],
)
def test_the_runtime(runtime: str, answer: str, error: str) -> None:
    found = plugin.runtime_error(runtime, answer)
    assert error in found
    assert bool(found) == bool(error)


def program(folder: Path, text: str, name: str = "all_reduce_perf") -> Path:
    """A program of the container in a folder where the runtime only writes down how it is called."""
    for runtime in ("podman", "docker"):
        fake = folder / runtime
        fake.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >>{folder}/calls\ncase $1 in run) sleep "${{RUNS_S:-0}}"; exit 7 ;; esac\n')
        fake.chmod(0o755)
    (folder / "script").write_text(text)
    (folder / "script").chmod(0o755)
    (folder / name).symlink_to(folder / "script")
    return folder / name


def calls(folder: Path, count: int) -> list[str]:
    """How the runtime was called, once that happened `count` times."""
    for _ in range(100):
        lines = (folder / "calls").read_text().splitlines() if (folder / "calls").exists() else []
        if len(lines) >= count:
            return lines
        time.sleep(0.05)
    raise AssertionError(lines)


def environment_of(folder: Path, **more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NCCL", "CUDA", "LC_ALL", "OMPI", "UCX"))}
    return kept | {"PATH": f"{folder}:{os.environ['PATH']}"} | more


@pytest.fixture
def work() -> Iterator[Path]:
    """Not below /dev, as `tmp_path` may be: that is the container's own."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.parametrize(
    ("runtime", "gpus", "removal"),
    [("podman", "--device nvidia.com/gpu=all", "rm --force --ignore --time 0"), ("docker", "--gpus all", "rm --force")],
)
def test_a_program_runs_in_the_pinned_image(tmp_path: Path, work: Path, runtime: str, gpus: str, removal: str) -> None:
    file = program(tmp_path, script(runtime, arguments=["--volume=/opt/a b:/opt"]))
    environment = environment_of(tmp_path, NCCL_DEBUG="INFO", SECRET="x")
    done = subprocess.run([file, "-b", "8 G"], env=environment, cwd=work, check=False, timeout=20)
    assert done.returncode == 7
    run, removed = calls(tmp_path, 2)
    name = re.search(r"--name (clusterctl-all_reduce_perf-\d+) ", run)
    assert name
    assert removed == f"{removal} {name[1]}"
    assert run.endswith(f" --env NCCL_DEBUG {IMAGE} -b 8 G")
    assert "SECRET" not in run
    for words in (gpus, "--pull never", "--entrypoint all_reduce_perf", "--pid host", "--network host", "--ipc host", "--uts host"):
        assert f" {words} " in run
    assert "--volume=/opt/a b:/opt" in run
    assert f"--volume {work}:{work} --workdir {work}" in run
    assert "/opt/site/topology.xml" not in run, "it does not exist here"


def test_the_container_ends_with_a_killed_script(tmp_path: Path) -> None:
    file = program(tmp_path, script())
    process = subprocess.Popen([file], env=environment_of(tmp_path, RUNS_S="5"), start_new_session=True)
    assert calls(tmp_path, 1)[0].startswith("run ")
    os.killpg(process.pid, 9)
    process.wait()
    assert calls(tmp_path, 2)[1].startswith("rm --force")


def play(root: Path, declared: dict[str, Any]) -> tuple[int, str]:
    """Run the role's tasks for containers on this machine, with the runtime of `root`; script and programs are below it."""
    names = ("container_leftovers", "container") if declared else ("container_leftovers",)
    variables = {
        "gpu_tools_container": declared,
        "__gpu_tools_script": str(root / "lib" / "run"),
        "__gpu_tools_bin": str(root / "bin"),
    }
    done = run_play(root, role_tasks("gpu_tools", *names), variables=variables, environment={"PATH": f"{root}:{os.environ['PATH']}"})
    return done.code, done.output


def runtime(root: Path, version: str) -> None:
    """A podman that knows an image from its first `pull` on."""
    fake = root / "podman"
    fake.write_text(
        f"""#!/bin/sh
printf '%s\\n' "$*" >>{root}/calls
case "$1" in
  --version) echo podman version {version} ;;
  image) [ -e {root}/pulled ] && echo e6b0c44298fc ;;
  pull) touch {root}/pulled ;;
esac
"""
    )
    fake.chmod(0o755)
    (root / "bin").mkdir()


def test_the_role_sets_a_container_up_once_and_removes_it(tmp_path: Path) -> None:
    runtime(tmp_path, "4.9.3")
    code, output = play(tmp_path, container())
    assert code == 0, output
    assert f"image={IMAGE}\n" in (tmp_path / "lib" / "run").read_text()
    assert sorted(p.name for p in (tmp_path / "bin").iterdir()) == GROUP
    code, output = play(tmp_path, container())
    assert (code, "changed=0" in output) == (0, True), output
    assert [c for c in calls(tmp_path, 1) if c.startswith("pull ")] == [f"pull --quiet {IMAGE}"]
    assert any("--entrypoint python3 " in c for c in calls(tmp_path, 1)), "the launch agent's Python is looked for in the image"
    (tmp_path / "bin" / "other").symlink_to("/bin/true")
    assert play(tmp_path, container("nvbandwidth"))[0] == 0
    assert sorted(p.name for p in (tmp_path / "bin").iterdir()) == ["nvbandwidth", "other"]
    assert play(tmp_path, {})[0] == 0
    assert [p.name for p in (tmp_path / "bin").iterdir()] == ["other"]
    assert not (tmp_path / "lib" / "run").exists()


def test_an_old_runtime_is_refused_before_anything_changes(tmp_path: Path) -> None:
    runtime(tmp_path, "3.4.4")
    code, output = play(tmp_path, container())
    assert code != 0
    assert "has no support for CDI devices" in output
    assert not (tmp_path / "lib").exists()
