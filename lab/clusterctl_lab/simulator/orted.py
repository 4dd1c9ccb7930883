"""orted: Open MPI's daemon on a node, which starts the ranks there and ends when mpirun does."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from pathlib import Path

from . import load

_LAUNCHER = re.compile(r"tcp://([^:,]+):(\d+)")


def main(argv: list[str], version: str) -> int:
    """Connect to mpirun, write what the ranks write, and wait for the end."""
    if {"--version", "-V"} & set(argv):
        print(f"orted (OpenRTE) {version}\n(simulated)")
        return 0
    found = next((m for word in argv if (m := _LAUNCHER.search(word))), None)
    if not found:
        print("[orted] ORTE_ERROR_LOG: Not found in file ess_env_module.c (simulated)", file=sys.stderr)
        return 213
    with socket.create_connection((found[1], int(found[2])), timeout=10) as connection:
        connection.sendall(f"{os.uname().nodename}\n".encode())
        connection.settimeout(None)
        with connection.makefile("rw", encoding="utf-8") as lines:
            for line in lines:
                load.begin()
                for name, text in json.loads(line).items():
                    Path(name).write_text(text, encoding="utf-8")
                lines.write("done\n")
                lines.flush()
    return 0
