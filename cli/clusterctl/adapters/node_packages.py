"""The packages that are sent to nodes with the validators: pytest and its dependencies, as the wheels locked in requirements/node.txt."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

from clusterctl.model.errors import ConfigError

LOCK = "node.txt"
_REQUIREMENT = re.compile(r"^([\w.-]+)==(\S+)((?:\s*\\\n\s*--hash=sha256:[0-9a-f]{64})+)", re.MULTILINE)
_SHA256 = re.compile(r"sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class LockedPackage:
    """One requirement of the lock file.

    Attributes:
        sha256: hashes of the accepted files: the wheel and the source archive.
    """

    name: str
    version: str
    sha256: frozenset[str]


@dataclass(frozen=True, slots=True)
class NodePackages:
    """The packed wheels and their lock file.

    Attributes:
        lock: a requirements file with hashes.
        folder: contains the wheels; other files in it are ignored.
        repair: the hint if wheels are missing.
    """

    lock: Path
    folder: Path
    repair: str

    def locked(self) -> tuple[LockedPackage, ...]:
        """The requirements of the lock file.

        Raises:
            ConfigError: the lock file is missing or empty.
        """
        try:
            text = self.lock.read_text(encoding="utf-8")
        except OSError as e:
            raise ConfigError(detail=f"{self.lock}: {e.strerror}", hint=self.repair) from e
        found = _REQUIREMENT.findall(text)
        if not found:
            raise ConfigError(detail=f"{self.lock} lists no package with hashes", hint=self.repair)
        return tuple(LockedPackage(name, version, frozenset(_SHA256.findall(hashes))) for name, version, hashes in found)

    def read_sources(self) -> dict[str, bytes]:
        """The Python sources of all locked packages: path inside their wheel -> content.

        Raises:
            ConfigError: the lock file or a wheel is missing, or a wheel differs from the locked one.
        """
        packages = self.locked()
        wheels = {hashlib.sha256(content).hexdigest(): content for content in (p.read_bytes() for p in self.folder.glob("*.whl"))}
        missing = [f"{p.name} {p.version}" for p in packages if p.sha256.isdisjoint(wheels)]
        if missing:
            raise ConfigError(detail=f"packages for nodes are missing from {self.folder}: {', '.join(missing)}", hint=self.repair)
        chosen = [wheels[digest] for package in packages for digest in package.sha256 & wheels.keys()]
        return {name: source for wheel in chosen for name, source in _python_files(wheel)}


def node_packages() -> NodePackages:
    """The packages of this checkout, or of the installed wheel."""
    package = Path(__file__).resolve().parents[1]
    root = package.parent.parent
    if (root / "requirements" / LOCK).is_file():
        return NodePackages(root / "requirements" / LOCK, root / "build" / "node_packages", "`make setup` downloads them")
    installed = package / "_node_packages"
    return NodePackages(installed / LOCK, installed, "reinstall clusterctl")


def _python_files(wheel: bytes) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist() if name.endswith(".py")]
