"""Every clusterctl command line that a page shows has a verb and options that exist; complete ones are accepted as they are."""

from __future__ import annotations

import re

import click
import pytest

from clusterctl.main import cli
from support.doc_blocks import PAGES, SHELL, blocks_of, clusterctl_calls, inline_commands
from support.roles import ROOT

PLACEHOLDER = re.compile(r"[A-Z]{3,}|\.\.\.|<|\[|\$|…")
DEMO = (ROOT / "scripts" / "demo.sh").read_text()


def shown_calls() -> dict[str, list[str]]:
    """Every call of a page, by page and text; a yaml block may show some in a pipeline."""
    found: dict[str, list[str]] = {}
    for page in PAGES:
        texts = inline_commands(page)
        texts += [c.text for b in blocks_of(page) if b.language in SHELL for c in b.commands]
        texts += [line for b in blocks_of(page) if b.language == "yaml" for line in re.findall(r"clusterctl [a-z][^\]\n`]*", b.text)]
        found |= {f"{page.name}: {' '.join(call)}": call for text in texts for call in clusterctl_calls(text)}
    for file in sorted(f for f in (ROOT / "contrib").rglob("*.*") if f.suffix != ".pyc"):  # alerts and panels say what to run
        found |= {
            f"{file.name}: {' '.join(c)}": c
            for text in re.findall(r"`(clusterctl [^`]+)`", file.read_text())
            for c in clusterctl_calls(text)
        }
    lines = re.findall(r"^\s*(?:run )?(clusterctl [^\n|]+?)(?:  .*| \|\| .*|, then:)?$", DEMO, re.MULTILINE)
    return found | {f"demo.sh: {line}": call for line in lines for call in clusterctl_calls(line)}


CALLS = shown_calls()


def command_of(words: list[str]) -> tuple[click.Command, click.Context, list[str]]:
    """The innermost command that the words after `clusterctl` name, and the rest of them."""
    command: click.Command = cli
    context = click.Context(cli, info_name="clusterctl")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name, *words = words
        inner = command.get_command(context, name)
        assert inner is not None, f"no verb {name}"
        command, context = inner, click.Context(inner, info_name=name, parent=context)
    return command, context, words


def test_pages_show_commands() -> None:
    assert len(CALLS) > 60


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_verb_and_options_exist(call: list[str]) -> None:
    command, context, words = command_of(call[1:])
    if "--" in words:
        words = words[: words.index("--")]
    known = {name for p in command.get_params(context) for name in (*p.opts, *p.secondary_opts)}
    assert {w.split("=")[0] for w in words if re.match(r"--?[a-z]", w)} - known == set()


@pytest.mark.parametrize("call", [c for c in CALLS.values() if not PLACEHOLDER.search(" ".join(c))], ids=" ".join)
def test_a_complete_command_line_is_accepted(call: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANSIBLE_VAULT_IDENTITY_LIST", "ANSIBLE_VAULT_PASSWORD_FILE"):
        monkeypatch.setenv(name, "")  # parsing --vault-id sets it, for every later test of this process
    command, context, words = command_of(call[1:])
    if words and {"--help", "--version"}.isdisjoint(words):  # those print and exit
        command.parse_args(context, words)
