"""The first program of a run on the node. Stdin: one line of JSON, and nothing or a confirmation after it.

{"action": "start", "token": ..., the run}   starts it as a service and follows it
{"action": "follow", "token": ..., "offset": bytes already read}
{"action": "stop", "token": ...}             ends it; whoever follows it reads why
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from clusterctl_on_node import run_folder
from clusterctl_on_node.content import check_usable, unpacked
from clusterctl_on_node.follower import EXIT_GONE, follow
from clusterctl_on_node.run_folder import RefusedError

EXIT_NO_SERVICE = 99
EXIT_DISK = 95
_OF_THE_DISK = frozenset({errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO})
_TOKEN = re.compile(r"[0-9a-f]{16,64}")
_SERVE = "import sys; sys.path.insert(0, sys.argv[1]); from clusterctl_on_node.entry import serve; serve(*sys.argv[2:4])"


def main(sha256: str) -> int:
    """Do what the controller requests on stdin; this code runs from the archive, which is the first entry of the path."""
    archive = Path(sys.path[0])
    requested: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    if not _TOKEN.fullmatch(requested["token"]):
        return EXIT_GONE
    try:
        folder = run_folder.root_folder() / requested["token"]
        if requested["action"] == "start":
            content = unpacked(archive, sha256)
            check_usable(content)
            start(folder, requested, archive, content)
    except RefusedError as e:
        sys.stderr.write(f"clusterctl: {e}\n")
        return e.code
    except OSError as e:
        if e.errno not in _OF_THE_DISK:
            raise
        sys.stderr.write(f"clusterctl: the disk of the node cannot be written to: {e.strerror}: {e.filename}\n")
        return EXIT_DISK
    if requested["action"] == "stop":
        if folder.is_dir():
            (folder / run_folder.STOP).touch()
        return 0
    return follow(folder, int(requested.get("offset", 0)))


def start(folder: Path, requested: dict[str, Any], archive: Path, content: Path) -> None:
    """Start the service of a run; the request stays in memory until the service has read it.

    Raises:
        RefusedError: the service cannot be started.
    """
    folder.mkdir(mode=0o700)
    with os.fdopen(os.open(folder / run_folder.REQUEST, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(json.dumps(requested).encode())
    command = [sys.executable, "-I", "-B", "-c", _SERVE, str(archive), str(folder), str(content)]
    if Path("/run/systemd/system").is_dir() and shutil.which("systemd-run"):
        unit = f"--unit=clusterctl-apply-{requested['token'][:16]}"
        options = ["--quiet", "--collect", "--no-ask-password", "--service-type=exec", "--property=KillMode=control-group"]
        done = subprocess.run(["systemd-run", *options, unit, "--", *command], capture_output=True, text=True, check=False)
        if done.returncode:
            run_folder.remove(folder)
            raise RefusedError(EXIT_NO_SERVICE, f"systemd-run: {done.stderr.strip()[-300:]}")
        return
    nothing = subprocess.DEVNULL
    subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True, cwd="/")


def serve(folder: str, content: str) -> None:
    """The service itself."""
    from clusterctl_on_node.service import Service  # noqa: PLC0415 the follower needs none of it

    raise SystemExit(Service(Path(folder), Path(content)).run())
