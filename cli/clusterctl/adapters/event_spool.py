"""The files of event delivery in the state directory: up to where events were sent, and the dead letters. One process at a time."""

from __future__ import annotations

import fcntl
import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from clusterctl.adapters.run_directory import make_folder, write_atomically, write_parts_atomically
from clusterctl.model.cloud_event import DeadLetter
from clusterctl.model.errors import EventsBusyError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

# of what is never fetched, the oldest are dropped
MOST_LETTERS = 10_000


@dataclass(frozen=True, slots=True)
class Cursor:
    """Up to where events were sent: the time of the newest one, and the ids of those near it, with their times."""

    since: str
    seen: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class EventSpool:
    """The folder `events` of the state directory."""

    folder: Path

    @property
    def letters_file(self) -> Path:
        """The dead letters, a JSON document per line, oldest first."""
        return self.folder / "dead_letters.jsonl"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes out.

        Raises:
            EventsBusyError: another process sends events now.
            StoreError: the folder cannot be used.
        """
        try:
            make_folder(self.folder.parent)
            self.folder.mkdir(mode=0o700, exist_ok=True)
            lock = (self.folder / "lock").open("w")
        except OSError as e:
            raise StoreError(path=self.folder, detail=e.strerror, hint="make it writable") from e
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as e:
                raise EventsBusyError(folder=self.folder.parent) from e
            yield

    def cursor(self) -> Cursor | None:
        """None where no events were ever sent.

        Raises:
            StoreError: the file is damaged.
        """
        file = self.folder / "cursor.json"
        if not file.exists():
            return None
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            return Cursor(str(data["since"]), {str(k): str(v) for k, v in data["seen"].items()})
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as e:
            raise StoreError(path=file, detail="it is damaged", hint="delete it; events count from then on") from e

    def keep_cursor(self, cursor: Cursor) -> None:
        """Write it."""
        write_atomically(self.folder / "cursor.json", json.dumps(asdict(cursor)) + "\n")

    def letters(self) -> tuple[DeadLetter, ...]:
        """The dead letters, oldest first.

        Raises:
            StoreError: a line is damaged.
        """
        if not self.letters_file.exists():
            return ()
        try:
            lines = self.letters_file.read_text(encoding="utf-8").splitlines()
            return tuple(DeadLetter(**json.loads(line)) for line in lines)
        except (OSError, ValueError, TypeError) as e:
            raise StoreError(
                path=self.letters_file, detail="it is damaged", hint="move it away; what it holds is in the record, too"
            ) from e

    def keep_letters(self, letters: Sequence[DeadLetter]) -> None:
        """Replace them."""
        write_parts_atomically(self.letters_file, (json.dumps(asdict(letter)) + "\n" for letter in letters[-MOST_LETTERS:]))
