"""Commands of roles that read several files at once: what people wrote into one of them is not a reason to fail."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from support.filters import filter_plugin
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Written by the kernel or a driver alone, in ASCII.
BY_THE_KERNEL = ("/proc/driver/", "/sys/", "/proc/swaps")
_PATH = re.compile(r"/(?:proc|sys|etc|boot|lib)/[^\s;|\"]+(?: \}\}[^\s;|\"]*)?")
NOT_UTF8 = b"# caf\xe9\nsecond line"


def tasks_of(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, list):
        for item in node:
            yield from tasks_of(item)
    elif isinstance(node, dict):
        yield node
        for key in ("block", "rescue", "always"):
            yield from tasks_of(node.get(key, []))


def commands() -> Iterator[tuple[str, list[str]]]:
    for path in sorted(ROOT.glob("roles/*/tasks/*.yml")):
        for task in tasks_of(load_yaml(path.read_text(encoding="utf-8"))):
            command = task.get("ansible.builtin.command")
            argv = [str(word) for word in command.get("argv", [])] if isinstance(command, dict) else []
            if {"tail", "-v"} <= set(" ".join(argv).split()):
                yield str(path.relative_to(ROOT)), argv


READ_TOGETHER = list(commands())


def test_there_are_such_commands() -> None:
    assert {path for path, _ in READ_TOGETHER} >= {"roles/shared/tasks/read_grub.yml", "roles/os_tuning/tasks/swap.yml"}


@pytest.mark.parametrize(("path", "argv"), READ_TOGETHER, ids=[path for path, _ in READ_TOGETHER])
def test_a_file_that_is_not_utf8_is_read(tmp_path: Path, path: str, argv: list[str]) -> None:
    files = sorted(set(_PATH.findall(" ".join(argv))))
    copies = {file: tmp_path / f"file{number}" for number, file in enumerate(files)}
    for file, copy in copies.items():
        copy.write_bytes(b"1\n" if file.startswith(BY_THE_KERNEL) else NOT_UTF8)
    words = [_PATH.sub(lambda found: str(copies[found[0]]), word) for word in argv]
    done = subprocess.run(words, capture_output=True, check=True)
    # Ansible refuses other output of a module (module_utils, MODULE_STRICT_UTF8_RESPONSE).
    texts = filter_plugin("file_texts").file_texts(done.stdout.decode("utf-8"))
    assert set(texts) == {str(copy) for copy in copies.values()}, path
