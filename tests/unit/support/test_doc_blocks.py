from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.doc_blocks import Block, Command, blocks_of, clusterctl_calls
from support.doc_shell import DocShell

if TYPE_CHECKING:
    from pathlib import Path

PAGE = """
<!-- file: a/b.yml -->
```yaml
x: 1
```

<!-- not-run: an example -->

Words take the mark away.

```console
$ clusterctl plan rack-12   # exit status 8: changes
~ x:  1 -> 2
$ podman ps \\
  --all   # someone looks
```
"""


def page(folder: Path, text: str = PAGE) -> Path:
    (folder / "page.md").write_text(text)
    return folder / "page.md"


def test_blocks_have_marks_and_commands_have_status_and_output(tmp_path: Path) -> None:
    first, second = blocks_of(page(tmp_path))
    assert (first.language, first.text, first.file, first.runs_here) == ("yaml", "x: 1\n", "a/b.yml", True)
    assert (second.marks, second.runs_here) == ({}, True)
    plan, ps = second.commands
    assert (plan.line, plan.exit_status, plan.output) == (12, 8, ("~ x:  1 -> 2",))
    assert (ps.text, ps.exit_status) == ("podman ps \\\n  --all   # someone looks", 0)


@pytest.mark.parametrize("mark", ["not-run: needs a BMC", "runs-in: lab"])
def test_a_marked_block_does_not_run_here(mark: str, tmp_path: Path) -> None:
    (block,) = blocks_of(page(tmp_path, f"<!-- {mark} -->\n```sh\ntrue\n```\n"))
    assert not block.runs_here


def test_yaml_that_is_no_file_runs_nowhere(tmp_path: Path) -> None:
    (block,) = blocks_of(page(tmp_path, "```yaml\nx: 1\n```\n"))
    assert not block.runs_here


def test_shown_lines_are_compared_word_by_word() -> None:
    command = Command(1, "x", ("~ x: 1", "ok gates copy", "a ... c"))
    assert command.missing("a b c\nok   gates   dcgm, copy\n~ x:  1 -> 2\n") == []
    assert command.missing("ok gates\ncopy\n~ 1 x:\na c") == ["~ x: 1", "ok gates copy"]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("clusterctl init mysite && cd mysite   # a site", [["clusterctl", "init", "mysite"]]),
        ("clusterctl drift all -o junit > drift.xml", [["clusterctl", "drift", "all", "-o", "junit"]]),
        ("clusterctl plan 'a b' || clusterctl status", [["clusterctl", "plan", "a b"], ["clusterctl", "status"]]),
        ("ls clusterctl", []),
    ],
)
def test_calls_in_a_command_line(text: str, calls: list[list[str]]) -> None:
    assert clusterctl_calls(text) == calls


@pytest.mark.parametrize(
    ("commands", "problem"),
    [
        ("mkdir d && cd d\n! test -e d", ""),
        ("false   # exit status 1", ""),
        ("false", "exit status 1, not 0"),
        ("true   # exit status 8", "exit status 0, not 8"),
        ('x=1\ntest "$x" = 1', ""),
    ],
)
def test_commands_share_one_shell_and_a_wrong_status_ends_it(commands: str, problem: str, tmp_path: Path) -> None:
    block = repository_block(f"```sh\n{commands}\n```", tmp_path)
    if not problem:
        DocShell(tmp_path, tmp_path).run([block])
        return
    with pytest.raises(AssertionError, match=problem):
        DocShell(tmp_path, tmp_path).run([block])


def test_a_shown_line_that_is_not_printed_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="not printed"):
        DocShell(tmp_path, tmp_path).run([repository_block("```console\n$ echo one\ntwo\n```", tmp_path)])


def test_the_names_of_a_page_are_changed_in_commands_files_and_outputs(tmp_path: Path) -> None:
    text = (
        "<!-- file: rack-12.txt -->\n```text\nrack-12\n```\n\n```console\n$ cat rack-12.txt\nrack-12\n$ grep -c rack-44 rack-44.txt\n1\n```"
    )
    (tmp_path / "page.md").write_text(text)
    DocShell(tmp_path, tmp_path, (("rack-12", "rack-44"),)).run(blocks_of(tmp_path / "page.md"))


def repository_block(text: str, folder: Path) -> Block:
    (block,) = blocks_of(page(folder, text))
    return block
