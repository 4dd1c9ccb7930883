"""The node's side of a validation: a request on stdin, one line of JSON on stdout, errors on stderr.

Request: {"schema_version", "node", "nonce", "roles": {role: {variable: value}}, "options": {"check_timeout_s", "total_timeout_s",
"cpu_quota_percent", "read_keys"}}.
Answer: {"schema_version", "node", "nonce", "bundle", "cpu_quota", "view", "read_keys": {...}, "boot_id", "uptime_s", "volatile_root",
"python", "cpu_s", "duration_s", "findings": [...]}.
"""

import json
import os
import platform
import resource
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

from clusterctl_tools import root_file_system
from clusterctl_tools.uptime import uptime_s

SCHEMA_VERSION = 1
EXIT_BAD_REQUEST = 95
_NICE = 10
_MOUNTS = "/proc/self/mounts"
_IN_CONTAINER = "/run/systemd/container"  # systemd writes it in every container that it boots (systemd, Container Interface)
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_UNUSED = (
    "assertion",
    "cacheprovider",
    "capture",
    "debugging",
    "doctest",
    "faulthandler",
    "freeze_support",
    "junitxml",
    "legacypath",
    "logging",
    "monkeypatch",
    "nose",
    "pastebin",
    "python_path",
    "recwarn",
    "reports",
    "setuponly",
    "setupplan",
    "stepwise",
    "terminal",
    "threadexception",
    "tmpdir",
    "unittest",
    "unraisableexception",
    "warnings",
)


def main(bundle: str = "") -> int:
    """Read the request, run its checks, write the answer.

    Returns:
        0 if there is an answer, with any findings; EXIT_BAD_REQUEST if the request is not one of this version.
    """
    began = time.monotonic()
    sys.dont_write_bytecode = True
    os.nice(_NICE)
    answer_to = os.dup(1)
    os.dup2(2, 1)  # output of checks must not get into the answer
    try:
        request = json.loads(sys.stdin.buffer.read().decode("utf-8"))
        roles: Dict[str, Dict[str, Any]] = request["roles"]
        version, options = request["schema_version"], request.get("options", {})
    except (ValueError, KeyError, TypeError) as e:
        sys.stderr.write("clusterctl: bad request: {}: {}\n".format(type(e).__name__, e))
        return EXIT_BAD_REQUEST
    if version != SCHEMA_VERSION:
        sys.stderr.write("clusterctl: this bundle supports requests of version {}, not {}\n".format(SCHEMA_VERSION, version))
        return EXIT_BAD_REQUEST
    answer = {"schema_version": SCHEMA_VERSION, "node": request.get("node", ""), "nonce": request.get("nonce", ""), "bundle": bundle}
    volatile_root = _volatile_root()  # before the read-only view, which mounts everything anew
    answer.update(run(roles, options))
    findings = answer.pop("findings")
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    answer["boot_id"] = _boot_id()
    answer["uptime_s"] = _uptime_s()
    answer["volatile_root"] = volatile_root
    answer["python"] = platform.python_version()
    answer["cpu_s"] = round(sum(u.ru_utime + u.ru_stime for u in usage), 3)
    answer["duration_s"] = round(time.monotonic() - began, 3)
    answer["findings"] = findings  # last, where the controller recognises those of an equal node
    with os.fdopen(answer_to, "wb") as out:
        out.write(json.dumps(answer).encode() + b"\n")
    return 0


def run(roles: Dict[str, Dict[str, Any]], options: Dict[str, Any]) -> Dict[str, Any]:
    """Run the checks of `roles` in a read-only view of the node and under a CPU quota; return both states and the findings as plain JSON values."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    from clusterctl_validators import cpu_quota  # noqa: PLC0415

    quota = cpu_quota.enter(int(options.get("cpu_quota_percent", 0)))
    import pytest  # noqa: PLC0415 after stdout is redirected and byte-code is off

    from clusterctl_validators import plugin  # noqa: PLC0415
    from clusterctl_validators.fixtures import LocalHost  # noqa: PLC0415
    from clusterctl_validators.role_modules import import_roles  # noqa: PLC0415
    from clusterctl_validators.supervise import GRACE_S, Supervisor  # noqa: PLC0415

    node_run = plugin.NodeRun(roles, float(options.get("check_timeout_s", plugin.CHECK_TIMEOUT_S)))
    node_run.outside = _outside()
    view = _enter_view([w for module in import_roles(roles)[0].values() for w in getattr(module, "WRITABLE", ())])
    supervisor = Supervisor(float(options.get("total_timeout_s", 300)), float(options.get("grace_s", GRACE_S)))
    code = pytest.main(_arguments(), plugins=[plugin.RunPlugin(node_run), plugin, LocalHost(), supervisor])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
        node_run.broken = "pytest ended with {}".format(code)
    answer: Dict[str, Any] = {"cpu_quota": quota, "view": view, "findings": [f.to_json() for f in node_run.complete()]}
    if options.get("read_keys"):
        answer["read_keys"] = {role: sorted(view.read_keys) for role, view in node_run.specs.items()}
    return answer


def _boot_id() -> str:
    """The boot that the node is in; empty where its kernel does not report it."""
    try:
        return Path(_BOOT_ID).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _uptime_s() -> Optional[float]:
    """None where the node does not report it."""
    try:
        return uptime_s(*(Path(p).read_text(encoding="utf-8", errors="replace") for p in ("/proc/uptime", "/proc/1/stat")))
    except (OSError, ValueError, IndexError):
        return None


def _volatile_root() -> str:
    """The type of the root file system where no boot keeps it; empty in a container, whose root another system keeps, and where it is not known."""
    if Path(_IN_CONTAINER).exists():
        return ""
    try:
        return root_file_system.volatile_type(Path(_MOUNTS).read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return ""


def _outside() -> Dict[str, str]:
    """Files that the view itself changes: the mount options."""
    mounts = Path(_MOUNTS)
    return {_MOUNTS: mounts.read_text(encoding="utf-8", errors="replace")} if mounts.exists() else {}


def _enter_view(writable: List[str]) -> str:
    try:
        from clusterctl_validators import read_only_view  # noqa: PLC0415 a Python may be built without ctypes
    except ImportError as e:
        return "not enforced ({})".format(e)
    return read_only_view.enter(writable, keep=str(sys.path[0]))


def _arguments() -> List[str]:
    """No configuration file, no conftest.py of the folder the user logged in to, no cache, no plugins that a node does not need."""
    blocked = [word for name in _UNUSED for word in ("-p", "no:" + name)]
    return ["-c", os.devnull, "--rootdir", "/", "--noconftest", *blocked]
