"""Builds the stub packages and the apt repositories that have them: one for each public repository, with its origin."""

from __future__ import annotations

import hashlib
import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from clusterctl_lab.apt_index import relation_lines, release_text
from clusterctl_lab.package_facts import upstream_version
from clusterctl_lab.podman import run_command
from clusterctl_lab.simulator.dkms import module_version
from clusterctl_lab.stub_catalogue import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl_lab.stub_catalogue import StubPackage

UNITS = CATALOGUE.with_name("units")
_WORKERS = 4
# The simulator gets the version of the package that contains the command.
_COMMAND = """#!/usr/bin/python3 -IS
import sys
sys.path.insert(0, "/opt/clusterctl-lab")
from simulator.{module} import main
from simulator.tool_timings import wait
wait("{module}", sys.argv)
sys.exit(main(sys.argv, "{upstream}"))
"""
# systemctl enables an init script, too, where a unit has one of its name; update-rc.d refuses one without these lines.
_INIT_INFO = """### BEGIN INIT INFO
# Provides:          {name}
# Required-Start:    $remote_fs
# Required-Stop:     $remote_fs
# Default-Start:     2 3 4 5
# Default-Stop:      0 1 6
# Short-Description: {name} (simulated)
### END INIT INFO
"""
_POSTINST = """#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
[ ! -d /run/systemd/system ] || systemctl daemon-reload
for unit in {enabled}; do
  systemctl enable --quiet "$unit"
  [ ! -d /run/systemd/system ] || systemctl restart "$unit" || true
done
for unit in {disabled}; do
  [ ! -d /run/systemd/system ] || systemctl try-restart "$unit" || true
done
"""
_PRERM = """#!/bin/sh
[ "$1" = remove ] && [ -d /run/systemd/system ] && systemctl disable --now --quiet {units}
exit 0
"""


def build_repositories(packages: Sequence[StubPackage], folder: Path) -> list[str]:
    """Write a flat repository per `PackageFact.repository` into `folder`. Returns the files that a new node has installed, relative to it.

    The origin `Ubuntu` becomes that of the lab's nodes: they are Debian, and preferences select the distribution by it.
    """
    stanzas: dict[str, list[str]] = {}
    for package in packages:
        stanzas.setdefault(package.fact.repository, [])
        (folder / package.fact.repository).mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(_WORKERS) as pool:
        files = list(pool.map(lambda p: build(p, folder / p.fact.repository), packages))
    for package, file in zip(packages, files, strict=True):
        stanzas[package.fact.repository].append(_stanza(package, file))
    origins = {p.fact.repository: "Debian" if p.fact.origin == "Ubuntu" else p.fact.origin for p in packages}
    for name, texts in stanzas.items():
        index = "\n".join(texts).encode()
        (folder / name / "Packages").write_bytes(index)
        (folder / name / "Release").write_text(release_text(origins[name], index), encoding="utf-8")
    return [str(file.relative_to(folder)) for package, file in zip(packages, files, strict=True) if package.installed]


def control_text(package: StubPackage) -> str:
    """The control file."""
    lines = [f"Package: {package.fact.name}", f"Version: {package.fact.version}", "Architecture: all"]
    lines += ["Maintainer: clusterctl lab <lab@localhost>", *relation_lines(package.fact)]
    return "\n".join([*lines, "Description: simulated stand-in of clusterctl lab, without any of the real software"]) + "\n"


def build(package: StubPackage, folder: Path) -> Path:
    """Write the package as a .deb into `folder`."""
    upstream = upstream_version(package.fact.version)
    # Without the epoch, as archives name their files.
    target = folder / f"{package.fact.name}_{package.fact.version.rpartition(':')[2]}_all.deb"
    tree = target.with_suffix(".tree")
    _write(tree, "/DEBIAN/control", control_text(package))
    _write(tree, f"/usr/lib/clusterctl-lab/packages/{package.fact.name}", f"{upstream}\n")
    for module in package.modules:
        _write(tree, f"/usr/lib/clusterctl-lab/modules/{module}", f"{module_version(package.driver or upstream)}\n")
    for path in package.files:
        _write(tree, path.format(version=upstream), "")
    for path, text in package.texts.items():
        _write(tree, path, text)
    for path, name in package.commands.items():
        _write(tree, path, command_text(path, name, upstream), mode=0o755)
    for unit in package.units:
        text = unit_file(package.fact.repository, unit).read_text(encoding="utf-8")
        _write(tree, f"/lib/systemd/system/{unit}", text)
        if "[Install]" not in text:
            _want(tree, unit)
    if package.units:
        enabled, disabled = (" ".join(u for u, on in package.units.items() if on is state) for state in (True, False))
        _write(tree, "/DEBIAN/postinst", _POSTINST.format(enabled=enabled, disabled=disabled), mode=0o755)
        _write(tree, "/DEBIAN/prerm", _PRERM.format(units=" ".join(package.units)), mode=0o755)
    run_command(["dpkg-deb", "--root-owner-group", "-Znone", "--build", str(tree), str(target)])
    shutil.rmtree(tree)
    return target


def command_text(path: str, module: str, upstream: str) -> str:
    """The program at a path; an init script names the runlevels in which it runs."""
    text = _COMMAND.format(module=module, upstream=upstream)
    if not path.startswith("/etc/init.d/"):
        return text
    first, _, rest = text.partition("\n")
    return f"{first}\n{_INIT_INFO.format(name=path.rpartition('/')[2])}{rest}"


def _want(tree: Path, unit: str) -> None:
    """Start a static unit at boot, in place of udev, which a lab node lacks."""
    link = tree / "lib/systemd/system/multi-user.target.wants" / unit
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(f"../{unit}")


def unit_file(repository: str, unit: str) -> Path:
    """The text of a unit; a repository may have one of its own."""
    own = UNITS / repository / unit
    return own if own.exists() else UNITS / unit


def _stanza(package: StubPackage, file: Path) -> str:
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return f"{control_text(package)}Filename: ./{file.name}\nSize: {file.stat().st_size}\nSHA256: {digest}\n"


def _write(tree: Path, path: str, text: str, mode: int = 0o644) -> None:
    file = tree / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)
