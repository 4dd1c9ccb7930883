"""The stub packages: what the lab's catalogue says, with the versions that the profile pins."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from clusterctl.content import content_dir
from clusterctl.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

CATALOGUE = Path(__file__).with_name("packages.yml")
PINS = ("inventory/common/group_vars/gpu_nodes", "inventory/common/group_vars/platform_hgx")
_PINNED = {f"{role}.yml": f"{role}_packages" for role in ("nvidia_driver", "ofed", "cuda", "nccl", "gpu_tools", "monitoring")}


@dataclass(frozen=True, slots=True)
class StubPackage:
    """One version of one package.

    Attributes:
        installed: a new node has this version.
        same_version: packages it depends on in its own version.
        commands: installed path -> module of the simulator.
        units: systemd units it brings, enabled and started at installation as Debian does.
        modules: kernel modules it brings.
        files: empty files it brings; `{version}` in a path is the version without its revision.
    """

    name: str
    version: str
    installed: bool = False
    same_version: tuple[str, ...] = ()
    commands: Mapping[str, str] = field(default_factory=dict)
    units: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def stub_packages(catalogue: Path = CATALOGUE, profile: Path | None = None) -> tuple[StubPackage, ...]:
    """Every version of every stub package.

    Raises:
        ConfigError: the profile pins a package that the catalogue lacks.
    """
    entries: dict[str, dict[str, Any]] = yaml.safe_load(catalogue.read_text(encoding="utf-8"))
    pinned = pinned_versions(*([profile] if profile else [content_dir() / folder for folder in PINS]))
    unknown = sorted(set(pinned) - set(entries))
    if unknown:
        raise ConfigError(detail=f"the lab has no stub for package {unknown[0]}", hint=f"add it to {catalogue}")
    packages: list[StubPackage] = []
    for name, entry in entries.items():
        current = pinned.get(name, entry.get("version"))
        versions = [str(v) for v in (entry.get("older"), current) if v]
        packages += [
            _package(name, entry, version, installed=bool(entry.get("installed")) and version == versions[0]) for version in versions
        ]
    return tuple(packages)


def pinned_versions(*folders: Path) -> dict[str, str]:
    """Package -> version, as the roles install them with the variables in these folders, the later ones nearer."""
    result: dict[str, str] = {}
    for folder in folders:
        for file, variable in _PINNED.items():
            path = folder / file
            data = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
            result |= {str(p["name"]): str(p["version"]) for p in data.get(variable, [])}
        result |= _kernel(folder / "kernel.yml")
    return result


def _kernel(path: Path) -> dict[str, str]:
    """The kernel's packages share one version."""
    data = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    names = [n for n in [data.get("kernel_package"), *data.get("kernel_extra_packages", [])] if n]
    return {str(name): str(data["kernel_version"]) for name in names}


def _package(name: str, entry: dict[str, Any], version: str, *, installed: bool) -> StubPackage:
    return StubPackage(
        name=name,
        version=version,
        installed=installed,
        same_version=tuple(entry.get("same_version", ())),
        commands=entry.get("commands", {}),
        units=tuple(entry.get("units", ())),
        modules=tuple(entry.get("modules", ())),
        files=tuple(entry.get("files", ())),
    )
