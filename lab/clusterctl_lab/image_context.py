"""The build context of the node image: the simulator, its files for the node, the stub packages."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl_lab.stub_catalogue import stub_packages
from clusterctl_lab.stub_repository import UNITS, build_repositories

if TYPE_CHECKING:
    from collections.abc import Iterator

_HERE = Path(__file__).parent
_SOURCES = (_HERE / "simulator", _HERE / "image_files")
_OTHERS = (_HERE / "apt_index.py", _HERE / "stub_repository.py", *sorted(UNITS.glob("*.service")))


def context_digest() -> str:
    """A digest of all files of the context and of all stub packages."""
    digest = hashlib.sha256(repr(stub_packages()).encode())
    for file in _inputs():
        digest.update(f"{file.relative_to(_HERE)}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def write_context(folder: Path, base: str) -> None:
    """Write the context for `podman build` into `folder`."""
    for source in _SOURCES:
        shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    installed = build_repositories(stub_packages(), folder / "mirror")
    (folder / "mirror" / "installed").write_text("".join(f"{name}\n" for name in installed), encoding="utf-8")
    (folder / "Containerfile").write_text(
        f"FROM {base}\n"
        "COPY mirror /opt/clusterctl-lab/mirror\n"
        "COPY simulator /opt/clusterctl-lab/simulator\n"
        "COPY image_files /opt/clusterctl-lab/image_files\n"
        "RUN sh /opt/clusterctl-lab/image_files/bake.sh\n",
        encoding="utf-8",
    )


def _inputs() -> Iterator[Path]:
    yield from _OTHERS
    for source in _SOURCES:
        yield from sorted(f for f in source.rglob("*") if f.is_file() and "__pycache__" not in f.parts)
