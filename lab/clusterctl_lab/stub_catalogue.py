"""The stub packages: the lab's catalogue (packages.yml) with the versions that the profiles pin."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from jinja2 import StrictUndefined, Template

from clusterctl.adapters.ansible.content import content_dir
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

CATALOGUE = Path(__file__).with_name("packages.yml")
_GROUPS = "inventory/common/group_vars"
PINS = (f"{_GROUPS}/all", f"{_GROUPS}/gpu_nodes", f"{_GROUPS}/platform_hgx")
# The repository also has the versions that the profiles of other hardware pin.
MORE_PINS = (
    (f"{_GROUPS}/all", f"{_GROUPS}/gpu_nodes", f"{_GROUPS}/platform_hgx", f"{_GROUPS}/profile_hgx_b200"),
    (f"{_GROUPS}/all", f"{_GROUPS}/gpu_nodes", f"{_GROUPS}/platform_nvl72", f"{_GROUPS}/profile_gb300_nvl72"),
    (f"{_GROUPS}/all", f"{_GROUPS}/gpu_nodes", f"{_GROUPS}/platform_nvl72", f"{_GROUPS}/profile_gb200_nvl72"),
)
_PINNED = {f"{role}.yml": f"{role}_packages" for role in ("nvidia_driver", "ofed", "cuda", "nccl", "gpu_tools", "monitoring")}


@dataclass(frozen=True, slots=True)
class StubPackage:
    """One version of one package.

    Attributes:
        installed: a new node has this version installed.
        same_version: packages that it depends on in its own version.
        commands: installed path -> module of the simulator.
        units: its systemd units, enabled and started at installation as Debian does.
        modules: its kernel modules.
        files: its empty files; `{version}` in a path is the version without its revision.
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
    more = [] if profile else [pinned_versions(*(content_dir() / folder for folder in folders)) for folders in MORE_PINS]
    unknown = sorted(set(pinned).union(*more) - set(entries))
    if unknown:
        raise ConfigError(detail=f"the lab has no stub for package {unknown[0]}", hint=f"add it to {catalogue}")
    packages: list[StubPackage] = []
    for name, entry in entries.items():
        current = pinned.get(name, entry.get("version"))
        versions = list(dict.fromkeys(str(v) for v in (entry.get("older"), current, *(m.get(name) for m in more)) if v))
        packages += [
            _package(name, entry, version, installed=bool(entry.get("installed")) and version == versions[0]) for version in versions
        ]
    return tuple(packages)


def pinned_versions(*folders: Path) -> dict[str, str]:
    """Package -> version, as roles install it with the variables in these folders; later folders take precedence."""
    variables: dict[str, Any] = {}
    for path in (folder / file for folder in folders for file in (*_PINNED, "kernel.yml", "ubuntu_versions.yml")):
        variables |= (yaml.safe_load(path.read_text(encoding="utf-8")) or {}) if path.is_file() else {}
    packages = [p for variable in _PINNED.values() for p in variables.get(variable, [])]
    # A version may be a template that refers to another variable.
    result = {str(p["name"]): _rendered(p["version"], variables) for p in packages}
    # The kernel's packages share one version.
    kernel = [n for n in [variables.get("kernel_package"), *variables.get("kernel_extra_packages", [])] if n]
    return result | {str(name): _rendered(variables["kernel_version"], variables) for name in kernel}


def _rendered(version: object, variables: Mapping[str, Any]) -> str:
    text: str = Template(str(version), undefined=StrictUndefined).render(variables)
    return text


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
