"""Shell completion: what the real program returns on TAB, called the way bash calls it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from support.rack_after_run import provisioned_rack
from support.roles import ROOT

CLUSTERCTL = str(Path(sys.executable).parent / "clusterctl")
HOSTS = """
all:
  children:
    rack_7:
      hosts:
        r7-n01: {bmc_password: !vault "x"}
        r7-n[02:36]:
    profile_x: {children: {rack_7: }}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six recorded nodes of rack 12, a declared rack 7, a gate and a role of the site, two started lab nodes."""
    folder = tmp_path_factory.mktemp("site")
    store, _ = provisioned_rack(folder / "state")
    store.close()
    (folder / "state" / "runs" / "20200101-000000-validate-0000").mkdir()
    (folder / "hosts").mkdir()
    (folder / "hosts" / "hosts.yml").write_text(HOSTS)
    (folder / "hosts" / "group_vars").mkdir()
    (folder / "hosts" / "group_vars" / "rack_7.yml").write_text("rack_8: {hosts: {no_node: }}\n")
    (folder / "hosts" / "broken.yml").write_text("a: [")
    (folder / "roles" / "fan_control" / "tasks").mkdir(parents=True)
    (folder / "roles" / "fan_control" / "tasks" / "main.yml").write_text("[]\n")
    (folder / "state" / "lab" / "hosts").mkdir(parents=True)
    (folder / "state" / "lab" / "hosts" / "hosts.yml").write_text("rack_40: {hosts: {r40-n01: , r40-n02: }}\n")
    (folder / "clusterctl.yml").write_text("inventory: [hosts]\nstate_dir: state\n")
    return folder


def offered(site: Path, *words: str) -> list[str]:
    """The completions offered for the last word."""
    env = os.environ | {
        "_CLUSTERCTL_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["clusterctl", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run([CLUSTERCTL], cwd=site, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


NODES = [f"r12-n0{i}" for i in range(1, 7)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("pl",), ["plan"]),
        (("la",), ["lab"]),
        (("status", ""), ["all", "profile_lab", "rack_12", *NODES]),
        (("status", "rack-"), ["rack-12"]),
        (("drain", "r12-n01,r12-n02,r12-n03,r12-n05,r12-n06,r1"), [f"r12-n01,r12-n02,r12-n03,r12-n05,r12-n06,{n}" for n in NODES]),
        (("plan", "rack"), ["rack_12", "rack_7"]),
        (("plan", "r7"), ["r7-n01"]),
        (("plan", "rack-7", "--limit", "r7"), ["r7-n01"]),
        (("history", "r12-n04"), ["r12-n04"]),
        (("parse", "nccl"), ["nccl_tests"]),
        (("parse", "nccl_tests", "some"), ["some"]),
        (("profile", "show", "rack_7", "--role", "fan"), ["fan_control"]),
        (("judge", "2020"), ["20200101-000000-validate-0000"]),
        (("report", "l"), ["last"]),
        (("provision", "--resume", "2020"), []),
        (("burnin", "--gates", "dcgm_diag,rdma_p"), ["dcgm_diag,rdma_pair", "dcgm_diag,rdma_pair_gpu"]),
        (("judge", "last", "--gate", "rdma_p"), ["rdma_pair", "rdma_pair_gpu"]),
        (("provision", "--roles", "kernel,fan"), ["kernel,fan_control"]),
        (("provision", "--roles", "sha"), []),
        (("lab", "fault", "r40"), ["r40-n01", "r40-n02"]),
        (("lab", "fault", "r40-n01", "hca_deg"), ["hca_degraded"]),
        (("lab", "down", "rack-4"), ["rack-40"]),
        (("lab", "up", ""), ["rack_40"]),
        (("lab", "status", "r"), ["rack_40"]),
        (("lab", "resolve", "profile-x"), ["profile-x"]),
        (("plan", "-i", "ho"), ["ho"]),
        (("plan", "--vault-password-file", "ho"), ["ho"]),
        (("plan", "--vault-id", "ho"), ["ho"]),
        (("plan", "--vault-id", "prod@ho"), ["prod@hosts/"]),
        (("plan", "--vault-id", "prod@hosts/h"), ["prod@hosts/hosts.yml"]),
        (("provision", "-e", "@clu"), ["@clusterctl.yml"]),
        (("provision", "-e", "@none/"), []),
        (("--state-dir", "st"), ["st"]),
    ],
    ids=" ".join,
)
def test_each_argument_offers_its_completions(site: Path, words: tuple[str, ...], expected: list[str]) -> None:
    assert offered(site, *words) == expected


def test_only_provisioning_runs_are_offered_to_resume(site: Path) -> None:
    found = offered(site, "provision", "--resume", "2")
    assert len(found) == 1
    assert "-provision-" in found[0]


def test_a_broken_configuration_offers_nothing_and_prints_no_error(tmp_path: Path) -> None:
    (tmp_path / "clusterctl.yml").write_text("nonsense: [")
    for words in (("plan", ""), ("burnin", "--gates", ""), ("report", ""), ("provision", "--roles", ""), ("lab", "fault", "")):
        assert offered(tmp_path, *words) == []


def test_a_typed_state_directory_is_used(site: Path, tmp_path: Path) -> None:
    assert offered(tmp_path, "--state-dir", str(site / "state"), "status", "r12-n04") == ["r12-n04"]


def test_a_damaged_database_offers_nothing(tmp_path: Path) -> None:
    (tmp_path / ".clusterctl").mkdir()
    database = tmp_path / ".clusterctl" / "clusterctl.db"
    database.write_text("no database" * 1000)
    assert offered(tmp_path, "status", "r") == []
    database.unlink()
    sqlite3.connect(database).close()
    assert offered(tmp_path, "status", "r") == []


def test_a_large_fleet_offers_groups_first_and_nodes_once_a_letter_is_typed(tmp_path: Path) -> None:
    names = ", ".join(f"n{i:03d}: " for i in range(101))
    (tmp_path / "hosts.yml").write_text(f"rack_1: {{hosts: {{{names}}}}}\n")
    (tmp_path / "clusterctl.yml").write_text("inventory: [hosts.yml]\n")
    assert offered(tmp_path, "plan", "") == ["all", "rack_1"]
    assert len(offered(tmp_path, "plan", "n")) == 101


def test_completion_imports_nothing_heavy(site: Path) -> None:
    code = (
        "import sys; from clusterctl.main import call\n"
        "try: call([])\n"
        "except SystemExit: pass\n"
        "heavy = {'sqlalchemy', 'pydantic', 'asyncssh', 'ansible', 'ansible_runner', 'jinja2'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    env = os.environ | {"_CLUSTERCTL_COMPLETE": "bash_complete", "COMP_WORDS": "clusterctl plan r", "COMP_CWORD": "2"}
    done = subprocess.run([sys.executable, "-c", code], cwd=site, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "r7-n01" in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_every_shell_calls_the_program(shell: str) -> None:
    done = subprocess.run([CLUSTERCTL, "completion", shell], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert f"_CLUSTERCTL_COMPLETE={shell}_complete" in done.stdout
