"""Builds the stub packages of the lab's apt repository; the image build indexes them (image_files/index_repository.py)."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from clusterctl_lab.podman import run_command
from clusterctl_lab.simulator.dkms import module_version
from clusterctl_lab.stub_catalogue import CATALOGUE, StubPackage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

UNITS = CATALOGUE.with_name("units")
# The simulator gets the version of the package that contains the command.
_COMMAND = """#!/usr/bin/python3 -IS
import sys
sys.path.insert(0, "/opt/clusterctl-lab")
from simulator.{module} import main
from simulator.tool_timings import wait
wait("{module}", sys.argv)
sys.exit(main(sys.argv, "{upstream}"))
"""
_POSTINST = """#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
[ -d /run/systemd/system ] && systemctl daemon-reload
for unit in {units}; do
  systemctl enable --quiet "$unit"
  [ ! -d /run/systemd/system ] || systemctl restart "$unit" || true
done
"""
_PRERM = """#!/bin/sh
[ "$1" = remove ] && [ -d /run/systemd/system ] && systemctl disable --now --quiet {units}
exit 0
"""


def build_repository(packages: Sequence[StubPackage], folder: Path) -> list[str]:
    """Write `*.deb` into `folder`. Returns the names of the files that a new node has installed."""
    folder.mkdir(parents=True, exist_ok=True)
    installed = []
    for package in packages:
        file = _build(package, folder)
        if package.installed:
            installed.append(file.name)
    return installed


def upstream_version(version: str) -> str:
    """The version that the tool itself shows: `4.5.2` for `1:4.5.2-1`."""
    return version.partition(":")[2].rpartition("-")[0] if ":" in version else version.rpartition("-")[0]


def control_text(package: StubPackage) -> str:
    """The control file."""
    lines = [f"Package: {package.name}", f"Version: {package.version}", "Architecture: all", "Maintainer: clusterctl lab <lab@localhost>"]
    if package.same_version:
        lines.append("Depends: " + ", ".join(f"{name} (= {package.version})" for name in package.same_version))
    lines.append("Description: simulated stand-in of clusterctl lab, without any of the real software")
    return "\n".join(lines) + "\n"


def _build(package: StubPackage, folder: Path) -> Path:
    tree = folder / "tree"
    scripts = tree / "DEBIAN"
    scripts.mkdir(parents=True)
    (scripts / "control").write_text(control_text(package), encoding="utf-8")
    _write(tree, f"/usr/lib/clusterctl-lab/packages/{package.name}", f"{upstream_version(package.version)}\n")
    for module in package.modules:
        _write(tree, f"/usr/lib/clusterctl-lab/modules/{module}", f"{module_version(upstream_version(package.version))}\n")
    for path in package.files:
        _write(tree, path.format(version=upstream_version(package.version)), "")
    for path, name in package.commands.items():
        _write(tree, path, _COMMAND.format(module=name, upstream=upstream_version(package.version)), mode=0o755)
    for unit in package.units:
        _write(tree, f"/lib/systemd/system/{unit}", (UNITS / unit).read_text(encoding="utf-8"))
    if package.units:
        names = " ".join(package.units)
        _write(tree, "/DEBIAN/postinst", _POSTINST.format(units=names), mode=0o755)
        _write(tree, "/DEBIAN/prerm", _PRERM.format(units=names), mode=0o755)
    target = folder / _file_name(package)
    run_command(["dpkg-deb", "--root-owner-group", "-Znone", "--build", str(tree), str(target)])
    shutil.rmtree(tree)
    return target


def _write(tree: Path, path: str, text: str, mode: int = 0o644) -> None:
    file = tree / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)


def _file_name(package: StubPackage) -> str:
    # Without the epoch, as archives name their files.
    return f"{package.name}_{package.version.rpartition(':')[2]}_all.deb"
