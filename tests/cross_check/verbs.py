"""ibv_devinfo needs a device file of the kernel. Here it runs with a library that answers from /sys, as the driver would (verbs_from_sysfs.c)."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from cross_check.compiled import FOLDER, UNPACKED, compiled
from support.unpacked_tools import environment, which

_PUBLIC = "get_device_list free_device_list get_device_name open_device close_device query_device query_port query_gid"
_VERSIONS = """IBVERBS_1.0 {{ global: ibv_read_sysfs_file; local: *; }};
IBVERBS_1.1 {{ global: {public} }} IBVERBS_1.0;
{private} {{ global: ibv_query_gid_type; }} IBVERBS_1.1;
"""


def missing() -> str:
    """What is absent to compile the library; empty if it can be compiled."""
    if not shutil.which("gcc"):
        return "gcc"
    headers = (Path("/usr/include"), UNPACKED)
    return "" if any((folder / "infiniband" / "verbs.h").exists() for folder in headers) else "libibverbs-dev"


def library_path() -> str:
    """LD_LIBRARY_PATH with the compiled library first.

    Raises:
        subprocess.CalledProcessError: the compiler refused it.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    script = FOLDER / f"{os.getpid()}.map"
    script.write_text(
        _VERSIONS.format(public=" ".join(f"ibv_{name};" for name in _PUBLIC.split()), private=_private_version()), encoding="ascii"
    )
    library = compiled("verbs_from_sysfs.c", "libibverbs.so.1", ("-Wl,-soname,libibverbs.so.1", f"-Wl,--version-script={script}"))
    script.unlink()
    return os.pathsep.join(filter(None, (str(library.parent), environment().get("LD_LIBRARY_PATH", ""))))


def _private_version() -> str:
    """The version of the private symbols, which has the number of a release in it."""
    program = Path(which("ibv_devinfo") or "").read_bytes()
    found = re.search(rb"IBVERBS_PRIVATE_\d+", program)
    return found[0].decode() if found else "IBVERBS_PRIVATE_34"
