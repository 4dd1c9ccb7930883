"""Write a new site folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.model.errors import PathError, UsageProblemError

if TYPE_CHECKING:
    from collections.abc import Iterator

_FILES = Path(__file__).parent / "site_files"
_LAB_FILES = Path(__file__).parent / "lab_site_files"


def write_site(folder: Path, *, lab: bool = False) -> tuple[Path, ...]:
    """Write `clusterctl.yml` and the inventory `inventory/<name of the folder>` with comments; returns the files.

    The site of a `lab` has no inventory of its own: `clusterctl lab up` writes it.

    Raises:
        UsageProblemError: the folder is `/`, or one of the files is there already (none is written).
        PathError: the folder cannot be written.
    """
    if folder.resolve() == Path("/"):
        raise UsageProblemError(detail=f"{folder} is the root of the file system", hint="give a new folder; nothing was written")
    site = re.sub(r"[^\w.-]", "_", folder.resolve().name) or "site"
    texts = dict(_texts(folder, site, _LAB_FILES if lab else _FILES))
    present = next((p for p in texts if p.exists()), None)
    if present is not None:
        raise UsageProblemError(detail=f"{present} is there already", hint="give a new folder; nothing was written")
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as e:
        raise PathError(path=folder, detail=e.strerror, hint="give a folder that can be written") from e
    return tuple(texts)


def _texts(folder: Path, site: str, files: Path) -> Iterator[tuple[Path, str]]:
    for file in sorted(p for p in files.rglob("*") if p.is_file()):
        relative = file.relative_to(files)
        name = Path(".gitignore") if relative == Path("gitignore") else relative
        target = folder / "inventory" / site / name.relative_to("inventory") if name.parts[0] == "inventory" else folder / name
        text = file.read_text(encoding="utf-8")
        yield target, text.replace("{site}", site) if name == Path("clusterctl.yml") else text
