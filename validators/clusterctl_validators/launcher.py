"""Start the bundle on a node. Stdin: this file, then in mode push the bundle, then the request.

Arguments: run|push, sha256 and size of the bundle, oldest supported Python, the module of the bundle whose `main` runs. Reports errors by exit status and on stderr.
Runs on Python 3.6 and later, so that it can report that a Python is too old.
"""

import hashlib
import importlib
import os
import stat
import sys
from pathlib import Path
from typing import Callable, Sequence

EXIT_DAMAGED = 92
EXIT_ABSENT = 93
EXIT_TOO_OLD = 94
EXIT_NO_PLACE = 96
PLACES = ("/var/lib/clusterctl", "/run/clusterctl", "/tmp/clusterctl-{}".format(os.geteuid()))  # noqa: S108 used only if private
KEPT = 6


class RefusedError(Exception):
    """The bundle cannot run here; `code` gives the controller the reason."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def private(path: Path, kind: Callable[[int], bool]) -> bool:
    """Whether only this user can access the path; never follows a link, because other users may write to /tmp."""
    try:
        found = os.lstat(str(path))
    except OSError:
        return False
    return kind(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def find(sha256: str, size: int, places: Sequence[str] = PLACES) -> Path:
    """The stored bundle, after a check of its size and checksum."""
    for place in places:
        folder = Path(place)
        path = folder / "bundle-{}.pyz".format(sha256)
        ours = private(folder, stat.S_ISDIR) and private(path, stat.S_ISREG) and path.stat().st_size == size
        if ours and hashlib.sha256(path.read_bytes()).hexdigest() == sha256:
            return path
    raise RefusedError(EXIT_ABSENT, "bundle absent")


def keep(content: bytes, sha256: str, places: Sequence[str] = PLACES) -> Path:
    """Write the bundle atomically to the first usable folder; delete the oldest ones."""
    if hashlib.sha256(content).hexdigest() != sha256:
        raise RefusedError(EXIT_DAMAGED, "the bundle was damaged in transfer")
    for place in places:
        try:
            path = _write(Path(place), content, "bundle-{}.pyz".format(sha256))
        except OSError:
            continue  # full or read-only: try the next folder
        if path:
            return path
    raise RefusedError(EXIT_NO_PLACE, "no private folder for the bundle; tried " + ", ".join(places))


def _write(folder: Path, content: bytes, name: str) -> "Path | None":
    if not folder.is_dir():
        folder.mkdir(mode=0o700)
    if not private(folder, stat.S_ISDIR):
        return None
    partial = folder / "{}.{}".format(name, os.getpid())
    try:
        with os.fdopen(os.open(str(partial), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
        partial.replace(folder / name)
    except OSError:
        if partial.exists():
            partial.unlink()
        raise
    kept = sorted(folder.glob("bundle-*"), key=lambda p: p.stat().st_mtime, reverse=True)
    for old in kept[KEPT:]:
        old.unlink()
    return folder / name


def check_python(oldest: str) -> None:
    """Refuse a Python that some part of the bundle does not support."""
    if sys.version_info[:2] < tuple(int(n) for n in oldest.split(".")):
        raise RefusedError(EXIT_TOO_OLD, "Python {}.{} is older than {}".format(sys.version_info[0], sys.version_info[1], oldest))


def main(mode: str, sha256: str, size: str, oldest: str, module: str) -> int:
    """Find or receive the bundle and run it."""
    try:
        check_python(oldest)
        path = keep(sys.stdin.buffer.read(int(size)), sha256) if mode == "push" else find(sha256, int(size))
    except RefusedError as e:
        sys.stderr.write("clusterctl: {}\n".format(e))
        return e.code
    sys.path.insert(0, str(path))
    code = importlib.import_module(module).main(sha256)
    return int(code)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:6]))
