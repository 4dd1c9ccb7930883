"""A CPU limit for the checks, so that they can run beside jobs: a transient systemd scope.

`nice` only yields to processes of the same control group, and a job has its own. The scope ends with its last process.
"""

import os
import subprocess
import time
from pathlib import Path
from typing import Dict, Iterator, Tuple

CGROUPS = "/sys/fs/cgroup"
_MEMBERSHIP = "/proc/self/cgroup"
_SYSTEMD = "/run/systemd/system"
_MANAGER = ("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager")
_WAIT_S = 2.0
_STEP_S = 0.005


class NoQuotaError(Exception):
    """The quota cannot be applied here; the text gives the reason."""


def enter(percent: int) -> str:
    """Move this process and its future children into a scope with a quota of `percent` of one core.

    Returns:
        "50 % of a core", as read back from the kernel; or "not enforced (REASON)".
    """
    try:
        _start_scope(percent)
        return "{} % of a core".format(in_force(Path(_MEMBERSHIP).read_text(encoding="utf-8")))
    except (NoQuotaError, OSError) as e:  # the checks run without a quota
        return "not enforced ({})".format(" ".join(str(e).split()))


def _start_scope(percent: int) -> None:
    if percent == 0:
        raise NoQuotaError("not requested")
    if os.geteuid() != 0:
        raise NoQuotaError("not root")
    if not Path(_SYSTEMD).is_dir():
        raise NoQuotaError("systemd is not running")
    unit = "clusterctl-checks-{}.scope".format(os.getpid())
    properties = ["2", "PIDs", "au", "1", str(os.getpid()), "CPUQuotaPerSecUSec", "t", str(percent * 10_000)]
    words = ["busctl", "--timeout=5", "call", *_MANAGER, "StartTransientUnit", "ssa(sv)a(sa(sv))", unit, "fail", *properties, "0"]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise NoQuotaError("busctl: {}".format(e)) from e
    if done.returncode:
        raise NoQuotaError("systemd: {}".format(done.stderr.decode("utf-8", "replace")))
    _await(unit)


def _await(unit: str) -> None:
    """Wait until systemd has moved this process; its reply to the call comes earlier."""
    until = time.monotonic() + _WAIT_S
    while unit not in Path(_MEMBERSHIP).read_text(encoding="utf-8"):
        if time.monotonic() > until:
            raise NoQuotaError("systemd did not move this process into {} within {:.0f} s".format(unit, _WAIT_S))
        time.sleep(_STEP_S)


def in_force(membership: str, root: str = CGROUPS) -> int:
    """The quota that the kernel enforces on this process, in percent of one core.

    Args:
        membership: text of /proc/self/cgroup.
        root: where control groups are mounted.

    Raises:
        NoQuotaError: no quota is enforced: the cpu controller is not delegated, as in a container.
    """
    for quota, period in _limits(dict(_groups(membership)), Path(root)):
        if quota.lstrip("-").isdigit() and int(quota) > 0:
            return round(100 * int(quota) / int(period))
    raise NoQuotaError("the kernel enforces no quota on this control group")


def _groups(membership: str) -> Iterator[Tuple[str, str]]:
    """(controllers, path) of each line; version 2 names no controllers."""
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        yield controllers, path.lstrip("/")


def _limits(groups: Dict[str, str], root: Path) -> Iterator[Tuple[str, str]]:
    """(quota, period) in us, of version 2 and version 1, where the files exist."""
    for controllers, path in groups.items():
        if not controllers and (root / path / "cpu.max").is_file():
            quota, period = (root / path / "cpu.max").read_text(encoding="utf-8").split()
            yield quota, period
        quota_us = root / controllers / path / "cpu.cfs_quota_us"
        if "cpu" in controllers.split(",") and quota_us.is_file():
            yield quota_us.read_text(encoding="utf-8").strip(), quota_us.with_name("cpu.cfs_period_us").read_text(encoding="utf-8").strip()
