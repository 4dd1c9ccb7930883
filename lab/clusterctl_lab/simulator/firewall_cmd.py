"""firewall-cmd: the zone trusted of a firewalld that filters nothing, now and after a reload, in files; options and answers as in firewall-cmd(1)."""

from __future__ import annotations

import os
import subprocess

from .state import read

PERMANENT, RUNTIME = "/etc/firewalld/trusted", "/run/firewalld-trusted"
_NOT_RUNNING = 252


def main(argv: list[str], _version: str = "") -> int:
    """Show or change interfaces and sources of the zone trusted."""
    if subprocess.run(["systemctl", "is-active", "--quiet", "firewalld.service"], check=False).returncode:
        print("not running")
        return _NOT_RUNNING
    folder = PERMANENT if "--permanent" in argv else RUNTIME
    for word in argv[1:]:
        option, _, value = word.removeprefix("--").partition("=")
        verb, _, kind = option.partition("-")
        if option == "state":
            print("running")
        elif verb == "list":
            print(" ".join(entries(folder, kind)))
        elif verb in ("add", "change", "remove"):
            kept = [e for e in entries(folder, f"{kind}s") if e != value]
            _save(folder, f"{kind}s", kept if verb == "remove" else [*kept, value])
            print("success")
    return 0


def entries(folder: str, kind: str) -> list[str]:
    """The interfaces or sources of the zone."""
    return read(f"{folder}/{kind}").split()


def _save(folder: str, kind: str, values: list[str]) -> None:
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{kind}", "w", encoding="utf-8") as file:
        file.write("".join(f"{value}\n" for value in values))
