"""The operations that the benchmark made from a node's declared state; their list is the file that BENCH_OPERATIONS names."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pyinfra import host
from pyinfra.facts.server import Command
from pyinfra.operations import apt, files, server, systemd

# pyinfra asks again for every operation; one answer is enough for all that a tool says
told: dict[str, str] = {}
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
        if command not in told:
            told[command] = host.get_fact(Command, command=command) or ""
        held = given["has"] in told[command]
        server.shell(name=name, commands=[] if held else [f"false  # {command} has no {given['has']}"])
    else:
        raise ValueError(f"an operation of an unknown kind: {kind}")
