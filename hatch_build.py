"""Build hook: puts the packages that travel to nodes (requirements/node.txt) into the wheel; in a checkout, into build/node_packages."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LOCK = "node.txt"


class NodePackagesHook(BuildHookInterface[Any]):
    """Downloads them once; pip compares them with the hashes of the lock. The wheels stay whole, licences included."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the wheel is written; an editable one finds them in the checkout."""
        root = Path(self.root)
        folder = root / "build" / "node_packages"
        lock = root / "requirements" / LOCK
        if not _is_current(folder, lock):
            _download(lock, folder)
        if version != "editable":
            build_data["force_include"][str(folder)] = "clusterctl/_node_packages"


def _is_current(folder: Path, lock: Path) -> bool:
    copy = folder / LOCK
    return copy.is_file() and copy.read_bytes() == lock.read_bytes()


def _download(lock: Path, folder: Path) -> None:
    folder.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        complete = Path(temporary) / folder.name
        words = ["--require-hashes", "--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check"]
        subprocess.run([sys.executable, "-m", "pip", "download", *words, "-r", str(lock), "-d", str(complete)], check=True)
        impure = [p.name for p in complete.iterdir() if not p.name.endswith("-none-any.whl")]
        if impure:
            raise SystemExit(f"not pure Python, cannot travel to nodes: {', '.join(impure)}")
        shutil.copyfile(lock, complete / LOCK)
        if folder.exists():
            shutil.rmtree(folder)
        complete.replace(folder)
