"""Unpacks Ansible and its content once per archive; the archives of earlier versions go."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from typing import TYPE_CHECKING

from clusterctl_on_node.run_folder import RefusedError

if TYPE_CHECKING:
    from pathlib import Path

EXIT_FORBIDDEN = 91
KEPT = 2
PAYLOAD = "payload/"
PROGRAM = "bin/ansible-playbook"
# What a run opens first of each kind: a program, Ansible, its runner.
USED = (PROGRAM, "lib/ansible/module_utils/basic.py", "lib/ansible_runner/__main__.py")
_COMPLETE = ".complete"
_PLAYBOOK_PROGRAM = """#!{python} -I
import sys
try:  # the node's own PyYAML where it has libyaml, which the copy in the archive lacks
    import yaml
    own = yaml.__with_libyaml__ and yaml.__version__.startswith("6.")
except Exception:
    own = False
if not own:
    for name in [n for n in sys.modules if n.split(".")[0] in ("yaml", "_yaml")]:
        del sys.modules[name]
sys.path.insert(0, {lib!r})
from ansible.cli.playbook import main
sys.exit(main())
"""


def unpacked(archive: Path, sha256: str) -> Path:
    """The folder with `lib`, `content` and `bin` of this archive, unpacked where it is not yet."""
    folder = archive.parent / f"content-{sha256}"
    if not (folder / _COMPLETE).exists():
        shutil.rmtree(folder, ignore_errors=True)
        partial = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(mode=0o700)
        _extract(archive, partial)
        _write_program(partial / PROGRAM, folder / "lib")
        (partial / _COMPLETE).touch()
        partial.rename(folder)
    (folder / _COMPLETE).touch()
    others = sorted(archive.parent.glob("content-*"), key=lambda p: p.stat().st_mtime, reverse=True)
    for old in (p for p in others[KEPT:] if p != folder):
        shutil.rmtree(old, ignore_errors=True)
    return folder


def check_usable(folder: Path) -> None:
    """Before a run changes anything: a hardened node may forbid what lies in this folder (noexec, fapolicyd), and the run would end halfway.

    Raises:
        RefusedError: it does, with the rule that has to be looked at.
    """
    for name in USED:
        try:
            with (folder / name).open("rb") as file:
                file.read(1)
        except PermissionError as e:
            why = f"the node does not let root open {folder / name} ({e.strerror}): a rule of fapolicyd or SELinux"
            raise RefusedError(EXIT_FORBIDDEN, why) from e
    if not os.access(folder / PROGRAM, os.X_OK):
        why = f"the node executes nothing in {folder}: its file system is mounted noexec (findmnt -T {folder})"
        raise RefusedError(EXIT_FORBIDDEN, why)


def _extract(archive: Path, to: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        for name in packed.namelist():
            if name.startswith(PAYLOAD):
                path = to / name[len(PAYLOAD) :]
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.write_bytes(packed.read(name))


def _write_program(path: Path, lib: Path) -> None:
    path.parent.mkdir(mode=0o700)
    path.write_text(_PLAYBOOK_PROGRAM.format(python=sys.executable, lib=str(lib)), encoding="utf-8")
    path.chmod(0o700)
