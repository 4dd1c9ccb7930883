"""Roles and validators of a site: from the directory of its clusterctl.yml and from installed packages."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import clusterctl_validators
from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.config import find_file
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

GROUP = "clusterctl.content"


@dataclass(frozen=True, slots=True)
class SiteContent:
    """Directories that may contain `roles/` and `validators/`: first that of the site, then those of packages by name."""

    folders: tuple[Path, ...]

    @property
    def role_dirs(self) -> tuple[Path, ...]:
        """The directories of roles."""
        return tuple(f / "roles" for f in self.folders if (f / "roles").is_dir())

    @property
    def validator_dirs(self) -> tuple[Path, ...]:
        """The directories of `test_<role>.py`."""
        return tuple(f / "validators" for f in self.folders if (f / "validators").is_dir())

    @property
    def roles(self) -> dict[str, Path]:
        """Role -> its directory."""
        return {p.name: p for d in reversed(self.role_dirs) for p in sorted(d.iterdir()) if is_role(p)}

    def validator_of(self, role: str) -> Path | None:
        """The validator module of a site role, or None."""
        return next((f for d in self.validator_dirs if (f := d / f"test_{role}.py").is_file()), None)


def site_content() -> SiteContent:
    """The content of the site of the working directory, and of installed packages (entry point group `clusterctl.content`).

    Raises:
        ConfigError: a package that an entry point names does not exist.
    """
    file = find_file(Path.cwd())
    own = file.resolve().parent if file else None
    packages = tuple(_package_dir(e.name, e.value) for e in sorted(entry_points(group=GROUP)))
    # in a checkout of clusterctl, the directory of clusterctl.yml is the content directory itself
    return SiteContent(tuple(f for f in (own, *packages) if f is not None and f != content_dir().resolve()))


def checked_validator_dirs(content: SiteContent) -> tuple[Path, ...]:
    """The directories of validators, after checking that their modules can be sent to nodes with those of clusterctl.

    Raises:
        ConfigError: a module is not valid Python, or has the name of another one, which it would replace on the node.
    """
    taken = {p.name: p for p in Path(clusterctl_validators.__file__).parent.glob("*.py")}
    for file in (f for d in content.validator_dirs for f in sorted(d.glob("*.py"))):
        if file.name in taken:
            raise ConfigError(detail=f"{file}: {taken[file.name]} has the same name", hint="rename the module and its role")
        taken[file.name] = file
        try:
            compile(file.read_bytes(), str(file), "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as e:
            raise ConfigError(detail=f"{file}:{getattr(e, 'lineno', None) or 1}: {e}", hint="correct the validator") from e
    return content.validator_dirs


def make_importable(folders: Iterable[Path]) -> None:
    """Let the controller import validators and GPU vendors of a site: they are modules of the same package, as in the bundle on a node."""
    clusterctl_validators.__path__.extend(str(f) for f in folders if str(f) not in clusterctl_validators.__path__)


def is_role(folder: Path) -> bool:
    """Whether Ansible can apply `folder` as a role: a folder that others only include task files from, as `roles/shared`, has no main file."""
    return any((folder / "tasks" / f"main.{suffix}").is_file() for suffix in ("yml", "yaml"))


def role_dirs() -> tuple[Path, ...]:
    """All directories of roles, that of clusterctl last."""
    return (*site_content().role_dirs, content_dir() / "roles")


def _package_dir(name: str, package: str) -> Path:
    try:
        spec = find_spec(package)
    except ImportError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(
            detail=f"content {name!r}: no package {package!r} is installed", hint="reinstall or remove the package with this entry point"
        )
    return Path(spec.submodule_search_locations[0]).resolve()
