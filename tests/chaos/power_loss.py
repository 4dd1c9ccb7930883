"""What a POSIX file system may lose when the power fails: contents and names that no fsync reached."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class Content(NamedTuple):
    """A file's length and time of change, enough to see that it was written since."""

    size: int
    changed_ns: int


@dataclass
class PowerLoss:
    """The worst that may be left of a folder: nothing that was not synced is kept.

    SQLite's files are left as they are: it syncs them itself before a commit returns (PRAGMA synchronous=FULL).

    Attributes:
        kept: names of files that are not the controller's.
        contents: inode -> what was synced of a file.
        names: inode of a folder -> its synced names and their inodes.
        replaced: inode -> content of a file whose name was given to another file.
    """

    root: Path
    kept: tuple[str, ...] = ()
    contents: dict[int, Content] = field(default_factory=dict)
    names: dict[int, dict[str, int]] = field(default_factory=dict)
    replaced: dict[int, bytes] = field(default_factory=dict)

    def install(self) -> None:
        """What is there is on the disk; from here on only what is synced. There is no way back in this process."""
        for folder in [self.root, *(p for p in self.root.rglob("*") if p.is_dir())]:
            self._synced_folder(folder)
            for file in self._files(folder):
                self.contents[file.stat().st_ino] = content_of(file.stat())
        fsync, replace = os.fsync, os.replace

        def watched_fsync(handle: int) -> None:
            fsync(handle)
            found = os.fstat(handle)
            if S_ISDIR(found.st_mode):
                self._synced_folder(Path(f"/proc/self/fd/{handle}").resolve())
            else:
                self.contents[found.st_ino] = content_of(found)

        def watched_replace(source: Any, target: Any, **words: Any) -> None:
            with suppress(FileNotFoundError):
                self.replaced[Path(target).stat().st_ino] = Path(target).read_bytes()
            replace(source, target, **words)

        vars(os).update(fsync=watched_fsync, replace=watched_replace)

    def happen(self) -> None:
        """Leave what was synced."""
        self._lose(self.root)

    def _lose(self, folder: Path) -> None:
        durable = self.names.get(folder.stat().st_ino, {})
        for entry in tuple(folder.iterdir()):
            if self._is_kept(entry):
                continue
            inode = entry.stat().st_ino
            if durable.get(entry.name) == inode:
                if entry.is_dir():
                    self._lose(entry)
                elif self.contents.get(inode) != content_of(entry.stat()):
                    entry.write_bytes(b"")
            elif entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        for name, inode in durable.items():
            if inode in self.replaced and not (folder / name).exists():
                (folder / name).write_bytes(self.replaced[inode])

    def _synced_folder(self, folder: Path) -> None:
        if folder == self.root or self.root in folder.parents:
            self.names[folder.stat().st_ino] = {p.name: p.stat().st_ino for p in folder.iterdir() if not self._is_kept(p)}

    def _files(self, folder: Path) -> Iterator[Path]:
        return (p for p in folder.iterdir() if p.is_file() and not self._is_kept(p))

    def _is_kept(self, path: Path) -> bool:
        return path.parent == self.root and (path.name in self.kept or path.name.startswith("clusterctl.db"))


def content_of(found: os.stat_result) -> Content:
    """What changes when a file is written."""
    return Content(found.st_size, found.st_mtime_ns)
