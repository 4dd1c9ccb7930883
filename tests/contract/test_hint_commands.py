"""Every clusterctl command line that a message names is one that clusterctl takes: a person at night copies it."""

from __future__ import annotations

import ast
import re
import shlex

import click
import pytest

from clusterctl.main import cli
from support.roles import ROOT

# What a template or an f-string puts there: a name, or a further option, or nothing.
FILLED = "FILLED"
FIELD = re.compile(r"\{[^{}]*\}")
COMMAND = re.compile(r"`clusterctl ([^`]+)`")
FOLDERS = ("cli", "validators", "on_node", "lab", "tools")


def named_commands() -> dict[str, str]:
    """The words after `clusterctl`, by file and words."""
    found: dict[str, str] = {}
    for file in sorted(f for folder in FOLDERS for f in (ROOT / folder).rglob("*.py")):
        source = file.read_text()
        for text in texts_of(ast.parse(source)) if "`clusterctl " in source else ():
            for words in COMMAND.findall(text):
                plain = FIELD.sub(FILLED, words).replace("...", "WHY")
                found[f"{file.name}: {plain}"] = plain
    return found


def texts_of(tree: ast.AST) -> list[str]:
    """Every text of a module; of an f-string, the fields as `FILLED`."""
    nodes = list(ast.walk(tree))
    joined = [n for n in nodes if isinstance(n, ast.JoinedStr)]
    parts = {id(v) for n in joined for v in n.values}
    filled = ["".join(str(v.value) if isinstance(v, ast.Constant) else FILLED for v in n.values) for n in joined]
    return filled + [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in parts]


NAMED = named_commands()


def test_messages_name_commands() -> None:
    assert len(NAMED) > 100


@pytest.mark.parametrize("text", NAMED.values(), ids=NAMED)
def test_a_command_that_a_message_names_is_accepted(text: str) -> None:
    words = shlex.split(text)
    command: click.Command = cli
    context = click.Context(cli, info_name="clusterctl")
    while isinstance(command, click.Group) and words and not words[0].startswith("-") and words[0] != FILLED:
        inner = command.get_command(context, words.pop(0))
        assert inner is not None, f"no such verb: {text}"
        command, context = inner, click.Context(inner, parent=context)
    if not isinstance(command, click.Group):
        rest = command.make_parser(context).parse_args(args=words)[1]
        assert [w for w in rest if FILLED not in w] == []
