"""What the roles do with dnf, which only records its arguments."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from support.local_play import role_tasks, run_play

if TYPE_CHECKING:
    from pathlib import Path

STREAMS = "nvidia-driver  {} [e]  default  Nvidia driver"


def apply(root: Path, role: str, tasks: str, variables: dict[str, Any], answers: dict[str, str]) -> tuple[int, str, list[str]]:
    """Run a task file with a dnf that prints `answers` by the last word; exit code, output, and dnf's other calls."""
    cases = "".join(f"  *'{words}') printf '%s\\n' '{text}' ;;\n" for words, text in answers.items())
    (root / "dnf").write_text(f'#!/bin/sh\ncase "$*" in\n{cases}  *) echo "dnf $*" >> "$LOG" ;;\nesac\n')
    (root / "dnf").chmod(0o755)
    log = root / "log"
    environment = {"PATH": f"{root}:{os.environ['PATH']}", "LOG": str(log)}
    done = run_play(root, role_tasks(role, tasks), variables=variables, environment=environment)
    return done.code, done.output, log.read_text().splitlines() if log.exists() else []


@pytest.mark.parametrize(
    ("module", "enabled", "ran"),
    [
        ("nvidia-driver:580-open", "", ["reset nvidia-driver", "enable nvidia-driver:580-open"]),
        ("nvidia-driver:580-open", STREAMS.format("latest-dkms"), ["reset nvidia-driver", "enable nvidia-driver:580-open"]),
        ("nvidia-driver:580-open", STREAMS.format("580-open"), []),
        ("", "", []),
    ],
)
def test_the_stream_of_the_dnf_module(module: str, enabled: str, ran: list[str], tmp_path: Path) -> None:
    answers = {"list --enabled nvidia-driver": enabled}
    code, text, calls = apply(tmp_path, "nvidia_driver", "pin_RedHat", {"nvidia_driver_dnf_module": module}, answers)
    assert code == 0, text
    assert calls == [f"dnf --assumeyes module {words}" for words in ran]


ROCKY = "repo id   repo name\nappstream   Rocky Linux 9 - AppStream\nbaseos   Rocky Linux 9 - BaseOS\ndoca   DOCA"
RHEL = "Updating Subscription Management repositories.\nrepo id   repo name\nrhel-9-for-x86_64-baseos-rpms   RHEL 9 - BaseOS (RPMs)"


@pytest.mark.parametrize(
    ("excludes", "listed", "repositories"),
    [
        ({}, ROCKY, {"appstream": "rdma-core,libibverbs*", "baseos": "rdma-core,libibverbs*"}),
        ({}, RHEL, {"rhel-9-for-x86_64-baseos-rpms": "rdma-core,libibverbs*"}),
        ({"site-el9-os": ["rdma-core", "libhns"]}, ROCKY, {"site-el9-os": "rdma-core,libhns"}),
    ],
)
def test_the_excluded_packages_of_dnf_repositories(
    excludes: dict[str, list[str]], listed: str, repositories: dict[str, str], tmp_path: Path
) -> None:
    variables = {"ofed_exclude_distribution": ["rdma-core", "libibverbs*"], "ofed_dnf_excludes": excludes}
    answers = {"repolist --enabled": listed, **{f"--dump {r}": "excludepkgs = " for r in repositories}}
    code, text, calls = apply(tmp_path, "ofed", "exclude_RedHat", variables, answers)
    assert code == 0, text
    assert calls == [f"dnf config-manager --save --setopt={r}.excludepkgs={words}" for r, words in repositories.items()]
    again = {
        "repolist --enabled": listed,
        **{f"--dump {r}": f"excludepkgs = {words.replace(',', ', ')}" for r, words in repositories.items()},
    }
    (tmp_path / "log").unlink()
    code, text, calls = apply(tmp_path, "ofed", "exclude_RedHat", variables, again)
    assert (code, calls) == (0, []), text


def test_a_node_whose_distribution_has_repositories_of_other_names_is_refused(tmp_path: Path) -> None:
    variables = {"ofed_exclude_distribution": ["rdma-core"], "ofed_dnf_excludes": {}}
    code, text, calls = apply(tmp_path, "ofed", "exclude_RedHat", variables, {"repolist --enabled": "repo id  name\nsite-el9-os  Site"})
    assert code == 2
    assert "no enabled repository is named after BaseOS or AppStream" in text
    assert "enabled: site-el9-os" in " ".join(text.split())
    assert calls == []


def test_an_earlier_version_is_unlocked_before_the_declared_one_is_installed(tmp_path: Path) -> None:
    variables = {"shared_locks": {"kernel": "5.14.0-503.el9", "kernel-core": "5.14.0-503.el9"}}
    locked = "kernel-5.14.0-427.el9\nkernel-core-0:5.14.0-503.el9.*\nnvidia-driver-3:580.1-1.el9.*"
    code, text, calls = apply(tmp_path, "shared", "unlock_RedHat", variables, {"versionlock list": locked})
    assert code == 0, text
    assert calls == ["dnf --quiet versionlock delete --raw kernel-5.14.0-427.el9"]


LOCKED = "Last metadata expiration check: 0:01:02 ago\nnccl-2.27.3-1.el9\n!libnccl-2.0-1.el9"


@pytest.mark.parametrize(
    ("hold", "locked", "ran"),
    [
        (True, "", ["add --raw nccl-2.27.3-1.el9", "add --raw libnccl-2.27.3-1.el9"]),
        (True, LOCKED, ["add --raw libnccl-2.27.3-1.el9"]),
        (True, "nccl-2.27.3-1.el9\nlibnccl-2.27.3-1.el9", []),
        (False, LOCKED, ["delete --raw nccl-2.27.3-1.el9"]),
        (False, "nccl-0:2.27.3-1.el9.*", []),
    ],
)
def test_packages_are_locked_one_by_one_and_once(hold: bool, locked: str, ran: list[str], tmp_path: Path) -> None:
    packages = [{"name": n, "version": "2.27.3-1.el9"} for n in ("nccl", "libnccl")]
    variables = {"shared_packages": packages, "shared_packages_hold": hold}
    code, text, calls = apply(tmp_path, "shared", "hold_RedHat", variables, {"versionlock list": locked})
    assert code == 0, text
    assert calls == [f"dnf --quiet versionlock {words}" for words in ran]


def test_check_mode_shows_the_locks_and_sets_none(tmp_path: Path) -> None:
    variables = {"shared_packages": [{"name": "nccl", "version": "2.27.3-1.el9"}], "shared_packages_hold": True}
    (tmp_path / "dnf").write_text('#!/bin/sh\ncase "$*" in\n  *list) exit 1 ;;\n  *) echo "dnf $*" >> "$LOG" ;;\nesac\n')
    (tmp_path / "dnf").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "LOG": str(tmp_path / "log")}
    done = run_play(tmp_path, role_tasks("shared", "hold_RedHat"), "--check", variables=variables, environment=environment)
    assert (done.code, done.changed, (tmp_path / "log").exists()) == (0, 1, False), done.output
    assert "lock nccl-2.27.3-1.el9" in done.output
