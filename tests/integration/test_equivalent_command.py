"""The printed equivalent command runs unchanged: from an empty directory, with only HOME and PATH in the environment."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from support.roles import ROOT

BARE = {"PATH": "/usr/bin:/bin"}
PRINT_COMMAND = """
import json, sys
from pathlib import Path
from clusterctl.adapters.ansible.runner import PlaybookRequest, run_playbook
hosts, nodes, artifacts = Path(sys.argv[1]), tuple(sys.argv[2].split(",")), Path(sys.argv[3])
print(run_playbook(PlaybookRequest("provision.yml", (hosts,), nodes, tags=("nccl",), check=True), artifacts).command_line)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, unpacked as pip does it; with a checkout next to it, missing files would go unnoticed."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], cwd=ROOT, check=True, capture_output=True
    )
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder / "site packages")
    return folder / "site packages"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    hosts = {f"n{i}": {"ansible_connection": "local", "node_roles": ["nccl"]} for i in range(1, 10)}
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
    (tmp_path / "empty").mkdir()
    return tmp_path


def printed(installed: Path, site: Path, nodes: str, **environment: str) -> str:
    """What a run in `site/` prints, its inventory named relative to it."""
    words = [sys.executable, "-c", PRINT_COMMAND, "hosts.json", nodes, str(site / "artifacts")]
    env = {**BARE, "HOME": str(site), "PYTHONPATH": str(installed), **environment}
    done = subprocess.run(words, cwd=site / "site", env=env, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def typed(line: str, site: Path) -> subprocess.CompletedProcess[str]:
    env = {**BARE, "HOME": str(site)}
    return subprocess.run(["/bin/sh", "-c", line], cwd=site / "empty", env=env, check=False, capture_output=True, text=True, timeout=120)


def test_the_printed_command_runs_unchanged(installed: Path, site: Path) -> None:
    line = printed(installed, site, "n1,n2")
    done = typed(f"{line} --list-tasks", site)
    assert done.returncode == 0, done.stderr
    assert "nccl : " in done.stdout
    without = [w for w in shlex.split(line) if not w.startswith("ANSIBLE_")]
    assert "was not found" in typed(f"{shlex.join(without)} --list-tasks", site).stderr, "the settings in front are needed"


def test_many_nodes_are_passed_in_a_limit_file(installed: Path, site: Path) -> None:
    names = [f"n{i}" for i in range(1, 10)]
    line = printed(installed, site, ",".join(names))
    assert f"--limit @{site}/artifacts/limit " in line
    done = typed(f"{line} --list-hosts", site)
    assert done.returncode == 0, done.stderr
    assert "hosts (9)" in done.stdout


def test_the_users_configuration_and_vault_files_are_in_the_command(installed: Path, site: Path) -> None:
    (site / "site" / "ansible.cfg").write_text("[defaults]\n")
    (site / "vault password").write_text("x")
    line = printed(installed, site, "n1", ANSIBLE_VAULT_IDENTITY_LIST=f"prod@{site}/vault password", ANSIBLE_BECOME_PASSWORD="s3cr3t-4711")
    words = shlex.split(line)
    assert f"ANSIBLE_CONFIG={site}/site/ansible.cfg" in words
    assert f"ANSIBLE_VAULT_IDENTITY_LIST=prod@{site}/vault password" in words
    assert "s3cr3t-4711" not in line
    assert typed(f"{line} --list-tasks", site).returncode == 0


def test_a_playbook_on_the_path_is_named_without_its_folder(installed: Path, site: Path) -> None:
    line = printed(installed, site, "n1", PATH=f"{Path(sys.executable).parent}:/usr/bin:/bin")
    assert " ansible-playbook -i " in line
