"""What the follower of a run sends, and when; it ends with its controller."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from clusterctl_on_node.follower import END, EXIT_GONE, Pieces
from clusterctl_on_node.run_folder import EVENTS

if TYPE_CHECKING:
    from pathlib import Path

LAST = END + b'{"why": ""}}\n'
FOLLOW = "import sys; from pathlib import Path; from clusterctl_on_node.follower import follow; sys.exit(follow(Path(sys.argv[1]), 0))"


def test_events_of_one_second_are_one_piece() -> None:
    pieces = Pieces(0.0)
    sent = [pieces.take(f"{n}\n".encode(), n * 0.1) for n in range(1, 41)]
    assert b"".join(sent) == b"".join(f"{n}\n".encode() for n in range(1, 41))
    assert next(p for p in sent if p).count(b"\n") == 10
    assert sum(bool(p) for p in sent) == 4


def test_an_event_after_a_pause_is_sent_at_once() -> None:
    pieces = Pieces(0.0)
    assert pieces.take(b"", 5.0) == b""
    assert pieces.take(b"a\n", 5.1) == b"a\n"


def test_the_last_line_takes_what_waits_along() -> None:
    pieces = Pieces(0.0)
    assert pieces.take(b"a\n", 0.1) == b""
    assert pieces.take(LAST, 0.2) == b"a\n" + LAST


def test_a_full_piece_is_sent_at_once() -> None:
    pieces = Pieces(0.0)
    assert len(pieces.take(b"x" * (1 << 16), 0.1)) == 1 << 16


def test_a_quiet_run_shows_that_it_lives() -> None:
    pieces = Pieces(0.0)
    assert [pieces.take(b"", t) for t in (1.0, 9.9, 10.1, 11.0)] == [b"", b"", b"\n", b""]


@pytest.mark.parametrize("confirmed", [True, False])
def test_it_ends_with_the_confirmation_or_with_its_controller(tmp_path: Path, confirmed: bool) -> None:
    (tmp_path / EVENTS).write_bytes(b'{"event": "x"}\n' + LAST)
    with subprocess.Popen([sys.executable, "-c", FOLLOW, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        assert json.loads(process.stdout.readline()) == {"event": "x"}
        assert process.stdout.readline() == LAST
        if confirmed:
            process.stdin.write(b"read\n")
        process.stdin.close()
        assert process.wait(30) == (0 if confirmed else EXIT_GONE)
    assert (tmp_path / "read").exists() is confirmed
