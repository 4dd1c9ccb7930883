"""Verbs that installed packages add: entry point group `clusterctl.commands`, name = verb, object = its click command.

The files of the packages are read directly: importing importlib.metadata would cost `--help` a third of its time.
"""

from __future__ import annotations

import ast
import importlib
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import click

from clusterctl.model.errors import ConfigError

GROUP = "clusterctl.commands"


@cache
def offered() -> dict[str, str]:
    """Verb -> `module:attribute`, of all distributions on `sys.path`; the first of a name counts."""
    found: dict[str, str] = {}
    for folder in map(Path, sys.path):
        for file in sorted(folder.glob("*.dist-info/entry_points.txt")) if folder.is_dir() else ():
            for verb, target in _group(file.read_text(encoding="utf-8")).items():
                found.setdefault(verb, target)
    return found


def _group(text: str) -> dict[str, str]:
    """The entries of our group in an entry_points.txt (an INI file without escapes)."""
    _, _, rest = text.partition(f"[{GROUP}]\n")
    lines = (line.partition("=") for line in rest.partition("\n[")[0].splitlines() if "=" in line)
    return {name.strip(): target.strip() for name, _, target in lines}


def load_verb(verb: str) -> click.Command | None:
    """The command of a verb, or None if no package offers it.

    Raises:
        ConfigError: its package does not import, or the object is not a click command.
    """
    target = offered().get(verb)
    if target is None:
        return None
    module, _, attribute = target.partition(":")
    try:
        command = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as e:
        raise ConfigError(detail=f"verb {verb!r} ({target}) does not load: {e}", hint="reinstall or remove the package that adds it") from e
    if not isinstance(command, click.Command):
        raise ConfigError(detail=f"verb {verb!r}: {target} is not a click command", hint="correct the package that adds it")
    return command


def stand_in(verb: str) -> click.Command | None:
    """A command that has only the help line of the verb: the first line of its module's docstring, read without importing it."""
    target = offered().get(verb)
    if target is None:
        return None
    try:
        spec = find_spec(target.partition(":")[0])
        source = Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
        text = ast.get_docstring(ast.parse(source)) or ""
    except (ImportError, OSError, SyntaxError, ValueError):
        text = ""
    return click.Command(name=verb, help=text.partition("\n")[0] or f"From {target}.")
