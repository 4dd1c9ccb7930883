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


@pytest.mark.parametrize(
    ("excludes", "repositories"),
    [
        ({}, {"baseos": "rdma-core,libibverbs*", "appstream": "rdma-core,libibverbs*"}),
        ({"rhel-9-for-x86_64-baseos-rpms": ["rdma-core", "libhns"]}, {"rhel-9-for-x86_64-baseos-rpms": "rdma-core,libhns"}),
    ],
)
def test_the_excluded_packages_of_dnf_repositories(excludes: dict[str, list[str]], repositories: dict[str, str], tmp_path: Path) -> None:
    variables = {"ofed_exclude_distribution": ["rdma-core", "libibverbs*"], "ofed_dnf_excludes": excludes}
    code, text, calls = apply(tmp_path, "ofed", "exclude_RedHat", variables, {f"--dump {r}": "excludepkgs = " for r in repositories})
    assert code == 0, text
    assert calls == [f"dnf config-manager --save --setopt={r}.excludepkgs={words}" for r, words in repositories.items()]
    again = {f"--dump {r}": f"excludepkgs = {words.replace(',', ', ')}" for r, words in repositories.items()}
    (tmp_path / "log").unlink()
    code, text, calls = apply(tmp_path, "ofed", "exclude_RedHat", variables, again)
    assert (code, calls) == (0, []), text
