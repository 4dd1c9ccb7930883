from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import rich_click as click
from click.exceptions import Abort

from clusterctl import main
from clusterctl.model.errors import LabError
from clusterctl.model.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def ends_with(monkeypatch: pytest.MonkeyPatch) -> Callable[[object], None]:
    """Replace `clusterctl status` with a command that raises an exception or returns a value."""

    def install(end: object) -> None:
        @click.command("status")
        def command() -> object:
            if isinstance(end, BaseException):
                raise end
            return end

        monkeypatch.setattr(main.LazyGroup, "get_command", lambda _self, _ctx, _name: command)

    return install


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (None, ExitCode.OK),
        (ExitCode.GATE_FAILED, ExitCode.GATE_FAILED),
        (LabError(detail="no podman", hint="apt install podman"), ExitCode.UNEXPECTED),
        (click.UsageError("bad"), ExitCode.USAGE),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED),
        (Abort(), ExitCode.INTERRUPTED),
        (ValueError("a bug"), ExitCode.UNEXPECTED),
    ],
    ids=repr,
)
def test_exceptions_and_results_map_to_exit_codes(ends_with: Callable[[object], None], end: object, code: ExitCode) -> None:
    ends_with(end)
    assert main.call(["status"]) == code


def test_an_error_prints_text_and_hint_without_traceback(ends_with: Callable[[object], None], capsys: pytest.CaptureFixture[str]) -> None:
    ends_with(LabError(detail="no podman", hint="apt install podman"))
    main.call(["status"])
    captured = capsys.readouterr()
    assert captured.err == "error: lab: no podman\nhint: apt install podman\n"
    assert captured.out == ""


def test_a_bug_prints_a_traceback_only_with_debug(ends_with: Callable[[object], None], capsys: pytest.CaptureFixture[str]) -> None:
    ends_with(ValueError("a bug"))
    main.call(["status"])
    assert "Traceback" not in capsys.readouterr().err
    with pytest.raises(ValueError, match="a bug"):
        main.call(["--debug", "status"])


def test_debug_prints_the_traceback_of_an_error(ends_with: Callable[[object], None], capsys: pytest.CaptureFixture[str]) -> None:
    ends_with(LabError(detail="no podman", hint="h"))
    main.call(["--debug", "status"])
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["nonsense"], ["status", "--nonsense"], ["provision"], ["provision", "x", "--level", "huge"]])
def test_a_wrong_command_line_exits_with_2(argv: list[str]) -> None:
    assert main.call(argv) == ExitCode.USAGE


def test_help_lists_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(re.search(rf"\b{verb}\b", text) for verb in main.VERBS)


def test_help_imports_no_slow_packages() -> None:
    code = (
        "import sys; from clusterctl.main import call; call(['--help'])\n"
        "heavy = {'sqlalchemy', 'pydantic', 'asyncssh', 'ansible', 'ansible_runner', 'jinja2', 'yaml'}\n"
        "heavy = (heavy | {'rich', 'rich_click', 'asyncio', 'importlib.metadata'}) & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("verb", list(main.VERBS))
def test_every_verb_has_a_module_with_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call([verb, "--help"]) == 0
    assert "Usage:" in capsys.readouterr().out


def test_provision_without_a_terminal_and_without_yes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLUSTERCTL_YES", raising=False)
    monkeypatch.setattr("sys.stdin", (tmp_path / "in").open("w+"))
    assert main.call(["provision", "rack-12"]) == ExitCode.USAGE
    assert "CLUSTERCTL_YES" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "message"),
    [("provisoin", "did you mean provision?"), ("version", "did you mean --version?"), ("xyzzy", "No such command 'xyzzy'.")],
)
def test_a_mistyped_verb_gets_a_suggestion(word: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call([word, "rack-12"]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["judge", ""], "the word after judge"),  # the working directory would be judged
        (["provision", "rack-12", "--roles", ""], "the word after --roles"),  # every role would be applied
        (["provision", "rack-12", "--roles="], "the value of --roles"),
        (["drift", "-i", "", "rack-12"], "the word after -i"),
        (["--state-dir", "", "status"], "the word after --state-dir"),
        (["", "status"], "the word after clusterctl"),
        (["lab", "down", ""], "the word after down"),
    ],
)
def test_an_empty_word_is_refused_and_nothing_is_done(words: list[str], what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(words) == ExitCode.USAGE
    assert f"Error: {what} is empty: a variable that is not set?" in capsys.readouterr().err


def test_words_for_ansible_and_empty_variables_are_taken_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[object, ...]] = []

    @click.command("provision")
    @click.option("-e", "--extra-vars", multiple=True)
    @click.argument("rest", nargs=-1)
    def command(**given: object) -> None:
        seen.append((given["extra_vars"], given["rest"]))

    monkeypatch.setattr(main.LazyGroup, "get_command", lambda _self, _ctx, _name: command)
    assert main.call(["provision", "-e", "reason=", "--extra-vars=site=", "--", "--start-at-task", "", "--tags="]) == ExitCode.OK
    assert seen == [(("reason=", "site="), ("--start-at-task", "", "--tags="))]
