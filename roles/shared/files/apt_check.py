"""Wait until no other program uses the package manager, then check its database: `apt_check.py LIMIT_S`.

On the first boot cloud-init and unattended upgrades install packages; apt then fails in the same way as with a broken database (exit status 100).
Exit status 75: still in use after the limit, the holder is on standard error; else that of `apt-get check`.
Locks: apt.conf(5), dpkg(1), "lock-frontend"; the kernel names the holder of a POSIX lock to F_GETLK (fcntl(2)).
"""

import fcntl
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

LOCKS = ("lib/dpkg/lock-frontend", "lib/dpkg/lock", "lib/apt/lists/lock", "cache/apt/archives/lock")
# The stages of cloud-init that install packages and run commands (cloud-init documentation, boot stages).
STAGES = ("cloud-config.service", "cloud-final.service")
BUSY = 75
_PERIOD_S = 2
# struct flock: type, whence, start, length, pid.
_FLOCK = "hhqqi4x"


def holder(path: Path) -> str:
    """The process that holds a lock, or an empty string."""
    try:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        query = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = struct.unpack(_FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, query))
    finally:
        os.close(file)
    if kind == fcntl.F_UNLCK:
        return ""
    try:
        name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        name = "a process that ended"
    return f"{name} (pid {pid}) holds {path}"


def stage() -> str:
    """The stage of cloud-init that runs or waits for its turn, or an empty string."""
    for unit in STAGES:
        argv = ["systemctl", "show", "--property=ActiveState", "--property=Job", unit]
        try:
            shown = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        lines = shown.stdout.decode(errors="replace").split()
        if "ActiveState=activating" in lines or any(line.startswith("Job=") and line not in ("Job=", "Job=0") for line in lines):
            return f"{unit} has not finished"
    return ""


def used_by(var: Path) -> str:
    """What uses the package manager now, or an empty string."""
    return next((text for text in (holder(var / name) for name in LOCKS) if text), "") or stage()


def wait(limit_s: float, var: Path) -> str:
    """What still uses the package manager after at most `limit_s`, or an empty string."""
    until = time.monotonic() + limit_s
    by = used_by(var)
    while by and time.monotonic() < until:
        time.sleep(_PERIOD_S)
        by = used_by(var)
    return by


if __name__ == "__main__":
    left = wait(float(sys.argv[1]), Path(*sys.argv[2:3] or ["/var"]))
    if left:
        sys.stderr.write(f"the package manager is in use after {sys.argv[1]} s: {left}\n")
        sys.exit(BUSY)
    sys.exit(subprocess.run(["apt-get", "check", "-q", "-o", "DPkg::Lock::Timeout=60"], check=False).returncode)
