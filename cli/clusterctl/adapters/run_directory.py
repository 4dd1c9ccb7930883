"""The run directory: the raw records of a run. Files are written atomically."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from clusterctl.adapters.in_place import is_written_in_place
from clusterctl.model.errors import PathError, RunDirectoryGoneError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clusterctl.model.records import AdmissionRecord, RunRow

_FOLDER = "runs"


def run_ids(state_dir: Path, limit: int = 100) -> tuple[str, ...]:
    """The ids of the runs that have a directory, newest first."""
    folder = state_dir / _FOLDER
    return tuple(sorted((p.name for p in folder.iterdir()), reverse=True))[:limit] if folder.is_dir() else ()


@dataclass(frozen=True, slots=True)
class RunDir:
    """`<state_dir>/runs/<id>/`, readable by its owner only.

    Attributes:
        id: `<UTC time>-<verb>-<6 hex digits>`: sorts by time, unique; workers on other machines draw theirs without knowing of each other.
    """

    id: str
    path: Path

    @classmethod
    def create(cls, state_dir: Path, verb: str) -> RunDir:
        """A new, empty run directory.

        Raises:
            StoreError: it cannot be created (permissions, full disk).
        """
        began = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{verb}"
        folder = state_dir / _FOLDER
        with _store_errors(folder):
            make_folder(folder)
            while True:
                path = folder / f"{began}-{secrets.token_hex(3)}"
                with suppress(FileExistsError):
                    path.mkdir(mode=0o700)
                    break
            _sync_folder(folder)
        return cls(path.name, path)

    @classmethod
    def open(cls, path: Path) -> RunDir:
        """An existing run directory.

        Raises:
            RunDirectoryGoneError: it does not exist.
        """
        if not path.is_dir():
            raise RunDirectoryGoneError(run=path.name)
        return cls(path.name, path)

    @classmethod
    def of(cls, run: RunRow) -> RunDir:
        """The run directory of a recorded run.

        Raises:
            RunDirectoryGoneError: it does not exist, or the run never had one.
        """
        found = cls.find(run)
        if found is None:
            raise RunDirectoryGoneError(run=run.id)
        return found

    @classmethod
    def find(cls, run: RunRow) -> RunDir | None:
        """The run directory of a recorded run; None if it does not exist, or the run never had one."""
        path = Path(run.directory)
        return cls(path.name, path) if run.directory and path.is_dir() else None  # Path("") is the working directory

    def path_for(self, relative: str) -> Path:
        """The path of a file in the run directory; creates its parent directories.

        Raises:
            ValueError: the path is outside of the run directory.
        """
        path = self._inside(relative)
        with _store_errors(path):
            make_folder(path.parent)
        return path

    def write_text(self, relative: str, content: str) -> Path:
        """Write a file like `write_atomically`."""
        return self.write_parts(relative, (content,))

    def write_parts(self, relative: str, parts: Iterable[str]) -> Path:
        """Like `write_text`, for text that is too large for memory."""
        path = self.path_for(relative)
        _write(path, parts)
        return path

    def write_json(self, relative: str, data: Any) -> Path:
        """Write indented JSON with keys in the given order; NaN and infinity raise ValueError."""
        return self.write_text(relative, json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")

    def read_text(self, relative: str, limit_bytes: int | None = None) -> str | None:
        """The text of a file; None if it does not exist, or is larger than `limit_bytes`."""
        path = self._inside(relative)
        if not path.is_file():
            return None
        with _store_errors(path):
            if limit_bytes is not None and path.stat().st_size > limit_bytes:
                return None
            return path.read_text(encoding="utf-8", errors="backslashreplace")

    def read_bytes(self, relative: str) -> bytes:
        """The content of a file that exists."""
        path = self._inside(relative)
        with _store_errors(path):
            return path.read_bytes()

    def files(self, folder: str = ".") -> tuple[str, ...]:
        """The files below a directory of the run, as sorted relative POSIX paths; without temporary files."""
        root = self._inside(folder)
        found = (p for p in root.rglob("*") if p.is_file() and not p.is_symlink() and not p.name.startswith("."))
        return tuple(sorted(p.relative_to(self.path).as_posix() for p in found))

    def digests(self, folder: str = ".") -> dict[str, str]:
        """sha256 of every file below a directory, by `<run id>/<relative path>`."""
        return {f"{self.id}/{name}": _sha256(self.path / name) for name in self.files(folder)}

    def _inside(self, relative: str) -> Path:
        pure = PurePosixPath(relative)
        if pure.is_absolute() or ".." in pure.parts:
            raise ValueError(f"not a path inside the run directory: {relative!r}")
        return self.path / pure


def write_admission(rundir: RunDir, record: AdmissionRecord) -> None:
    """Write `admission/<node>.json` and its signature, as `ssh-keygen -Y verify` reads them."""
    rundir.write_text(f"admission/{record.node}.json", record.document)
    if record.signature:
        rundir.write_text(f"admission/{record.node}.json.sig", record.signature)


def write_atomically(path: Path, content: str) -> None:
    """Write a file in an existing directory: complete and synced to disk on return; on StoreError the old content stays."""
    _write(path, (content,))


def write_parts_atomically(path: Path, parts: Iterable[str]) -> None:
    """Like `write_atomically`, for text that is too large for memory."""
    _write(path, parts)


def _write(path: Path, parts: Iterable[str]) -> None:
    with new_file(path) as file:
        file.writelines(part.encode("utf-8", "backslashreplace") for part in parts)


@contextmanager
def given_output(path: Path | None) -> Iterator[None]:
    """What a person named as output, a file or a folder of files, is not part of the record: an error of writing it names the path.

    None: nothing is named.

    Raises:
        PathError: it cannot be written.
    """
    try:
        yield
    except StoreError as e:
        if path is None or not Path(str(e.values["path"])).absolute().is_relative_to(path.absolute()):
            raise
        hint = "name a file in a folder that this user may write to, with room for it"
        raise PathError(path=path, detail=e.values["detail"], hint=hint) from e


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of `path` when the block ends without an error: complete and synced to disk. A device or a pipe is written to.

    Raises:
        StoreError: it cannot be written; the old content stays.
    """
    with _store_errors(path):
        if is_written_in_place(path):
            with path.open("wb") as file:
                yield file
            return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


def _sha256(path: Path) -> str:
    with _store_errors(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_folder(path: Path) -> None:
    """Like `mkdir -p`; after a power failure it is still there. Only this user can write to it, and its group read it, whatever the umask."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(mode=0o750, exist_ok=True)
    _sync_folder(path.parent)


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _store_errors(path: Path) -> Iterator[None]:
    """Convert an OSError to a StoreError with a hint."""
    try:
        yield
    except OSError as e:
        full = e.errno in {errno.ENOSPC, errno.EDQUOT}
        hint = "free space there and run again; no incomplete file was left" if full else "choose another directory with --state-dir"
        raise StoreError(path=path, detail=e.strerror or str(e), hint=hint) from e
