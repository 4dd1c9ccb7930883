"""The fenced code blocks of README, docs and the other pages, and how each of them is tested.

A mark is an HTML comment on a line of its own before the block:

    in: checkout        runs in the root of this checkout
    in: new folder      runs in an empty folder, and so do the blocks after it; otherwise a page starts in a site folder that `clusterctl init mysite` wrote
    file: PATH          the block is the content of this file of the site; after inventory files `clusterctl profile check` must pass
    append-to: PATH     likewise, at its end
    runs-in: lab        tests/integration/test_docs_on_lab_nodes.py runs it on a lab rack
    runs-in: TEST       this test runs the same verbs with the same options; `TEST and TEST` is two of them
    not-run: REASON     nothing runs it

A command ends with 0, unless a comment behind it has the words `exit status N`. In a console block, lines below a command must be in its output.

A block without `runs-in` and `not-run` is run by tests/integration/test_docs_pages.py, the blocks of a page in order, in one shell.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

GENERATED = "<!-- Written by"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHELL = ("sh", "console")
TESTED = (*SHELL, "yaml", "json", "python", "ini")
MARKS = ("in", "file", "append-to", "runs-in", "not-run")
NOT_HERE = {"runs-in", "not-run"}
_FENCE = re.compile(r"^```(\S*)$")
_STATUS = re.compile(r"\s#.*\bexit status (\d+)")
_MARK = re.compile(r"^<!-- ([a-z-]+): (.+) -->$")


@dataclass(frozen=True)
class Command:
    """One command of a shell block, and the output that the page shows below it."""

    line: int
    text: str
    output: tuple[str, ...] = ()

    @property
    def exit_status(self) -> int:
        """The exit status that the page states."""
        stated = _STATUS.search(self.text)
        return int(stated[1]) if stated else 0

    def missing(self, printed: str) -> list[str]:
        """The shown lines that were not printed: their words must be in one line, in this order; what is between them does not count."""
        lines = printed.splitlines()
        patterns = {line: re.compile(".*".join(map(re.escape, line.replace("...", " ").split()))) for line in self.output if line.strip()}
        return [line for line, pattern in patterns.items() if not any(map(pattern.search, lines))]


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes:
        line: of the opening fence, from 1.
        marks: what the comments before it say.
    """

    page: Path
    line: int
    language: str
    text: str
    marks: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        page = self.page.relative_to(ROOT) if self.page.is_relative_to(ROOT) else self.page.name
        return f"{page}:{self.line}"

    @property
    def runs_here(self) -> bool:
        """Whether a test runs it without any node."""
        return not NOT_HERE & set(self.marks) and (self.language in SHELL or bool(self.file))

    @property
    def file(self) -> str:
        """The file of the site that this block is, or belongs to."""
        return self.marks.get("file", self.marks.get("append-to", ""))

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands of a shell block; in a console block the lines that start with `$ `."""
        found: list[Command] = []
        open_line = False
        for number, line in enumerate(self.text.splitlines(), self.line + 1):
            if open_line:
                found[-1] = Command(found[-1].line, f"{found[-1].text}\n{line}")
            elif self.language == "console" and not line.startswith("$ "):
                found[-1] = Command(found[-1].line, found[-1].text, (*found[-1].output, line))
                continue
            elif line.strip() and not line.startswith("#"):
                found.append(Command(number, line.removeprefix("$ ")))
            open_line = line.endswith("\\")
        return tuple(found)


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    found: list[Block] = []
    marks: dict[str, str] = {}
    inside: tuple[int, str] | None = None
    body: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = _FENCE.match(line.strip())
        if inside and line.strip() == "```":
            found.append(Block(page, inside[0], inside[1], "\n".join(body) + "\n", marks))
            inside, body, marks = None, [], {}
        elif inside:
            body.append(line)
        elif fence:
            inside = (number, fence[1])
        elif mark := _MARK.match(line.strip()):
            marks[mark[1]] = mark[2]
        elif line.strip():
            marks = {}
    return found


def all_blocks() -> list[Block]:
    """The blocks of all pages, in order."""
    return [b for page in PAGES for b in blocks_of(page)]


def inline_commands(page: Path) -> list[str]:
    """The `clusterctl ...` command lines of a page's running text."""
    return re.findall(r"`(clusterctl [^`\n]+)`", page.read_text(encoding="utf-8"))


def clusterctl_calls(text: str) -> list[list[str]]:
    """The words of each clusterctl call in a command line, which may be a list or a pipe."""
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    calls: list[list[str]] = [[]]
    redirected = False
    for word in lexer:
        if set(word) <= set("|&;()"):
            calls.append([])
        elif redirected or set(word) <= set("<>"):
            redirected = not redirected
        else:
            calls[-1].append(word)
    return [c for c in calls if c[:1] == ["clusterctl"] and len(c) > 1]
