"""Libraries that stand between a real program and the kernel, compiled from the sources in this folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

UNPACKED = ROOT / "build" / "tools" / "root" / "usr" / "include"
FOLDER = ROOT / "build" / "cross_check"


def compiled(source: str, name: str = "", linker: Sequence[str] = ()) -> Path:
    """Compile a source as the shared library `name`. Returns its path.

    Raises:
        subprocess.CalledProcessError: the compiler refused it.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    own = FOLDER / f"{os.getpid()}.so"
    flags = ("-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror")
    subprocess.run(["gcc", *flags, *linker, "-I", UNPACKED, "-o", own, Path(__file__).with_name(source)], check=True, capture_output=True)
    return own.rename(FOLDER / (name or Path(source).with_suffix(".so").name))
