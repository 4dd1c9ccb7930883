"""Programs that `scripts/test_tools.sh` unpacked into build/tools, where the machine has none of its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from support.roles import ROOT

_UNPACKED = ROOT / "build" / "tools" / "root"
_PLACES = ("/usr/sbin", "/sbin", str(_UNPACKED / "usr/bin"), str(_UNPACKED / "usr/sbin"))
_POSTGRES = "usr/lib/postgresql/*/bin"


def environment() -> dict[str, str]:
    """This process's environment, in which they are found and find their libraries."""
    servers = sorted((*Path("/").glob(_POSTGRES), *_UNPACKED.glob(_POSTGRES)), reverse=True)
    libraries = [str(p) for p in sorted(_UNPACKED.glob("usr/lib/*-linux-gnu"))]
    own = {"PATH": os.pathsep.join((os.environ["PATH"], *_PLACES, *map(str, servers)))}
    if libraries:
        own["LD_LIBRARY_PATH"] = os.pathsep.join(libraries)
    return {**os.environ, **own}


def which(program: str) -> str | None:
    """The path of a program of this machine, or of an unpacked one."""
    return shutil.which(program, path=environment()["PATH"])
