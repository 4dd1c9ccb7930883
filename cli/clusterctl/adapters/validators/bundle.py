"""The node bundle: validators, readers of tools, pytest and testinfra in one reproducible zip that needs nothing but python3."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import marshal
import sys
import tempfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import clusterctl_tools
import clusterctl_validators
from clusterctl.adapters.node_packages import node_packages
from clusterctl.adapters.run_directory import make_folder
from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.model.errors import ConfigError
from clusterctl.model.validator_traits import ValidatorTraits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

# the validators and all locked packages but testinfra run on it; where testinfra does not, only the checks that use `host` cannot run
MIN_PYTHON = (3, 8)
# seldom imported, or by no Python that compiles them here
_NOT_COMPILED = ("testinfra/", "exceptiongroup/", "packaging/")
# a node does not reach its BMC; a contract in pyproject.toml keeps validators from importing it
_NOT_ON_NODES = (
    "clusterctl_tools/chassis_reading.py",
    "clusterctl_tools/firmware_inventory.py",
    "clusterctl_tools/leak_detectors.py",
    "clusterctl_tools/redfish.py",
)
_UNCHECKED_HASH = (0b01).to_bytes(4, "little")
# the output of later versions depends on the references that the process holds
_MARSHAL_VERSION = 2
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A built bundle.

    Attributes:
        sha256: of the file; its name on the node.
        size: in bytes.
        traits: what its validators declare.
        site_dirs: the folders of the validators of a site in it.
        min_python: the oldest Python that can run it.
    """

    path: Path
    sha256: str
    size: int
    traits: ValidatorTraits = field(default_factory=ValidatorTraits)
    site_dirs: tuple[Path, ...] = ()
    min_python: tuple[int, int] = MIN_PYTHON

    def read(self) -> bytes:
        """The bundle itself."""
        return self.path.read_bytes()


def build_bundle(state_dir: Path, extra_modules: Sequence[Path] = ()) -> Bundle:
    """The bundle in `state_dir/cache`, written if absent: same inputs, same bytes.

    Args:
        state_dir: the state directory of clusterctl.
        extra_modules: folders of further `test_<role>.py`, for the roles of a site.

    Raises:
        ConfigError: a package that travels to nodes is missing, a validator declares what is not valid, or the cache cannot be written.
    """
    path, content = cached_file(state_dir, _members(extra_modules), _zip)
    return Bundle(path, sha256_of(content), len(content), read_traits(extra_modules), tuple(extra_modules))


def cached_file(state_dir: Path, members: dict[str, bytes], pack: Callable[[dict[str, bytes]], bytes]) -> tuple[Path, bytes]:
    """The file that `pack` makes of these members, in `state_dir/cache`, written if absent; and its content.

    Raises:
        ConfigError: the cache cannot be written.
    """
    cache = state_dir / "cache"
    pattern = f"bundle-{_inputs_digest(members)}-*.pyz"
    try:
        for path in cache.glob(pattern):
            content = path.read_bytes()
            if path.stem.endswith(sha256_of(content)):
                return path, content
        content = pack(members)
        path = cache / pattern.replace("*", sha256_of(content))
        _write(path, content)
    except OSError as e:
        raise ConfigError(detail=f"{cache}: {e.strerror}", hint="choose a writable --state-dir") from e
    return path, content


def _members(extra_modules: Sequence[Path]) -> dict[str, bytes]:
    """Name in the zip -> content: Python sources."""
    members = node_packages().read_sources()
    members.update({name: text for name, text in _sources(clusterctl_tools).items() if name not in _NOT_ON_NODES})
    members.update(_sources(clusterctl_validators))
    for folder in extra_modules:
        members.update({f"{clusterctl_validators.__name__}/{p.name}": p.read_bytes() for p in folder.glob("*.py")})
    return members


def _sources(package: ModuleType) -> dict[str, bytes]:
    return {f"{package.__name__}/{p.name}": p.read_bytes() for folder in package.__path__ for p in Path(folder).glob("*.py")}


def _inputs_digest(members: dict[str, bytes]) -> str:
    """A digest of names and contents; the zip is made only if it is new."""
    total = hashlib.sha256(sys.version.encode())
    for name in sorted(members):
        total.update(f"{name}\0{len(members[name])}\0".encode())
        total.update(members[name])
    return total.hexdigest()[:16]


def _compiled(name: str, source: bytes) -> bytes:
    """Byte code for nodes with the Python version of this machine: halves the CPU time of a run. Other versions use the source beside it."""
    code = compile(source, name, "exec", dont_inherit=True, optimize=0)
    magic = importlib.util.MAGIC_NUMBER
    return magic + _UNCHECKED_HASH + importlib.util.source_hash(source) + marshal.dumps(code, _MARSHAL_VERSION)


def _zip(members: dict[str, bytes]) -> bytes:
    files = {f"{n}c": _compiled(n, source) for n, source in members.items() if not n.startswith(_NOT_COMPILED)}
    files |= members | {"__main__.py": members["clusterctl_validators/__main__.py"]}
    return zipped(files)


def zipped(files: dict[str, bytes]) -> bytes:
    """A zip of these files: same files, same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system, entry.external_attr = 3, 0o600 << 16
            archive.writestr(entry, files[name], zipfile.ZIP_DEFLATED, 9)
    return buffer.getvalue()


def _write(path: Path, content: bytes) -> None:
    make_folder(path.parent.parent)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    Path(file.name).replace(path)


def sha256_of(content: bytes) -> str:
    """The digest that names a file on nodes."""
    return hashlib.sha256(content).hexdigest()
