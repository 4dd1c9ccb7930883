"""What a command does when the other end of its output is gone, full, closed, or knows ASCII only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.rack_after_run import provisioned_rack

CLUSTERCTL = [sys.executable, "-m", "clusterctl"]


def run(words: list[str], **how: Any) -> tuple[int, str]:
    """Exit status and stderr."""
    done = subprocess.run([*CLUSTERCTL, *words], stderr=subprocess.PIPE, text=True, check=False, timeout=60, **how)
    return done.returncode, done.stderr


def test_a_reader_that_stops_early_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert run(["completion", "bash"], stdout=writer) == (0, "")
    finally:
        os.close(writer)


def test_a_closed_standard_output_is_no_error() -> None:
    assert run(["completion", "bash"], preexec_fn=lambda: os.close(1)) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this machine has no /dev/full")
def test_lost_output_is_told_and_is_no_success() -> None:
    with Path("/dev/full").open("w") as full:
        code, err = run(["completion", "bash"], stdout=full)
    assert code == 1
    assert err.startswith("error: the output is incomplete: No space left on device\nhint: ")


def test_signs_are_escaped_where_only_ascii_is_shown(tmp_path: Path) -> None:
    store, _ = provisioned_rack(tmp_path)
    store.close()
    done = subprocess.run(
        [*CLUSTERCTL, "--state-dir", str(tmp_path), "status"],
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii:strict"},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"r12-n01" in done.stdout
    assert b"\\u" in done.stdout


def test_progress_that_nobody_reads_does_not_end_a_run() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    script = (
        "import sys\nfrom clusterctl.terminal.streams import keep_streams\nkeep_streams()\n"
        "for _ in range(1000): print('x' * 100, file=sys.stderr, flush=True)\nprint('done')"
    )
    try:
        done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=writer, text=True, check=False, timeout=60)
    finally:
        os.close(writer)
    assert (done.returncode, done.stdout) == (0, "done\n")
