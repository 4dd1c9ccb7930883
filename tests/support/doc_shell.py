"""Runs code blocks of a page, in order, in one shell: the working directory and variables last from block to block."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from support.doc_blocks import SHELL, Command
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.doc_blocks import Block

# `run NAME EXPECTED` runs the command on its stdin in this very shell and keeps its output in $DOCS_OUT/NAME
_PRELUDE = """
run() {
  local command; command=$(cat)
  eval "$command" >"$DOCS_OUT/$1.out" 2>"$DOCS_OUT/$1.err" </dev/null
  local code=$?
  if [ "$code" -ne "$2" ]; then
    printf '%s: exit status %s, not %s\\n%s\\n' "$1" "$code" "$2" "$command" >&2
    cat "$DOCS_OUT/$1.out" "$DOCS_OUT/$1.err" >&2
    exit 1
  fi
}
"""


@dataclass(frozen=True)
class DocShell:
    """Where blocks run.

    Attributes:
        site: working directory at the start.
        scratch: an empty folder for scripts and outputs.
        rename: patterns in commands and files and what takes their place, e.g. another rack.
    """

    site: Path
    scratch: Path
    rename: tuple[tuple[str, str], ...] = ()

    def run(self, blocks: Sequence[Block], timeout_s: float = 600) -> None:
        """Run the blocks; AssertionError names the block, the command and what it printed."""
        out = self.scratch / "out"
        out.mkdir()
        script = self.scratch / "page.sh"
        script.write_text(_PRELUDE + "\n".join([*map(self._block, blocks), *_last_check(blocks)]))
        done = subprocess.run(
            ["bash", str(script)],
            cwd=self.site,
            env=self._environment() | {"DOCS_OUT": str(out)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        for block in blocks:
            for command in block.commands if block.language == "console" else ():
                printed = (out / f"{_name(block, command)}.out").read_text() + (out / f"{_name(block, command)}.err").read_text()
                missing = Command(command.line, command.text, tuple(map(self._renamed, command.output))).missing(printed)
                assert not missing, f"{_name(block, command)}: not printed: {missing}\n{printed}"

    def _block(self, block: Block) -> str:
        if block.file:
            return self._file(block)
        lines = []
        if block.marks.get("in") == "new folder":
            lines = [f"mkdir {shlex.quote(str(self.scratch / 'new'))}; cd {shlex.quote(str(self.scratch / 'new'))} || exit 1"]
        for command in block.commands:
            words = f"run {shlex.quote(_name(block, command))} {command.exit_status}"
            lines.append(f"{words} <<'DOCS_END'\n{self._renamed(command.text)}\nDOCS_END")
        text = "\n".join(lines)
        return f"(cd {shlex.quote(str(ROOT))} || exit 1\n{text}\n) || exit 1" if block.marks.get("in") == "checkout" else text

    def _file(self, block: Block) -> str:
        redirect = ">>" if "append-to" in block.marks else ">"
        name = self._renamed(block.file)
        words = f"mkdir -p {shlex.quote(str(Path(name).parent))}\ncat {redirect}{shlex.quote(name)}"
        return f"{words} <<'DOCS_END'\n{self._renamed(block.text)}DOCS_END"

    def _renamed(self, text: str) -> str:
        for pattern, replacement in self.rename:
            text = re.sub(pattern, replacement, text)
        return text

    def _environment(self) -> dict[str, str]:
        """As after activating the virtual environment, without settings of the person who runs the tests."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("CLUSTERCTL_", "ANSIBLE_"))}
        return kept | {"COLUMNS": "400", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def _last_check(blocks: Sequence[Block]) -> list[str]:
    """A `profile check` at the end, unless the page has one after its last inventory file."""
    for block in reversed(blocks):
        if any("clusterctl profile check" in c.text for c in block.commands if block.language in SHELL):
            return []
        if block.file.startswith("inventory/") and block.language == "yaml":
            return ["run profile-check 0 <<< 'clusterctl profile check all'"]
    return []


def _name(block: Block, command: Command) -> str:
    return f"{block.name.rpartition(':')[0]}:{command.line}".replace("/", "_")
