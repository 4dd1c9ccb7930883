"""The wheel alone, in its own environment next to the newest pytest. Needs a package index or uv's cache for the dependencies."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from clusterctl.adapters.node_packages import node_packages
from clusterctl.adapters.validators.bundle import Bundle
from support.bundle_run import run_bundle
from support.offline_index import offline
from support.roles import ROOT

ON_NODES_ONLY = {p.name for p in node_packages().locked()} - {"packaging"}  # ansible-core needs packaging
UNREACHABLE = re.compile(
    r"error sending request|dns error|Could not connect|Network is unreachable|timed out|network connectivity is disabled"
)


def build(kind: str, source: Path, to: Path) -> Path:
    """Build an archive with the hook's packages from build/node_packages; no package index is queried."""
    env = os.environ | offline(node_packages().folder)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(to)], cwd=source, env=env, check=True, capture_output=True
    )
    (built,) = to.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel and the newest pytest."""
    uv = shutil.which("uv") or str(ROOT / "build" / "uv" / "bin" / "uv")
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(folder)], check=True)
    constraints = ["-c", str(ROOT / "requirements" / "runtime.txt")]
    command = [uv, "pip", "install", "-q", "--python", str(folder / "bin" / "python"), *constraints, str(wheel), "pytest"]
    done = subprocess.run(command, env=os.environ | {"UV_SYSTEM_CERTS": "1"}, check=False, capture_output=True, text=True, timeout=300)
    if done.returncode and UNREACHABLE.search(done.stderr):
        pytest.skip(f"no index can be reached: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty directory: the home of a user without any files."""
    return tmp_path_factory.mktemp("home")


def run(environment: Path, home: Path, *words: str, site: bool = True) -> subprocess.CompletedProcess[str]:
    env = {"PATH": f"{environment}/bin:/usr/bin:/bin", "HOME": str(home)}
    cwd = home / "mysite" if site else home
    return subprocess.run(
        [f"{environment}/bin/{words[0]}", *words[1:]], cwd=cwd, env=env, check=False, capture_output=True, text=True, timeout=300
    )


@pytest.fixture(scope="module")
def site(environment: Path, home: Path) -> Path:
    """A site made by `init`; its two nodes point to a local port where nothing listens."""
    done = run(environment, home, "clusterctl", "init", "mysite", site=False)
    assert done.returncode == 0, done.stderr
    (hosts,) = (home / "mysite" / "inventory").glob("*/hosts.yml")
    hosts.write_text(re.sub(r"192\.0\.2\.(\d+)", r"127.0.2.\1, ansible_port: 1", hosts.read_text()))
    return home / "mysite"


def test_the_wheel_requires_no_packages_used_only_on_nodes(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (n for n in names if n.endswith(".dist-info/METADATA"))
        required = message_from_bytes(archive.read(metadata)).get_all("Requires-Dist") or []
    always = {re.split(r"[^\w-]", r)[0] for r in required if "extra ==" not in r}
    assert "ansible-core" in always
    assert not always & ON_NODES_ONLY
    packed = {n.rpartition("/")[2] for n in names if n.startswith("clusterctl/_node_packages/")}
    assert packed == {p.name for p in node_packages().folder.iterdir()}


def test_the_source_archive_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    archive = build("sdist", ROOT, tmp_path / "sdist")
    shutil.unpack_archive(archive, tmp_path, filter="data")
    again = build("wheel", tmp_path / archive.name.removesuffix(".tar.gz"), tmp_path / "wheel")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert {i.filename: i.CRC for i in one.infolist()} == {i.filename: i.CRC for i in other.infolist()}


def test_the_environment_has_the_newest_pytest(environment: Path, home: Path) -> None:
    on_nodes = {p.name: p.version for p in node_packages().locked()}["pytest"]
    major = re.match(r"pytest (\d+)\.", run(environment, home, "pytest", "--version", site=False).stdout)
    assert major is not None
    assert int(major[1]) > int(on_nodes.partition(".")[0])


def test_a_site_is_checked_and_planned(environment: Path, home: Path, site: Path) -> None:
    checked = run(environment, home, "clusterctl", "profile", "check", "-o", "json")
    assert checked.returncode == 0, checked.stderr
    assert json.loads(checked.stdout)["nodes"] == 2
    planned = run(environment, home, "clusterctl", "plan", "rack-12")
    assert planned.returncode == 4, planned.stderr
    assert "r12-n01" in planned.stdout
    unknown = run(environment, home, "clusterctl", "profile", "check", "rack-9")
    assert f"{environment}/lib/" in unknown.stderr, "the content comes from the wheel"


def test_doctor_misses_nothing(environment: Path, home: Path, site: Path) -> None:
    checks = json.loads(run(environment, home, "clusterctl", "doctor", "-o", "json").stdout)["checks"]
    failed = {c["name"] for c in checks if not c["ok"] and c["required"]}
    assert failed == set()


def test_the_bundle_runs_on_a_node(environment: Path, home: Path, site: Path) -> None:
    code = (
        "from pathlib import Path; from clusterctl.adapters.validators.bundle import build_bundle;"
        "b = build_bundle(Path('state')); print(b.path.resolve(), b.sha256, b.size)"
    )
    path, sha256, size = run(environment, home, "python", "-c", code).stdout.split()
    answer = run_bundle(Bundle(Path(path), sha256, int(size)), {}, python="/usr/bin/python3")
    assert (answer.rc, answer.data.get("findings")) == (0, []), answer.stderr
