"""How a tool is called stands in `tools/` and nowhere else: validators, plugins of roles and the CLI have no argument vector of their own.

Roles' YAML tasks may have them, the lab prints with printers of its own, and scripts that travel to a node alone (`roles/*/files`) cannot import.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

import pytest

from clusterctl.model.program import Program
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOLS = ROOT / "tools" / "clusterctl_tools"
SOURCES = [p for top in ("validators", "plugins", "cli") for p in sorted((ROOT / top).rglob("*.py")) if TOOLS not in p.resolve().parents]
# Programs without an output format of their own: they print one value or start another program.
PLAIN = {"cat", "date", "env", "hostname", "pgrep", "python3", "readlink", "sh", "sha256sum", "stat", "su", "timeout", "uname"}
# What runs a command: `probe.run(...)`, `subprocess.run(...)`.
RUNNERS = {"run", "output", "Popen", "check_output", "check_call", "create_subprocess_exec", "run_command"}
PROGRAM = re.compile(r"[a-z][a-z0-9_.+-]*")
OPTION = re.compile(r"--?[A-Za-z][\w=-]*")
LEFT = load_yaml((ROOT / "tests" / "contract" / "tool_vectors_left.yml").read_text())


def first_word(node: ast.AST) -> str:
    """The program of a list or tuple that begins with a word in lower case, or with a member of `Program`; empty if it does not."""
    if not isinstance(node, ast.List | ast.Tuple) or not node.elts:
        return ""
    head = node.elts[0]
    word = head.value if isinstance(head, ast.Constant) and isinstance(head.value, str) else member(head)
    return word if PROGRAM.fullmatch(word) else ""


def member(node: ast.AST) -> str:
    """The program that a member of `Program` names."""
    if not isinstance(node, ast.Attribute) or ast.unparse(node.value) != "Program":
        return ""
    return Program[node.attr].value


def has_an_option(node: ast.List | ast.Tuple) -> bool:
    return any(isinstance(e, ast.Constant) and isinstance(e.value, str) and OPTION.fullmatch(e.value) for e in node.elts[1:])


def vectors(tree: ast.AST, known: frozenset[str] = frozenset()) -> Iterator[str]:
    """The programs of sequences that are called in place, that have an option, or whose program is known; and of calls that give a member of `Program` its words."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in RUNNERS and first_word(node.args[0]):
                yield first_word(node.args[0])
            if member(node.args[0]) and node.args[1:]:
                yield member(node.args[0])
        word = first_word(node)
        if word and isinstance(node, ast.List | ast.Tuple) and (word in known or has_an_option(node)):
            yield word


def is_a_vector(name: str) -> bool:
    """Whether a constant may be an argument vector; `..._FIELDS` are columns that a tool prints."""
    return name.isupper() and not name.endswith("_FIELDS")


@cache
def programs() -> frozenset[str]:
    """Every program that a tool of ours calls: in its public constants, and in what its functions named `..._argv` return."""
    known: set[str] = set()
    for path in TOOLS.glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and is_a_vector(node.targets[0].id):
                constant = node.value.value if isinstance(node.value, ast.Constant) else None
                known |= {str(constant)} if node.targets[0].id == "PROGRAM" else {first_word(node.value)}
            elif isinstance(node, ast.FunctionDef) and node.name.endswith("_argv"):
                known |= {first_word(n) for n in ast.walk(node)}
    return frozenset(known) - PLAIN - {""}


def left(name: str) -> list[str]:
    """The programs that a file may still call, each with its reason."""
    return list(LEFT.get(name, {}).get("programs", []))


@cache
def found() -> dict[str, list[str]]:
    """File -> programs of the argument vectors in it."""
    known = programs()
    all_of = {p.relative_to(ROOT).as_posix(): sorted(set(vectors(ast.parse(p.read_text()), known)) - PLAIN) for p in SOURCES}
    return {name: words for name, words in all_of.items() if words}


def test_no_argument_vector_stands_outside_of_tools() -> None:
    new = {name: sorted(set(words) - set(left(name))) for name, words in found().items()}
    assert {name: words for name, words in new.items() if words} == {}, "move it into tools/clusterctl_tools"


def test_the_list_of_what_is_left_shrinks() -> None:
    now = found()
    gone = {name: sorted(set(words) - set(now.get(name, []))) for name, words in ((n, left(n)) for n in LEFT)}
    assert {name: words for name, words in gone.items() if words} == {}, "remove it from tool_vectors_left.yml"


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ('probe.run(["frobnicate", name])', True),
        ('ARGV = ("frobnicate", "show", "-x")', True),
        ('ARGV = ["nvidia-smi", *words]', True),
        ('self._run(Program.SQUEUE, "--noheader")', True),
        ("subprocess.run([Program.SQUEUE, *words])", True),
        ("shutil.which(Program.SQUEUE)", False),
        ('NAMES = ("bandwidth", "latency")', False),
        ('TEXTS = ["Some words", "- a list"]', False),
    ],
)
def test_a_new_vector_is_noticed(code: str, seen: bool) -> None:
    assert bool(list(vectors(ast.parse(code), programs()))) is seen
