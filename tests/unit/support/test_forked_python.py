"""A start from a fork is what the start of a process is, for the caller and for the program."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from support.forked_python import forked_python

if TYPE_CHECKING:
    from pathlib import Path

    from support.forked_python import ForkedPython

PROGRAM = """
import atexit, json, os, sys, time

SEEN = os.environ.get("SEEN")

def main(*words):
    print(json.dumps([sys.argv, words, SEEN, os.environ.get("LATER"), os.environ.get("PYTHONPATH"), os.getcwd(), sys.stdin.read()]))
    print("to stderr", file=sys.stderr)
    exec(words[0])
"""


@pytest.fixture
def program(tmp_path: Path) -> ForkedPython:
    (tmp_path / "program.py").write_text(PROGRAM)
    return forked_python("program:main", {"PYTHONPATH": str(tmp_path), "SEEN": "when imported"})


def start(program: ForkedPython, folder: Path, code: str, limit_s: float = 20) -> subprocess.CompletedProcess[str]:
    return program.run(["name", "word"], code, environment={"LATER": "when started"}, folder=folder, limit_s=limit_s, given="a question")


@pytest.mark.parametrize(
    ("code", "status", "printed"),
    [
        ("pass", 0, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit(7)", 7, ""),
        ("sys.exit('in words')", 1, "in words"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero"),
        ("os.kill(os.getpid(), 9)", -9, ""),
    ],
)
def test_what_a_caller_gets_is_that_of_a_process(program: ForkedPython, tmp_path: Path, code: str, status: int, printed: str) -> None:
    done = start(program, tmp_path, code)
    plain = subprocess.run(
        [sys.executable, "-c", f"import program; program.main({code!r})"],
        env={"PYTHONPATH": str(tmp_path), "SEEN": "when imported"},
        input="a question",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == plain.returncode == status
    for one in (done, plain):
        assert one.stderr.startswith("to stderr\n")
        assert printed in one.stderr
    if status != -9:
        folder = str(tmp_path)
        assert json.loads(done.stdout) == [["name", "word"], [code], "when imported", "when started", None, folder, "a question"]


def test_starts_know_nothing_of_each_other(program: ForkedPython, tmp_path: Path) -> None:
    start(program, tmp_path, "os.environ['LATER'] = 'x'; os.chdir('/'); sys.modules['program'].SEEN = 'x'")
    assert json.loads(start(program, tmp_path, "pass").stdout)[2:4] == ["when imported", "when started"]


def test_a_start_that_takes_too_long_is_ended_and_the_next_one_gets_its_own_answer(program: ForkedPython, tmp_path: Path) -> None:
    code = f"time.sleep(1); open({str(tmp_path / 'late')!r}, 'w')"
    with pytest.raises(subprocess.TimeoutExpired):
        start(program, tmp_path, code, limit_s=0.3)
    program = forked_python("program:main", {"PYTHONPATH": str(tmp_path), "SEEN": "when imported"})
    assert start(program, tmp_path, "sys.exit(5)").returncode == 5
    time.sleep(1)
    assert not (tmp_path / "late").exists()
