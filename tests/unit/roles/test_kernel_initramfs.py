"""A changed option of a module is in the initramfs, too: the role rebuilds it where its tool is installed, which is looked up only then."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from support.local_play import FinishedPlay, role_tasks, run_play

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the role gives its files to root")


def configure(folder: Path, *, tool: bool, blocked: str) -> tuple[FinishedPlay, str]:
    """Configure the modules of a node; the finished play, and the calls of the tool."""
    program, log = folder / "update-initramfs", folder / "calls"
    if tool:
        program.write_text(f"#!/bin/sh\necho called >> {log}\n")
        program.chmod(0o755)
    variables: dict[str, Any] = {
        "ansible_facts": {"os_family": "Debian", "kernel": "6.8.0-1046-nvidia"},
        "kernel_modules": [],
        "kernel_modules_absent": [blocked],
        "kernel_module_options": {},
        "__kernel_sys_module": {"stdout_lines": []},
        "__kernel_read": {"stdout": ""},
        "__kernel_initramfs": {"Debian": {"tool": str(program), "argv": [str(program)]}},
        **{f"__kernel_{name}_file": str(folder / name) for name in ("load", "absent", "options")},
    }
    done = run_play(folder, role_tasks("kernel", "modules"), variables=variables)
    return done, log.read_text() if log.exists() else ""


def test_it_is_rebuilt_after_a_change_and_only_then(tmp_path: Path) -> None:
    assert configure(tmp_path, tool=True, blocked="nouveau")[1] == "called\n"
    done, calls = configure(tmp_path, tool=True, blocked="nouveau")
    assert (done.changed, calls) == (0, "called\n"), done.output
    assert configure(tmp_path, tool=True, blocked="floppy")[1] == "called\n" * 2


def test_a_node_without_the_tool_has_no_initramfs_to_rebuild(tmp_path: Path) -> None:
    done, calls = configure(tmp_path, tool=False, blocked="nouveau")
    assert (done.code, done.changed, calls) == (0, 3, ""), done.output
