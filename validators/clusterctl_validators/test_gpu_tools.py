"""The measuring tools of the burn-in: pinned packages and working commands."""

import re
import shlex
from typing import Any, Mapping

from clusterctl_tools.package_list import field_argv
from clusterctl_validators.pinned_packages import check_package
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

ROLE = "gpu_tools"
LEFT_BY_ROLE = ("gpu_tools.*.persisted", "gpu_tools.package.held")
SOURCE = "/etc/apt/sources.list.d/clusterctl-gpu-tools.sources"
SCRIPT = "/usr/local/lib/clusterctl/run-in-container"
Spec = Mapping[str, Any]


def test_packages(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["gpu_tools_packages"]:
        record.not_applicable("gpu_tools.packages", "none are declared")
    for package in spec["gpu_tools_packages"]:
        check_package(record, probe, package, spec["gpu_tools_hold"])


def test_commands(spec: Spec, record: Record, probe: Probe) -> None:
    for package in spec["gpu_tools_packages"]:
        if package.get("command"):
            _check_command(record, probe, "gpu_tools.package[{}].command".format(package["name"]), package)


def test_container(spec: Spec, record: Record, probe: Probe) -> None:
    """Programs of the container run from the declared image, and no other copy of them is on the node."""
    container = spec["gpu_tools_container"]
    text = probe.read(SCRIPT)
    if not container:
        found = "absent" if text is None else "present"
        record.equal("gpu_tools.container.script.persisted", "absent", found, hint="`clusterctl provision NODE`")
        return
    image = container["image"]
    line = next((x for x in (text or "").splitlines() if x.startswith("image=")), "image=absent")
    record.equal("gpu_tools.container.script.persisted", image, line[len("image=") :], hint="`clusterctl provision NODE`")
    _check_image(record, probe, container["runtime"], image)
    for program in container["programs"]:
        at = "gpu_tools.container.program[{}].".format(program["name"])
        others = [p for folder in ("/usr/local/sbin", "/usr/sbin", "/usr/bin") for p in probe.glob(folder + "/" + program["name"])]
        hint = "remove the package or file that brings it; which copy a gate runs depends on PATH"
        record.equal(at + "copies", "none outside of the container", ", ".join(others) or "none outside of the container", hint=hint)
        if program.get("command"):
            _check_command(record, probe, at + "command", program)
            continue
        link = probe.run(["readlink", "/usr/local/bin/" + program["name"]])
        record.equal(at + "command", SCRIPT, link.stdout.strip() or "absent", hint="`clusterctl provision NODE`")


def _check_image(record: Record, probe: Probe, runtime: str, image: str) -> None:
    result = probe.run([runtime, "image", "inspect", "--format", "{{.Id}}", image])
    if result.error:
        record.could_not_run("gpu_tools.container.image", result.error)
        return
    found = image if result.rc == 0 and result.stdout.strip() else "absent"
    record.equal(
        "gpu_tools.container.image", image, found, hint="`clusterctl provision NODE` pulls it; the runtime's `image prune` removes it"
    )


def _check_command(record: Record, probe: Probe, check: str, tool: Mapping[str, Any]) -> None:
    result = probe.run(shlex.split(tool["command"]), timeout_s=30)
    if result.error:
        record.could_not_run(check, result.error)
        return
    output = result.stdout + "\n" + result.stderr
    pattern = tool.get("answers") or ""
    first = output.strip().splitlines()[0][:160] if output.strip() else "nothing (exit {})".format(result.rc)
    hint = "run `{}` on the node; another copy may be first in PATH, or a library is missing".format(tool["command"])
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
        result = probe.run(field_argv("Clusterctl-Commit", build["name"]))
        if result.error:
            record.could_not_run(check, result.error)
            continue
        hint = "another build of the same version; remove the package and provision the node"
        record.equal(check, build["commit"], result.stdout.strip() or "not built by this role", hint=hint)
