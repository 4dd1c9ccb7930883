"""`ansible-doc` of the collection."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from support.roles import COLLECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def ansible_doc(kind: str, names: Iterable[str], home: Path) -> dict[str, Any]:
    """The documentation of plug-ins by name; one call for all, since each start takes seconds. `home`: an empty folder."""
    env = {
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_HOME": str(home),
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
    }
    words = [sys.executable, "-m", "ansible.cli.doc", "-t", kind, "-j", *names]
    answer = subprocess.run(words, env=env, cwd=home, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(answer.stdout)
    return found
