"""The measuring tools of the burn-in: pinned packages and working commands."""

import re
import shlex
from typing import Any, Mapping

from clusterctl_validators.pinned_packages import check_package
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

ROLE = "gpu_tools"
Spec = Mapping[str, Any]


def test_packages(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["gpu_tools_packages"]:
        record.not_applicable("gpu_tools.packages", "none are declared")
    for package in spec["gpu_tools_packages"]:
        check_package(record, probe, package, spec["gpu_tools_hold"])


def test_commands(spec: Spec, record: Record, probe: Probe) -> None:
    for package in spec["gpu_tools_packages"]:
        if not package.get("command"):
            continue
        check = "gpu_tools.package[{}].command".format(package["name"])
        result = probe.run(shlex.split(package["command"]), timeout_s=30)
        if result.error:
            record.could_not_run(check, result.error)
            continue
        output = result.stdout + "\n" + result.stderr
        pattern = package.get("answers") or ""
        first = output.strip().splitlines()[0][:160] if output.strip() else "nothing (exit {})".format(result.rc)
        hint = "run `{}` on the node; another copy may be first in PATH, or a library is missing".format(package["command"])
        record.ok(check, re.search(pattern, output, re.MULTILINE) is not None, expected=pattern or "an answer", found=first, hint=hint)
