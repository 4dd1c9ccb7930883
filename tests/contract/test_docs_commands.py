from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import click
import pytest

from clusterctl.main import cli
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "scripts" / "demo.sh"]


def commands(page: Path) -> list[str]:
    """Every clusterctl command line of a page: code blocks, and inline code that starts with clusterctl."""
    text = page.read_text()
    found = re.findall(r"`(clusterctl [^`\n]+)`", text)
    for block in re.findall(r"```(?:sh|console|bash)\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            for part in line.removeprefix("$ ").split(" # ")[0].split("&&"):
                if part.strip().startswith("clusterctl "):
                    found.append(part.strip())
    if page.suffix == ".sh":
        found += re.findall(r"^\s*(?:run )?(clusterctl [^\n|]+?)(?:  .*| \|\| .*|, then:)?$", text, re.MULTILINE)
    return [c for c in found if not re.search(r"[A-Z]{3,}|\.\.\.|<|\[|\$|…", c)]


CASES = [pytest.param(c, id=f"{p.name}: {c}") for p in PAGES for c in dict.fromkeys(commands(p))]


def test_pages_contain_commands() -> None:
    assert len(CASES) > 20


@pytest.mark.parametrize("line", CASES)
def test_a_documented_command_line_is_accepted(line: str) -> None:
    group: click.Command = cli
    words = shlex.split(line)[1:]
    context = click.Context(cli, info_name="clusterctl")
    while isinstance(group, click.Group) and words and not words[0].startswith("-"):
        name = words.pop(0)
        command = group.get_command(context, name)
        assert command is not None, f"no verb {name}"
        group = command
        context = click.Context(command, info_name=name, parent=context)
    if "--help" in words or not words:
        return
    group.parse_args(context, words)
