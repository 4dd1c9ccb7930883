"""Files that scripts write: each one that differs is written, or named with `--check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]


def write_or_check(wanted: Mapping[Path, str], argv: Sequence[str], *, root: Path = ROOT, unwanted: Collection[Path] = ()) -> int:
    """Write the files of `wanted` that differ and remove those of `unwanted`; with `--check` in `argv` only name them. Returns 1 if it named one, else 0."""
    check = "--check" in argv
    stale = [file for file, text in wanted.items() if not file.exists() or file.read_text(encoding="utf-8") != text]
    for file in (*stale, *unwanted):
        print(f"{'stale' if check else 'wrote' if file in stale else 'removed'}: {file.relative_to(root)}")
    if check:
        return int(bool(stale or unwanted))
    for file in stale:
        file.write_text(wanted[file], encoding="utf-8")
    for file in unwanted:
        file.unlink()
    return 0
