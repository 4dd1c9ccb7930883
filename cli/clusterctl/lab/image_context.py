"""What the second image layer is built from: the simulator, its files for the node, the stub packages."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_HERE = Path(__file__).parent
_SOURCES = (_HERE / "simulator", _HERE / "image_files")


def context_digest() -> str:
    """Changes with any file of the layer."""
    digest = hashlib.sha256()
    for file in _inputs():
        digest.update(f"{file.relative_to(_HERE)}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def write_context(folder: Path, base: str) -> None:
    """Write the build context of `podman build` into `folder`."""
    for source in _SOURCES:
        shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "Containerfile").write_text(
        f"FROM {base}\n"
        "COPY simulator /opt/clusterctl-lab/simulator\n"
        "COPY image_files /opt/clusterctl-lab/image_files\n"
        "RUN sh /opt/clusterctl-lab/image_files/bake.sh\n",
        encoding="utf-8",
    )


def _inputs() -> Iterator[Path]:
    for source in _SOURCES:
        yield from sorted(f for f in source.rglob("*") if f.is_file() and "__pycache__" not in f.parts)
