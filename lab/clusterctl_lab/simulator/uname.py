"""uname, and the kernel that this machine runs: its containers share the host's, so that a kernel which was installed on it runs by name only."""

from __future__ import annotations

import os
import subprocess

from . import state

_REAL = "/usr/bin/uname.real"
FLAG = "kernel-release"


def on_boot(release: str) -> None:
    """Run this kernel. One without a list of modules is a stand-in of a package, and the host's runs on."""
    installed = os.path.exists(f"/lib/modules/{release}/modules.dep")
    state.set_flag(FLAG, release if release and installed else "")


def release() -> str:
    """The release of the running kernel."""
    return state.flag(FLAG) or os.uname().release


def has_module(name: str) -> bool:
    """Whether the running kernel has a module; the host's has all those of the lab."""
    listed = state.read(f"/lib/modules/{release()}/modules.dep")
    files = {line.partition(":")[0].rpartition("/")[2].partition(".ko")[0].replace("-", "_") for line in listed.splitlines()}
    return not listed or name in files


def main(argv: list[str], _version: str = "") -> int:
    """Run the real program, and put the running kernel in the place of the host's."""
    done = subprocess.run([_REAL, *argv[1:]], check=False, stdout=subprocess.PIPE, text=True)
    print(done.stdout.replace(os.uname().release, release()), end="")
    return done.returncode
