"""About sixty operations of the kinds that the roles have, all of them held already: a dry run finds nothing to do."""

from __future__ import annotations

from pyinfra.operations import files, server, systemd

for number in range(20):
    files.directory(path="/etc/ssh", name=f"folder {number}")
for number in range(20):
    files.line(path="/etc/passwd", line="root:x:0:0:root:/root:/bin/bash", name=f"line {number}")
for number in range(10):
    systemd.service(service="ssh", running=True, name=f"service {number}")
for number in range(9):
    server.user(user="root", present=True, name=f"user {number}")
