"""Finds programs of this machine, or those that `scripts/test_tools.sh` unpacked into build/tools."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from support.roles import ROOT

_UNPACKED = ROOT / "build" / "tools" / "root"
_PLACES = ("/usr/sbin", "/sbin", *(str(_UNPACKED / place) for place in ("usr/bin", "usr/sbin", "bin", "sbin")))
_POSTGRES = "usr/lib/postgresql/*/bin"


def environment() -> dict[str, str]:
    """The environment of this process, extended so that unpacked programs and their libraries are found."""
    servers = sorted((*Path("/").glob(_POSTGRES), *_UNPACKED.glob(_POSTGRES)), reverse=True)
    libraries = [str(p) for p in sorted(_UNPACKED.glob("**/lib/*-linux-gnu"))]
    own = {"PATH": os.pathsep.join((os.environ["PATH"], *_PLACES, *map(str, servers)))}
    if libraries:
        own["LD_LIBRARY_PATH"] = os.pathsep.join(libraries)
    return {**os.environ, **own}


def which(program: str) -> str | None:
    """The path of an installed or unpacked program; None if it is missing."""
    return shutil.which(program, path=environment()["PATH"])
