"""ibv_devinfo needs a device file of the kernel. Here it runs with a library that answers from /sys, as the driver would (verbs_from_sysfs.c)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from support.roles import ROOT
from support.unpacked_tools import environment

_SOURCE = Path(__file__).with_name("verbs_from_sysfs.c")
_UNPACKED = ROOT / "build" / "tools" / "root" / "usr" / "include"
_FOLDER = ROOT / "build" / "cross_check"


def missing() -> str:
    """What is absent to compile the library; empty if it can be compiled."""
    if not shutil.which("gcc"):
        return "gcc"
    headers = (Path("/usr/include"), _UNPACKED)
    return "" if any((folder / "infiniband" / "verbs.h").exists() for folder in headers) else "libibverbs-dev"


def library_path() -> str:
    """LD_LIBRARY_PATH with the compiled library first.

    Raises:
        subprocess.CalledProcessError: the compiler refused it.
    """
    _FOLDER.mkdir(parents=True, exist_ok=True)
    script, own = _SOURCE.with_suffix(".map"), _FOLDER / f"{os.getpid()}.so"
    warnings, linker = ("-Wall", "-Wextra", "-Werror"), ("-Wl,-soname,libibverbs.so.1", f"-Wl,--version-script={script}")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O1", *warnings, *linker, "-I", _UNPACKED, "-o", own, _SOURCE], check=True, capture_output=True
    )
    own.rename(_FOLDER / "libibverbs.so.1")
    return os.pathsep.join(filter(None, (str(_FOLDER), environment().get("LD_LIBRARY_PATH", ""))))
