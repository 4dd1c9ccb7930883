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
