"""Programs of an image, run by the real podman through the script of the role gpu_tools: as if they were on the node, and gone with whoever called them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from clusterctl_lab.image import ensure_image
from clusterctl_lab.podman import CONTAINERS_CONF, podman
from support.agents import until
from support.tool_container import script

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed")]

# This machine has no GPU, and may not raise limits.
RUNTIME = """#!/usr/bin/env python3
import os, sys
words = sys.argv[1:]
for left_out in ("--device", "--ulimit"):
    while left_out in words:
        at = words.index(left_out)
        del words[at : at + 2]
if words[0] == "run":
    words[1:1] = ["--ulimit", "nofile=16384:16384", "--ulimit", "nproc=16384:16384"]
os.execv({podman!r}, ["podman", *words])
"""


@pytest.fixture(scope="module")
def image() -> str:
    name = ensure_image(lambda _: None)
    return f"{name.rpartition(':')[0]}@{podman('image', 'inspect', '--format', '{{.Digest}}', name).stdout.strip()}"


@pytest.fixture
def programs(tmp_path: Path, image: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with programs that run in the image."""
    monkeypatch.setenv("CONTAINERS_CONF", str(CONTAINERS_CONF))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    texts = {"podman": RUNTIME.format(podman=shutil.which("podman")), "run-in-container": script(image=image)}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    for name in ("python3", "sleep"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).symlink_to(tmp_path / "run-in-container")
    return tmp_path / "bin"


def test_a_program_sees_the_node_and_its_folder(programs: Path) -> None:
    code = "import os, sys; open('log', 'w').write(os.environ['NCCL_DEBUG']); print(os.getppid(), os.uname().nodename); sys.exit(3)"
    environment = {**os.environ, "NCCL_DEBUG": "INFO"}
    # Not below /dev, as `tmp_path` may be: that is the container's own.
    with TemporaryDirectory() as work:
        done = subprocess.run(
            [programs / "python3", "-c", code], cwd=work, env=environment, check=False, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 3, done.stderr
        assert (Path(work) / "log").read_text() == "INFO"
    parent, name = done.stdout.split()
    assert name == os.uname().nodename
    assert int(parent) > 1, "processes of the node are seen"


def test_the_program_ends_with_the_killed_script(programs: Path, tmp_path: Path) -> None:
    process = subprocess.Popen([programs / "sleep", "60"], cwd=tmp_path, start_new_session=True)
    running = ("ps", "--all", "--quiet", "--filter", f"name=clusterctl-sleep-{process.pid}")
    until(lambda: podman(*running).stdout.strip() != "")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    until(lambda: podman(*running).stdout.strip() == "")
