"""Test whether mounts respond, each in a process that is abandoned at its time limit: a dead server makes it sleep in the kernel forever."""

from concurrent.futures import ThreadPoolExecutor
from typing import Dict, Mapping, Tuple

from clusterctl_validators.probe import CommandResult, Probe

# The open folder must be on the mount itself: the empty folder below an unmounted one would respond too.
PROGRAM = """
import os, sys
try:
    fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
    here = [l.split()[1] for l in open("/proc/self/fdinfo/%d" % fd) if l.startswith("mnt_id:")]
    last = [l.split()[0] for l in open("/proc/self/mountinfo") if l.split()[4] == sys.argv[1]][-1:]
    if here != last:
        sys.exit("not a mount")
    os.fstatvfs(fd)
    next(os.scandir(fd), None)
except OSError as e:
    sys.exit(e.strerror)
print("answers")
"""


def argv(path: str) -> Tuple[str, ...]:
    """The command that tests one mount."""
    return ("python3", "-IS", "-c", PROGRAM, path)


def touch(probe: Probe, limits_s: Mapping[str, float]) -> Dict[str, str]:
    """`{path: "answers"}` or the error. All run at once, so several hanging mounts take no longer than the slowest limit."""
    if not limits_s:
        return {}
    with ThreadPoolExecutor(len(limits_s)) as pool:
        pending = {path: pool.submit(probe.run, argv(path), limit_s) for path, limit_s in limits_s.items()}
        return {path: _result(future.result()) for path, future in pending.items()}


def _result(result: CommandResult) -> str:
    if result.error:
        return result.error
    if result.rc == 0 and result.stdout.strip() == "answers":
        return "answers"
    return result.stderr.strip() or "exit status {}, no answer".format(result.rc)
