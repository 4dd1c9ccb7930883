"""The measuring tools of the burn-in: pinned packages and working commands."""

import re
import shlex
from typing import Any, Mapping

from clusterctl_validators.pinned_packages import check_package
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

ROLE = "gpu_tools"
SOURCE = "/etc/apt/sources.list.d/clusterctl-gpu-tools.sources"
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


def test_builds(spec: Spec, record: Record, probe: Probe) -> None:
    """Packages built from source are those of the declared commit, and apt can install them again."""
    builds = spec["gpu_tools_builds"]
    text = probe.read(SOURCE)
    if not builds:
        found = "absent" if text is None else "present"
        record.equal("gpu_tools.builds.source.persisted", "absent", found, hint="`clusterctl provision NODE`")
        return
    folder = "file:{}/packages".format(spec["gpu_tools_build_dir"])
    good = text is not None and folder in text.split()
    record.ok(
        "gpu_tools.builds.source.persisted", good, expected=folder, found=folder if good else "absent", hint="`clusterctl provision NODE`"
    )
    for build in builds:
        check = "gpu_tools.package[{}].commit".format(build["name"])
        result = probe.run(["dpkg-query", "-W", "-f", "${Clusterctl-Commit}", build["name"]])
        if result.error:
            record.could_not_run(check, result.error)
            continue
        hint = "another build of the same version; remove the package and provision the node"
        record.equal(check, build["commit"], result.stdout.strip() or "not built by this role", hint=hint)
