"""Files of one node on a shared file system: a checkpoint that is written and read back, and many small files. Standard library, Python 3.8+."""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1 << 20
BLOCK = 4 * MIB
SMALL_BYTES = 4096
# Blocks are parts of one random content that begin at different places, so no page of one is a page of another.
STEP, PLACES = 4099, MIB
SHOWN = 8
# A file system without direct I/O says one of these.
NO_DIRECT = (errno.EINVAL, errno.EOPNOTSUPP)


class Checkpoint:
    """`files` files, each written and read by a thread of its own, as the ranks of a node do."""

    CONTENT = BLOCK + PLACES

    def __init__(self, folder: int, content: bytes, *, files: int, file_mib: int, seconds: int, stop: threading.Event) -> None:
        self.folder, self.files, self.seconds, self.stop = folder, files, seconds, stop
        self.content = memoryview(content)
        self.blocks = file_mib * MIB // BLOCK
        self.written = [0] * files
        self.digests: list[list[bytes]] = []
        self.wrong: list[list[int]] = [[] for _ in range(files)]
        self.direct = True

    def block(self, file: int, number: int) -> memoryview:
        """What is in a block of a file."""
        begin = (file * self.blocks + number) * STEP % PLACES
        return self.content[begin : begin + BLOCK]

    def prepare(self) -> None:
        """SHA-256 of every block, beforehand: it takes a processor longer than the writing."""
        self.digests = [[] for _ in range(self.files)]
        self._all(lambda file: self.digests[file].extend(hashlib.sha256(self.block(file, n)).digest() for n in range(self.blocks)))

    def find(self) -> None:
        """Take what another node wrote as written, as far as it is there."""
        for file in range(self.files):
            with suppress(FileNotFoundError):
                size = os.stat(f"file{file}", dir_fd=self.folder, follow_symlinks=False).st_size
                self.written[file] = min(size // BLOCK, self.blocks)

    def write(self) -> dict[str, Any]:
        """Write all files, each to the server (fsync)."""
        return self._timed(self._write)

    def read(self) -> dict[str, Any]:
        """Read all files back, past the cache of this node where the file system allows it, and compare the digest of every block."""
        found = self._timed(self._read)
        places = [[file, number] for file, numbers in enumerate(self.wrong) for number in numbers]
        return {**found, "direct": self.direct, "wrong": len(places), "wrong_first": places[:SHOWN]}

    def _timed(self, work: Callable[[int], int]) -> dict[str, Any]:
        sizes = [0] * self.files

        def one(file: int) -> None:
            sizes[file] = work(file)

        begun = time.monotonic()
        self._all(one)
        return {"bytes": sum(sizes), "asked_bytes": self.files * self.blocks * BLOCK, "duration_s": time.monotonic() - begun}

    def _all(self, work: Callable[[int], None]) -> None:
        """A thread for each file; the first error counts."""
        errors: list[BaseException] = []

        def guarded(file: int) -> None:
            try:
                work(file)
            except Exception as e:  # noqa: BLE001 raised again below, in the thread that asked
                errors.append(e)

        threads = [threading.Thread(target=guarded, args=(file,), daemon=True) for file in range(self.files)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    def _write(self, file: int) -> int:
        until = time.monotonic() + self.seconds
        opened = os.open(f"file{file}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=self.folder)
        try:
            for number in range(self.blocks):
                if self.stop.is_set() or time.monotonic() >= until:
                    break
                left = self.block(file, number)
                while left:
                    left = left[os.write(opened, left) :]
                self.written[file] += 1
            os.fsync(opened)
        finally:
            os.close(opened)
        return self.written[file] * BLOCK

    def _read(self, file: int) -> int:
        if not self.written[file]:
            return 0
        until = time.monotonic() + self.seconds
        opened = self._open_uncached(f"file{file}")
        size = 0
        try:
            with mmap.mmap(-1, BLOCK) as pages, memoryview(pages) as view:
                for number in range(self.written[file]):
                    if self.stop.is_set() or time.monotonic() >= until:
                        break
                    length = filled(opened, view, number * BLOCK, direct=self.direct)
                    size += length
                    if hashlib.sha256(view[:length]).digest() != self.digests[file][number]:
                        self.wrong[file].append(number)
        finally:
            os.close(opened)
        return size

    def _open_uncached(self, name: str) -> int:
        """Open for direct I/O; where there is none, drop what the cache has of the file, which a client may refuse without a word."""
        plain = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=self.folder)
        os.posix_fadvise(plain, 0, 0, os.POSIX_FADV_DONTNEED)
        direct = self._open_direct(name)
        if direct is None:
            self.direct = False
            return plain
        os.close(plain)
        return direct

    def _open_direct(self, name: str) -> int | None:
        try:
            opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECT, dir_fd=self.folder)
        except OSError as e:
            if e.errno in NO_DIRECT:
                return None
            raise
        return opened


def filled(opened: int, view: memoryview, offset: int, *, direct: bool) -> int:
    """Read a block; returns how much of it there is."""
    length = 0
    while length < len(view):
        read = os.preadv(opened, [view[length:]], offset + length)
        length += read
        # Direct I/O goes on at a page only, and ends elsewhere at the end of the file only.
        if not read or (direct and length % mmap.PAGESIZE):
            break
    return length


def small_files(folder: int, count: int, seconds: int) -> dict[str, Any]:
    """Make, look at and remove many small files, one after the other; as many as the time allows."""
    content = b"\xa5" * SMALL_BYTES
    names = [f"small{number}" for number in range(count)]

    def make(name: str) -> None:
        opened = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
        try:
            os.write(opened, content)
        finally:
            os.close(opened)

    made, make_s = repeated(make, names, seconds)
    looked, look_s = repeated(lambda name: os.stat(name, dir_fd=folder, follow_symlinks=False), names[:made], seconds)
    removed, remove_s = repeated(lambda name: os.unlink(name, dir_fd=folder), names[:made], seconds)
    counts = {"created": made, "stated": looked, "removed": removed}
    return {**counts, "create_s": make_s, "stat_s": look_s, "remove_s": remove_s}


def repeated(work: Callable[[str], object], names: list[str], seconds: int) -> tuple[int, float]:
    """How often something was done, and how long it took."""
    begun = time.monotonic()
    done = 0
    for name in names:
        if time.monotonic() - begun >= seconds:
            break
        work(name)
        done += 1
    return done, time.monotonic() - begun
