"""Finds in source text what starts a program, or looks for one on PATH, and how the program is written there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# of the standard library and anyio; `executable` is ours, for what lies beside this Python
_BY_WORD = frozenset(
    {"Popen", "check_output", "check_call", "getoutput", "getstatusoutput", "create_subprocess_exec", "create_subprocess_shell", "which"}
    | {"subprocess_exec", "subprocess_shell", "system", "popen", "execv", "execve", "execvp", "execvpe", "execl", "execle", "execlp"}
    | {
        "execlpe",
        "posix_spawn",
        "posix_spawnp",
        "spawnv",
        "spawnve",
        "spawnvp",
        "spawnvpe",
        "spawnl",
        "run_process",
        "open_process",
        "executable",
    }
)
_OF_MODULE = {("subprocess", "run"), ("subprocess", "call"), ("pty", "spawn")}
_THIS_PYTHON = "sys.executable"
_NAMED = "Program"


def started_otherwise(source: str) -> Iterator[str]:
    """Each program of a module that is neither a member of `Program`, nor a parameter of that type, nor this Python: as it is written."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "subprocess":
            yield from (f"from subprocess import {a.name}" for a in node.names if a.name not in {"CompletedProcess", "TimeoutExpired"})
    for function, call in _calls(tree):
        if _starts(call.func):
            program = _program(call, function)
            if not _is_known(program, function):
                yield ast.unparse(program)


def _calls(tree: ast.AST, function: ast.AST | None = None) -> Iterator[tuple[ast.AST | None, ast.Call]]:
    """Each call with the innermost function around it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call):
            yield function, node
        yield from _calls(node, node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function)


def _starts(called: ast.expr) -> bool:
    if isinstance(called, ast.Attribute):
        return called.attr in _BY_WORD or (ast.unparse(called.value), called.attr) in _OF_MODULE
    return isinstance(called, ast.Name) and called.id in _BY_WORD


def _program(call: ast.Call, function: ast.AST | None) -> ast.expr:
    """The first word of the command line; of a name, what the function gives it."""
    given = call.args[0] if call.args else ast.Constant("")
    if isinstance(given, ast.Starred):
        given = given.value
    if isinstance(given, ast.Name) and function is not None:
        values = [n.value for n in ast.walk(function) if isinstance(n, ast.Assign) and any(_is_name(t, given.id) for t in n.targets)]
        given = values[0] if len(values) == 1 else given
    return given.elts[0] if isinstance(given, ast.List | ast.Tuple) and given.elts else given


def _is_name(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def _is_known(program: ast.expr, function: ast.AST | None) -> bool:
    if isinstance(program, ast.Name) and isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        parameters = {a.arg: a.annotation for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
        annotation = parameters.get(program.id)
        return annotation is not None and ast.unparse(annotation) == _NAMED
    return ast.unparse(program) == _THIS_PYTHON or (isinstance(program, ast.Attribute) and ast.unparse(program.value) == _NAMED)
