"""Runs the operations in the file named by BENCH_OPERATIONS, which the benchmark derived from a node's declared state."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pyinfra import host
from pyinfra.facts.server import Command
from pyinfra.operations import apt, files, server, systemd

# Without this cache pyinfra would run a command again for every operation.
outputs: dict[str, str] = {}
for number, given in enumerate(json.loads(Path(os.environ["BENCH_OPERATIONS"]).read_text(encoding="utf-8"))):
    kind, name = given.pop("do"), f"{number}"
    if kind == "sysctl":
        server.sysctl(name=name, persist=True, persist_file="/etc/sysctl.d/90-clusterctl.conf", **given)
    elif kind == "package":
        apt.packages(name=name, packages=[given["package"]])
    elif kind == "service":
        systemd.service(name=name, **given)
    elif kind == "file":
        files.file(name=name, **given)
    elif kind == "module":
        server.modprobe(name=name, **given)
    elif kind == "limit":
        server.security_limit(name=name, **given)
    elif kind == "line":
        files.line(name=name, **given)
    elif kind == "tool":
        command = given["command"]
        if command not in outputs:
            outputs[command] = host.get_fact(Command, command=command) or ""
        matches = given["has"] in outputs[command]
        server.shell(name=name, commands=[] if matches else [f"false  # {command} has no {given['has']}"])
    else:
        raise ValueError(f"unknown kind of operation: {kind}")
